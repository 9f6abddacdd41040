// What a search that is stopped has proved: bounds beside the optimum, and their certificates.
#include <doctest/doctest.h>

#include "engine/certificate/certificate.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/synthetic.hpp"
#include "tests/support/temporary_directory.hpp"

namespace stopped_test {

using namespace twill;
using namespace twill::test;

namespace {

Solution stopped(const Problem& problem, std::int64_t conflicts) {
  Options options;
  options.threads = 1;
  options.conflict_limit = conflicts;
  options.evidence = conflicts > 0;
  return solve(problem, options);
}

void check_certificate_of(const Problem& problem, const Solution& solution) {
  const TemporaryDirectory folder;
  write_certificate(folder / "c", problem, solution);
  const CertificateReport report = check_certificate(folder / "c", {.drat_trim = false});
  CHECK(report.accepted);
  CHECK_MESSAGE(report.refusal.empty(), report.refusal);
}

}  // namespace

TEST_CASE("bounds of stopped searches are none above the optimum") {
  int raised = 0, open = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    const Problem problem =
        synthetic_loop({.seed = seed, .ops = 14, .width = 4, .longest = 100, .pressure = 40});
    const Solution optimum = stopped(problem, 5'000);
    if (optimum.status != Status::optimal) continue;
    for (const std::int64_t conflicts : {30, 100, 300, 1'000}) {
      CAPTURE(conflicts);
      const Solution found = stopped(problem, conflicts);
      if (!found.schedule || found.status == Status::optimal) continue;
      ++open;
      const Schedule& best = *optimum.schedule;
      CHECK(found.ii_lower_bound <= best.initiation_interval);
      if (found.schedule->initiation_interval != best.initiation_interval) continue;
      CHECK(found.length_lower_bound <= best.length);
      const auto plain = length_bounds(problem, best.initiation_interval).front().value;
      if (found.length_lower_bound <= plain) continue;
      ++raised;
      check_certificate_of(problem, found);
    }
  }
  CHECK(open > 10);
  CHECK(raised > 3);  // above arithmetic, with a refutation that a check accepts
}

}  // namespace stopped_test
