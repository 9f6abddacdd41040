// Every TTGIR file that the project ships is solved to the optimum, at raw cycles, on its machine.
#include <doctest/doctest.h>

#include <algorithm>

#include "engine/include/twill.hpp"
#include "graph/bounds/bounds.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_solve_test {

using namespace twill;

TEST_CASE("every shipped module is solved at raw cycles") {
  for (const std::string& name : test::shipped_modules()) {
    CAPTURE(name);
    const ttgir::LoweredModule lowered = test::lowered(name);
    int schedules = 0;
    for (const Lowered& layout : lowered.problems) {
      CAPTURE(layout.layout);
      CHECK(layout.problem.cycle_unit == 1.0);
      Options options;
      options.threads = 1;
      options.explain = false;
      const Solution solution = solve(layout.problem, options);
      CHECK((solution.status == Status::optimal || solution.status == Status::infeasible));
      if (!solution.schedule) continue;
      ++schedules;
      CHECK_FALSE(verify(layout.problem, *solution.schedule).has_value());
      CHECK(solution.ii_lower_bound == solution.schedule->initiation_interval);
      CHECK(solution.length_lower_bound == solution.schedule->length);
      // No unit does more in an interval than there is time.
      for (const Bound& bound : res_mii(layout.problem))
        CHECK(solution.schedule->initiation_interval >= bound.value);
    }
    CHECK(schedules > 0);
  }
}

}  // namespace ttgir_solve_test
