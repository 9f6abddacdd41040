// One sum for the register files of all slots: it refutes no schedule, and what it accepts fits.
#include <doctest/doctest.h>

#include "engine/order/incremental_solver.hpp"
#include "engine/order/order.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/problem_io.hpp"
#include "graph/verify.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"

namespace register_files_test {

using namespace twill;
using namespace twill::test;

TEST_CASE("register files of slots that differ, beside enumeration") {
  int found = 0, none = 0, bound = 0, overflowed = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs;
    knobs.max_ops = 4;
    knobs.max_units = 1;
    knobs.max_memories = 0;
    knobs.max_registers = 6;
    knobs.max_edges_per_op = 3;
    knobs.identical_slots = seed % 2 == 0;
    knobs.variable_latency_slot = seed % 3 == 0;
    const Problem problem = random_loop(seed, knobs);
    const EncodingChoice choice;
    Budget budget({}, 0, 0, 0);
    const ProgressCallback silent;
    Reporter report(silent, budget);
    const Search search{problem, choice, seed % 2, budget, report, order_engine()};
    Problem roomy = problem;
    for (WarpSlot& slot : roomy.warps) slot.registers = 1000;
    const auto least = rec_mii(problem, true);
    for (Cycle ii = least ? least->value : 1; ii <= 5; ii += 2) {
      CAPTURE(ii);
      OrderRequest request = order::request_of(search, true);
      request.ii_low = request.ii_high = ii;
      request.at_once = true;
      request.share = 1000;
      order::IncrementalSolver question(search, request);
      const Answer answer = question.look(ii, 0, 0);
      REQUIRE(answer.verdict != Verdict::unknown);
      overflowed += question.overflowed();
      if (answer.schedule) {
        ++found;
        CHECK_FALSE(verify(problem, *answer.schedule));
        continue;
      }
      ++none;
      if (brute_force_at(problem, ii, 3))
        FAIL_CHECK("a schedule is refuted\n" << problem_text(problem));
      bound += brute_force_at(roomy, ii, 3).has_value();
    }
  }
  CHECK(found > 2000);
  CHECK(none > 1000);
  CHECK(bound > 300);       // by registers
  CHECK(overflowed < 100);  // more copies than are told apart
}

}  // namespace register_files_test
