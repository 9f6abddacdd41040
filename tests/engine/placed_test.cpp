// The best schedule whose program has a placement, against trying every schedule.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/placed.hpp"
#include "graph/program/judge.hpp"
#include "graph/verify.hpp"
#include "tests/support/number_from.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"

namespace placed_test {

using namespace twill;

namespace {

/// All starts below `horizon` and all slots: calls visit(schedule) for each that verify() accepts.
template <class Visit>
void each_schedule(const Problem& p, Cycle ii, Cycle horizon, const Visit& visit) {
  Schedule s;
  s.initiation_interval = ii;
  s.start.assign(p.ops.size(), 0);
  s.warp.assign(p.ops.size(), 0);
  const auto op = [&](auto&& self, std::size_t v) -> void {
    if (v == p.ops.size()) {
      bool zero = false;
      s.length = 0;
      for (std::size_t u = 0; u < v; ++u) {
        zero = zero || s.start[u] == 0;
        s.length = std::max(s.length, s.start[u] + p.ops[u].cycles);
      }
      if (zero && !verify(p, s)) visit(s);
      return;
    }
    for (const int w : allowed_slots(p, static_cast<int>(v)))
      for (Cycle start = 0; start + p.ops[v].cycles <= horizon; ++start) {
        s.warp[v] = w;
        s.start[v] = start;
        self(self, v + 1);
      }
  };
  op(op, 0);
}

double tries(const Problem& p, Cycle horizon) {
  double all = 1;
  for (int v = 0; v < static_cast<int>(p.ops.size()); ++v)
    all *= static_cast<double>(allowed_slots(p, v).size()) * static_cast<double>(horizon);
  return all;
}

}  // namespace

TEST_CASE("no schedule with a placement is better than the one that is found") {
  std::map<std::string, int> counts;
  int refuted = 0, longer = 0;
  // Bounds that were too high: a ring's copy that is given back in the cycle of a load (13023,
  // 15366), what comes after a view (13770), an operand that is held while products of one slot go
  // on in order (107255), what lies over charged rings (136101, 227301), what the op's own slot
  // reads of a result that is handed over (322210, 394676), a use that adds to it (360143).
  std::vector<std::uint64_t> seeds = {13'023,  13'770,  15'366,  107'255, 136'101,
                                      227'301, 322'210, 360'143, 394'676};
  const auto more = test::number_from("TWILL_PLACED_SEEDS", 12'000 / test::kShare);
  const auto from = test::number_from("TWILL_PLACED_FROM", 0);
  for (std::uint64_t seed = from; seed < from + more; ++seed) seeds.push_back(seed);
  for (const std::uint64_t seed : seeds) {
    CAPTURE(seed);
    const Problem p = test::scarce_loop(seed);
    const Solution found = solve(p);
    if (found.status != Status::optimal) continue;
    program::DeriveOptions how;
    how.merge = seed % 2 == 0;
    const auto first = program::derive(p, *found.schedule, how);
    if (const auto* no = std::get_if<program::Refusal>(&first)) {
      if (no->rule != "placement" && no->rule != "accumulator") continue;
    } else {
      ++counts["fits at once"];
      continue;
    }
    LimitsLeft left({}, {});
    PlacedAnswers none;
    const PlacedSearch made = search_placed(p, found, {}, left, how, {}, none);
    // What a shorter search has solved changes nothing.
    PlacedAnswers answers;
    search_placed(p, found, {}, left, how, {1 + static_cast<int>(seed % 4), {}}, answers);
    const PlacedSearch again = search_placed(p, found, {}, left, how, {}, answers);
    REQUIRE(again.solution.has_value() == made.solution.has_value());
    if (made.solution) CHECK(*again.solution->schedule == *made.solution->schedule);
    CHECK(again.placement.ways == made.placement.ways);
    CHECK(again.placement.ii_lower_bound == made.placement.ii_lower_bound);
    CHECK(again.placement.length_lower_bound == made.placement.length_lower_bound);
    ++counts[!made.solution ? "nothing found" : made.placement.reached ? "reached" : "not reached"];
    Cycle ii = made.placement.ii_lower_bound, length = made.placement.length_lower_bound;
    if (made.solution) {
      const Schedule& best = *made.solution->schedule;
      REQUIRE(!verify(p, best));
      const auto fault = program::judge(*made.program);
      if (fault) FAIL_CHECK(fault->rule << ": " << fault->text);
      if (best.initiation_interval > found.schedule->initiation_interval) ++longer;
      // Its bounds are at most it.
      CHECK(std::pair(ii, length) <= std::pair(best.initiation_interval, best.length));
    } else if (ii == 0) {
      // No way has any schedule: none has a placement, at small I at least.
      ii = found.schedule->initiation_interval + 4;
    }
    // What a user is told: optimal only where nothing grew.
    if (seed % 8 == 0) {
      const ProgramSolution told = solve_program(p, found, {}, {}, how);
      const Schedule& best = *told.solution.schedule;
      const bool same = best.initiation_interval == found.schedule->initiation_interval &&
                        best.length == found.schedule->length;
      CHECK((told.solution.status == Status::optimal) == same);
      CHECK(told.solution.ii_lower_bound == found.ii_lower_bound);
      // Of those that have a placement it is optimal where that is proved.
      const bool has_program = std::holds_alternative<program::Program>(told.program);
      CHECK_FALSE((told.none_placed && (has_program || made.solution || told.placed)));
      if (!has_program) {
        CHECK(same);
        if (std::get<program::Refusal>(first).rule == "placement")
          CHECK((told.none_placed || told.placed));
        if (told.placed) CHECK_FALSE(told.placed->reached);
        ++counts[told.none_placed ? "told: none has a placement" : "told: nothing found"];
      } else if (told.placed) {
        const std::pair bound(told.placed->initiation_interval, told.placed->length);
        const std::pair value(best.initiation_interval, best.length);
        CHECK(bound <= value);
        CHECK(told.placed->reached == (bound == value));
        if (made.placement.reached) CHECK(told.placed->reached);
        ++counts[told.placed->reached ? "told: optimal of those placed" : "told: feasible"];
      }
      CHECK_FALSE((told.placed && same && has_program));
      const bool at_ii = best.initiation_interval == found.schedule->initiation_interval;
      CHECK(told.solution.length_lower_bound == (at_ii ? found.length_lower_bound : 0));
      CHECK_FALSE(verify(p, best));
    }
    // Nothing below the bounds has a placement.
    for (Cycle at = found.schedule->initiation_interval; at <= ii; ++at) {
      const Cycle horizon = at == ii ? length - 1 : 3 * at + 2;
      if (horizon < 0 || tries(p, horizon) > 3e5) continue;
      each_schedule(p, at, horizon, [&](const Schedule& s) {
        ++refuted;
        const auto other = program::derive(p, s, how);
        if (std::holds_alternative<program::Program>(other)) {
          CAPTURE(at);
          CAPTURE(s.length);
          FAIL_CHECK("has a placement below the bound " << ii << ", " << length);
        }
      });
    }
  }
  for (const auto& [what, count] : counts) MESSAGE(what << " " << count);
  MESSAGE(refuted << " schedules below bounds, none with a placement; I grew in " << longer);
  CHECK(counts["reached"] > 20 / test::kShare);
  CHECK(longer > 10 / test::kShare);
  CHECK(refuted > 1'000 / test::kShare);
}

}  // namespace placed_test
