// Waits of one iteration on one slot: no schedule is shorter, and the certificate counts as far.
#include "graph/bounds/slot_line.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/certificate/counting.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/length_bound.hpp"
#include "tests/graph/bounds/beside_truth.hpp"
#include "tests/graph/bounds/one_slot.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/temporary_directory.hpp"

namespace slot_line_test {

using namespace twill;
using namespace twill::test;

TEST_CASE("bounds by the waits of an iteration are never above the shortest of all schedules") {
  BesideTruth beside;
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs;
    knobs.max_ops = 4;
    knobs.max_slots = 2;
    knobs.max_units = 2;
    const Problem problem =
        seed % 5 == 0 ? random_loop(seed, knobs) : random_slot(seed, seed % 2 == 0).problem;
    for (const Cycle ii : {7, 12}) {
      const std::vector<Bound> plain = plain_length_bounds(problem, ii);
      if (plain.empty()) continue;
      const auto line = slot_line_bound(problem, ii, 0);
      const bool higher = line && line->value > plain.front().value;
      if (!higher && seed % 16 != 0) continue;
      const Cycle bound = length_bounds(problem, ii).front().value;
      if (line) REQUIRE(bound >= line->value);
      beside.compare(problem, ii, bound, higher, 10'000);
    }
  }
  CHECK(beside.compared > 100);
  CHECK(beside.raised > 50);
  CHECK(beside.met > 20);
}

TEST_CASE("reads that find a unit busy take a cycle of it each") {
  // Reads, with two ops after each. The second read begins no sooner than the first op: from then
  // on the unit is never idle but for the starts of reads.
  for (const int copies : {1, 2, 3}) {
    CAPTURE(copies);
    OneSlot slot;
    slot.problem.units = {{"SMEM", 1}, {"ALU", 1}};
    for (int k = 0; k < 3 * copies; ++k) {
      const int read = static_cast<int>(slot.problem.ops.size());
      slot.add(4, true).reservations = {{0, 0, 4, 1}};
      for (int j = 1; j <= 2; ++j) {
        slot.add(4, false).reservations = {{1, 0, 4, 1}};
        slot.edge(read + j - 1, read + j, 4, false);
      }
    }
    slot.wait();
    const Cycle ii = 200, least = 4 + copies * 3 * 8 + 3 * copies - 1;
    CHECK(slot_line_bound(slot.problem, ii, 0)->value == least);
    CHECK(length_counted_out(slot.problem, ii, least - 1));
    CHECK_FALSE(length_counted_out(slot.problem, ii, least));
    Options options;
    options.ii = ii;
    options.threads = 1;
    const Solution solution = solve(slot.problem, options);
    REQUIRE(solution.status == Status::optimal);
    CHECK(solution.schedule->length == least);
  }
}

TEST_CASE("products of an iteration hide only as many waits as there are products") {
  // A product hides the wait that it begins beside, but for a cycle.
  const OneSlot slot = products(3, {32, 32, 64}, 1, 100, false);
  const Cycle ii = 800, least = 3 * 101 + 6 * 32;
  CHECK(slot_line_bound(slot.problem, ii, 0)->value == least);
  CHECK(length_counted_out(slot.problem, ii, least - 1));
  Options options;
  options.ii = ii;
  options.threads = 1;
  options.evidence = true;
  options.conflict_limit = 20'000;
  const Solution solution = solve(slot.problem, options);
  REQUIRE(solution.status == Status::optimal);
  CHECK(solution.schedule->length == least);
  CHECK_FALSE(length_counted_out(slot.problem, ii, solution.schedule->length));
  const TemporaryDirectory directory;
  write_certificate(directory / "c", slot.problem, solution);
  const CertificateReport report = check_certificate(directory / "c");
  CHECK(report.refusal == "");
  CHECK(report.accepted);
}

}  // namespace slot_line_test
