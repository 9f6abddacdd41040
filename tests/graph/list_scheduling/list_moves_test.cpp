// Orders and slots beside a schedule: all ops, producers first, on slots that they may be on.
#include "graph/list_scheduling/list_moves.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/bounds/bounds.hpp"
#include "graph/hidden_loop.hpp"
#include "graph/index.hpp"
#include "graph/list_scheduling/list_order.hpp"
#include "graph/loop.hpp"

namespace list_moves_test {

using namespace twill;

namespace {

HiddenLoop hidden(int ops, int filled, std::uint64_t seed) {
  HiddenKnobs knobs;
  knobs.ops = ops;
  knobs.filled = filled;
  knobs.seed = seed;
  return hidden_loop(knobs);
}

bool producers_first(const Problem& problem, const std::vector<int>& order) {
  std::vector<std::size_t> place(order.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[at(order[i])] = i;
  return order.size() == problem.ops.size() &&
         std::none_of(place.begin(), place.end(), [&](auto p) { return p == order.size(); }) &&
         std::all_of(problem.edges.begin(), problem.edges.end(), [&](const Edge& e) {
           return e.distance > 0 || place[at(e.from)] < place[at(e.to)];
         });
}

/// Registers of all results that are held, the most and the sum over the places of an order.
struct Pressure {
  Amount most = 0, sum = 0;
};
Pressure pressure(const Problem& problem, const std::vector<int>& order) {
  std::vector<int> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[at(order[i])] = static_cast<int>(i);
  Pressure pressure;
  for (int i = 0; i < static_cast<int>(order.size()); ++i) {
    Amount held = 0;
    for (std::size_t v = 0; v < order.size(); ++v) {
      const bool needed =
          std::any_of(problem.edges.begin(), problem.edges.end(), [&](const Edge& e) {
            return e.distance == 0 && at(e.from) == v && place[at(e.to)] >= i;
          });
      if (place[v] <= i && needed) held += problem.ops[v].registers;
    }
    pressure.most = std::max(pressure.most, held);
    pressure.sum += held;
  }
  return pressure;
}

}  // namespace

TEST_CASE("the order of little pressure holds less than that by heights") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    const Problem problem = hidden(seed < 4 ? 60 : 150, 95, seed).problem;
    SplitMix64 random(seed), again(seed);
    const std::vector<int> order = pressure_order(problem, random);
    CHECK(producers_first(problem, order));
    CHECK(pressure_order(problem, again) == order);
    const Pressure now = pressure(problem, order),
                   before = pressure(problem, height_order(problem));
    CHECK(now.most * 3 < before.most * 2);
    CHECK(now.sum * 3 < before.sum * 2);
  }
}

TEST_CASE("the busiest unit has the most work for an instance") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Problem problem = hidden(80, 60, seed).problem;
    const BusiestUnit busiest = busiest_unit(problem);
    const auto work = [&](std::size_t f) {
      Amount sum = 0;
      for (const Op& op : problem.ops)
        for (const Reservation& r : op.reservations)
          if (at(r.unit) == f) sum += r.length * r.amount;
      return sum / problem.units[f].capacity;
    };
    for (std::size_t f = 0; f < problem.units.size(); ++f) CHECK(work(f) <= work(at(busiest.unit)));
    for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v) {
      const auto& reservations = problem.ops[at(v)].reservations;
      const bool uses = std::any_of(reservations.begin(), reservations.end(),
                                    [&](const auto& r) { return r.unit == busiest.unit; });
      CHECK(std::count(busiest.users.begin(), busiest.users.end(), v) == (uses ? 1 : 0));
    }
  }
}

TEST_CASE("moves: all ops, producers first, slots that they may be on, most of them other ones") {
  int others = 0, moved_slots = 0, free_slots = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    const HiddenLoop loop = hidden(60, seed % 2 == 0 ? 95 : 20, seed);
    const Problem& problem = loop.problem;
    const Cycle low = lower_bounds(problem).front().value;
    Schedule s = loop.schedule;
    SplitMix64 random(seed);
    ListMoves moves(problem, s.initiation_interval, low, low, random);
    const std::vector<int> now = moves.by_keys(s.start);
    CHECK(producers_first(problem, now));
    CHECK(std::is_sorted(now.begin(), now.end(),
                         [&](int a, int b) { return s.start[at(a)] < s.start[at(b)]; }));
    // Half as many registers: it overflows.
    Problem small = problem;
    for (WarpSlot& slot : small.warps) slot.registers /= 2;
    ListMoves tight(small, s.initiation_interval, low, low, random);
    for (int k = 0; k < 200; ++k) {
      const ListMove move = k % 2 == 0 ? moves.near(s, false) : tight.near(s, true);
      CHECK(producers_first(problem, move.order));
      CHECK(move.expected.size() == problem.ops.size());
      others += move.order != now;
      free_slots += move.slots.empty();
      moved_slots += !move.slots.empty() && move.slots != s.warp;
      for (std::size_t v = 0; v < move.slots.size(); ++v) {
        const auto allowed = allowed_slots(problem, static_cast<int>(v));
        CHECK(std::count(allowed.begin(), allowed.end(), move.slots[v]) == 1);
      }
    }
  }
  MESSAGE(others << " other orders, " << moved_slots << " other slots, " << free_slots << " free");
  CHECK(others > 1500);
  CHECK(moved_slots > 500);
  CHECK(free_slots > 300);
}

}  // namespace list_moves_test
