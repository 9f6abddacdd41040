// Parts of a loop that nothing ties together, moved by whole periods (graph/moved_together.hpp),
// beside all ways to move them.
#include "graph/moved_together.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "graph/loop.hpp"
#include "graph/verify.hpp"

namespace moved_together_test {
using namespace twill;

Cycle spread(const Problem& problem, const Schedule& schedule) {
  Cycle sum = 0;
  for (int slot = 0; slot < static_cast<int>(problem.warps.size()); ++slot) {
    Cycle first = std::numeric_limits<Cycle>::max(), last = -1;
    for (std::size_t v = 0; v < schedule.start.size(); ++v) {
      if (schedule.warp[v] != slot) continue;
      first = std::min(first, schedule.start[v] / schedule.initiation_interval);
      last = std::max(last, schedule.start[v] / schedule.initiation_interval);
    }
    if (last >= 0) sum += last - first;
  }
  return sum;
}

/// Two or three chains of ops on two slots, one after the other at one residue each.
struct Case {
  Problem problem;
  Schedule schedule;
};

Case made(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Case one;
  one.problem.units = {{"u", 8}};
  one.problem.warps.resize(2);
  for (int slot = 0; slot < 2; ++slot) {
    one.problem.warps[static_cast<std::size_t>(slot)].name = slot == 0 ? "a" : "b";
    one.problem.warps[static_cast<std::size_t>(slot)].registers = 1000;
  }
  const int chains = 2 + below(2);
  one.schedule.initiation_interval = 16;
  int residue = 0;
  for (int chain = 0; chain < chains; ++chain) {
    const int length = 1 + below(3);
    Cycle stage = below(4);
    for (int k = 0; k < length; ++k) {
      Op op;
      op.id = "o" + std::to_string(chain) + "_" + std::to_string(k);
      op.cycles = 1;
      op.reservations = {{0, 0, 1, 1}};
      if (k > 0) {
        Edge edge;
        edge.from = static_cast<int>(one.problem.ops.size()) - 1;
        edge.to = edge.from + 1;
        edge.delay = 1;
        one.problem.edges.push_back(edge);
      }
      one.problem.ops.push_back(op);
      one.schedule.start.push_back(stage * 16 + residue++);
      one.schedule.warp.push_back(below(2));
      stage += below(3);
    }
  }
  one.schedule.length = schedule_length(one.problem, one.schedule.start);
  return one;
}

TEST_CASE("moving one part at a time brings slots' stages together, and nothing else changes") {
  int fewer = 0, least = 0, cases = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const Case one = made(seed);
    CAPTURE(seed);
    REQUIRE_FALSE(verify(one.problem, one.schedule));
    const Schedule moved = moved_together(one.problem, one.schedule);
    CHECK_FALSE(verify(one.problem, moved));
    CHECK(moved.initiation_interval == one.schedule.initiation_interval);
    CHECK(moved.length == one.schedule.length);
    CHECK(moved.warp == one.schedule.warp);
    CHECK(stage_count(moved) <= stage_count(one.schedule));
    CHECK(schedule_length(one.problem, moved.start) <= moved.length);
    const Components parts = weakly_connected_components(one.problem);
    std::vector<Cycle> by(static_cast<std::size_t>(parts.count), -1);
    for (std::size_t v = 0; v < moved.start.size(); ++v) {
      const Cycle shift = moved.start[v] - one.schedule.start[v];
      CHECK(shift >= 0);
      CHECK(shift % moved.initiation_interval == 0);
      Cycle& of_part = by[static_cast<std::size_t>(parts.of[v])];
      if (of_part < 0) of_part = shift;
      CHECK(of_part == shift);
    }
    // All ways.
    const Cycle before = spread(one.problem, one.schedule), after = spread(one.problem, moved);
    Cycle best = before;
    std::vector<Cycle> shifts(by.size(), 0);
    for (bool more = true; more;) {
      Schedule other = one.schedule;
      for (std::size_t v = 0; v < other.start.size(); ++v)
        other.start[v] += 16 * shifts[static_cast<std::size_t>(parts.of[v])];
      if (schedule_length(one.problem, other.start) <= one.schedule.length &&
          stage_count(other) <= stage_count(one.schedule))
        best = std::min(best, spread(one.problem, other));
      more = false;
      for (Cycle& shift : shifts) {
        if (++shift < 12) {
          more = true;
          break;
        }
        shift = 0;
      }
    }
    CHECK(after <= before);
    CHECK(after >= best);
    if (parts.count == 2) {  // (of two parts, each later only)
      least += after == best;
      ++cases;
    }
    fewer += after < before;
  }
  CHECK(fewer > 100);
  CHECK(least * 10 > cases * 9);
}

TEST_CASE("a part with a pinned time stays, and so does a loop in one piece") {
  Case one = made(3);
  Pin pin;
  pin.kind = Pin::at_cycle;
  for (std::size_t v = 0; v < one.schedule.start.size(); ++v) {
    pin.op = static_cast<int>(v);
    pin.cycle = one.schedule.start[v];
    one.problem.pins.push_back(pin);
  }
  CHECK(moved_together(one.problem, one.schedule) == one.schedule);
  one.problem.pins.clear();
  for (int v = 1; v < static_cast<int>(one.problem.ops.size()); ++v) {
    Edge edge;
    edge.from = v - 1;
    edge.to = v;
    edge.distance = 50;
    one.problem.edges.push_back(edge);
  }
  CHECK(moved_together(one.problem, one.schedule) == one.schedule);
}

}  // namespace moved_together_test
