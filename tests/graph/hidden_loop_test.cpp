// Loops around a hidden schedule: the judge accepts it, the capacities are as tight as asked, and
// the seed is all that is random.
#include "graph/hidden_loop.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "engine/include/twill.hpp"
#include "graph/bounds/bounds.hpp"

namespace hidden_loop_test {

using namespace twill;

TEST_CASE("the hidden schedule is accepted, at every size, pressure and grain") {
  int carried = 0, blocking = 0, handed = 0;
  for (const int ops : {1, 2, 7, 20, 60, 150})
    for (const int filled : {20, 60, 95, 99, 100})
      for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        CAPTURE(ops);
        CAPTURE(filled);
        CAPTURE(seed);
        HiddenKnobs knobs;
        knobs.ops = ops;
        knobs.filled = filled;
        knobs.seed = seed;
        knobs.longest = seed % 3 == 0 ? 6 : 1000;
        knobs.slots = 1 + static_cast<int>(seed % 4);
        knobs.carried = 15;
        const HiddenLoop loop = hidden_loop(knobs);
        REQUIRE_NOTHROW(check(loop.problem));
        const auto violation = verify(loop.problem, loop.schedule);
        REQUIRE_MESSAGE(!violation, violation->text);
        CHECK(monotone_in_ii(loop.problem));
        CHECK(lower_bounds(loop.problem).front().value <= loop.schedule.initiation_interval);
        for (const Edge& e : loop.problem.edges) {
          carried += e.distance > 0;
          blocking += e.blocking;
          handed += loop.schedule.warp[static_cast<std::size_t>(e.from)] !=
                    loop.schedule.warp[static_cast<std::size_t>(e.to)];
        }
      }
  CHECK(carried > 500);
  CHECK(blocking > 500);
  CHECK(handed > 500);
}

TEST_CASE("an op as long as the interval shares no slot with one that waits") {
  HiddenKnobs knobs;
  knobs.seed = 1122;
  knobs.ops = 8;
  knobs.slots = 1;
  knobs.longest = 13;
  knobs.carried = 16;
  const HiddenLoop loop = hidden_loop(knobs);
  const auto violation = verify(loop.problem, loop.schedule);
  REQUIRE_MESSAGE(!violation, violation->text);
}

TEST_CASE("at 100 per cent nothing can be taken away") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    HiddenKnobs knobs;
    knobs.ops = 40;
    knobs.seed = seed;
    const HiddenLoop loop = hidden_loop(knobs);
    Problem less = loop.problem;
    less.memories[0].capacity -= 1;
    if (less.memories[0].capacity >= 1) CHECK(verify(less, loop.schedule));
    for (std::size_t w = 0; w < less.warps.size(); ++w) {
      less = loop.problem;
      if (less.warps[w].registers <= 8) continue;  // room for the largest result stays
      less.warps[w].registers -= 1;
      CHECK(verify(less, loop.schedule));
    }
  }
}

TEST_CASE("one seed, one loop; small ones are solved no worse than hidden") {
  std::set<std::string> texts;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    HiddenKnobs knobs;
    knobs.ops = 12;
    knobs.longest = 5;
    knobs.seed = seed;
    const HiddenLoop loop = hidden_loop(knobs);
    CHECK(loop.problem == hidden_loop(knobs).problem);
    CHECK(loop.schedule == hidden_loop(knobs).schedule);
    texts.insert(problem_text(loop.problem));
    const Solution best = solve(loop.problem);
    REQUIRE(best.status == Status::optimal);
    CHECK(best.schedule->initiation_interval <= loop.schedule.initiation_interval);
  }
  CHECK(texts.size() == 8);
}

TEST_CASE("knobs out of range are refused") {
  const auto refused = [](auto change) {
    HiddenKnobs knobs;
    change(knobs);
    CHECK_THROWS_AS(hidden_loop(knobs), InputError);
  };
  refused([](HiddenKnobs& k) { k.ops = 0; });
  refused([](HiddenKnobs& k) { k.slots = 0; });
  refused([](HiddenKnobs& k) { k.longest = 0; });
  refused([](HiddenKnobs& k) { k.carried = 101; });
  refused([](HiddenKnobs& k) { k.filled = 0; });
  refused([](HiddenKnobs& k) { k.filled = 101; });
}

}  // namespace hidden_loop_test
