// Units between the waits on one slot: never above the truth, and the certificate counts as far.
#include "graph/bounds/slot_shares.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include "engine/certificate/counting.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/bounds.hpp"
#include "tests/graph/bounds/one_slot.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/temporary_directory.hpp"

namespace slot_shares_test {

using namespace twill;
using namespace twill::test;

namespace {

Cycle shared(const OneSlot& slot) {
  return shared_gaps(slot.problem, slot.waiters, slot.idle_waiter, slot.others);
}

}  // namespace

TEST_CASE("gaps with the units that others use in them are never above the smallest interval") {
  int met = 0, more = 0;
  for (std::uint64_t seed = 1; seed <= 4'000; ++seed) {
    CAPTURE(seed);
    const OneSlot slot = random_slot(seed, false);
    const Cycle bound = shared(slot);
    Cycle truth = 1;
    while (truth < 30 && !brute_force_at(slot.problem, truth, 1)) ++truth;
    REQUIRE(truth < 30);
    REQUIRE(bound <= truth);
    if (bound > 1) CHECK(interval_counted_out(slot.problem, bound - 1));
    CHECK_FALSE(interval_counted_out(slot.problem, truth));
    if (bound < truth) continue;
    ++met;
    // More than a cycle for each wait.
    Cycle units = 1;
    for (const Bound& unit : res_mii(slot.problem)) units = std::max(units, unit.value);
    more += bound > units + static_cast<Cycle>(slot.waiters.size()) ? 1 : 0;
  }
  CHECK(met > 1'000);
  CHECK(more > 100);
}

TEST_CASE("waits that no product can hide take all their cycles") {
  // A product hides the wait that it begins after, but for a cycle: 8 x 257, and of the 12 reads
  // the 4 shortest are left.
  const OneSlot slot = products(4, {32, 32, 64}, 2, 256, false);
  const Cycle least = 8 * 257 + 4 * 32;
  CHECK(shared(slot) == least);
  CHECK(lower_bounds(slot.problem).front().value == least);
  CHECK(interval_counted_out(slot.problem, least - 1));
  CHECK_FALSE(interval_counted_out(slot.problem, least));
  Options options;
  options.threads = 1;
  options.evidence = true;
  options.conflict_limit = 20'000;
  const Solution found = solve(slot.problem, options);
  REQUIRE(found.status == Status::optimal);
  CHECK(found.schedule->initiation_interval == least);
  const TemporaryDirectory directory;
  write_certificate(directory / "c", slot.problem, found);
  const CertificateReport report = check_certificate(directory / "c");
  CHECK(report.refusal == "");
  CHECK(report.accepted);
}

}  // namespace slot_shares_test
