// Changes of a loop that must not change the answer, or change it in a known way: names, the order
// of what a file lists, an edge that goes through an op without cycles, an edge twice, a slot, unit
// or memory that is of no use, all cycles times k.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <string>

#include "engine/options.hpp"
#include "graph/check.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scaled.hpp"
#include "tests/support/wild_loop.hpp"

namespace metamorphic_test {

using namespace twill;
using namespace twill::test;

namespace {

// What must be the same, in words.
std::string answer(const Problem& problem, const Options& options) {
  const Solution got = solve(problem, options);
  std::string text = to_string(got.status);
  if (got.schedule)
    text += " I = " + std::to_string(got.schedule->initiation_interval) +
            ", L = " + std::to_string(got.schedule->length);
  for (const Goal& goal : got.goals) text += ", " + std::to_string(goal.value);
  return text;
}

// The place that each element goes to.
std::vector<int> shuffled(std::size_t count, Random& random) {
  std::vector<int> place(count);
  std::iota(place.begin(), place.end(), 0);
  for (std::size_t i = count; i-- > 1;)
    std::swap(place[i], place[static_cast<std::size_t>(random.range(0, static_cast<int>(i)))]);
  return place;
}

template <class T>
void move_to(std::vector<T>& all, const std::vector<int>& place) {
  const std::vector<T> before = all;
  for (std::size_t i = 0; i < before.size(); ++i)
    all[static_cast<std::size_t>(place[i])] = before[i];
}

void shuffle_all(Problem& p, Random& random) {
  const std::vector<int> op = shuffled(p.ops.size(), random),
                         slot = shuffled(p.warps.size(), random),
                         unit = shuffled(p.units.size(), random),
                         memory = shuffled(p.memories.size(), random),
                         channel = shuffled(p.channels.size(), random);
  move_to(p.ops, op);
  move_to(p.warps, slot);
  move_to(p.units, unit);
  move_to(p.memories, memory);
  move_to(p.channels, channel);
  move_to(p.edges, shuffled(p.edges.size(), random));
  move_to(p.pins, shuffled(p.pins.size(), random));
  const auto renumber = [](int& index, const std::vector<int>& place) {
    if (index >= 0) index = place[static_cast<std::size_t>(index)];
  };
  for (Op& o : p.ops) {
    for (Reservation& r : o.reservations) renumber(r.unit, unit);
    for (Footprint& f : o.footprints) renumber(f.memory, memory);
    for (Traffic& t : o.traffic) renumber(t.channel, channel);
    move_to(o.reservations, shuffled(o.reservations.size(), random));
  }
  for (Edge& e : p.edges) {
    renumber(e.from, op);
    renumber(e.to, op);
  }
  for (Pin& pin : p.pins) {
    renumber(pin.op, op);
    renumber(pin.other, op);
    renumber(pin.slot, slot);
  }
  for (InnerLoop& loop : p.inner_loops) {
    for (InnerPart& part : loop.parts) renumber(part.op, op);
    move_to(loop.parts, shuffled(loop.parts.size(), random));
  }
}

// u -> z -> v, where z takes no time and holds nothing. With z issued as v is, everything is as it
// was: u's result is used as late as before, and z waits for nothing. Beside the edge, or in its
// place where how long u's result is used does not matter. (Not where the edge has a spill: z would
// wait for the hand-over, too, and may not do so while v executes.)
bool split_edge(Problem& p, Random& random) {
  std::vector<std::size_t> can;
  for (std::size_t i = 0; i < p.edges.size(); ++i)
    if (spill_of(p, p.edges[i]) == 0) can.push_back(i);
  if (can.empty()) return false;
  const std::size_t i = can[static_cast<std::size_t>(random.range(0, std::ssize(can) - 1))];
  const Edge e = p.edges[i];
  const Op& u = p.ops[static_cast<std::size_t>(e.from)];
  Op z;
  z.id = "between";
  z.variable_latency = p.ops[static_cast<std::size_t>(e.to)].variable_latency;
  const bool holds_nothing = u.registers == 0 && u.footprints.empty() && !u.fills_ring();
  // A view that shows u's buffer: what follows it holds the buffer, too.
  const bool is_view = u.cycles == 0;
  if (holds_nothing && !is_view && random.percent(50))
    p.edges.erase(p.edges.begin() + static_cast<std::ptrdiff_t>(i));
  const int middle = static_cast<int>(p.ops.size());
  p.ops.push_back(z);
  p.edges.push_back({e.from, middle, e.delay, e.distance, false, e.hold, e.spill});
  p.edges.push_back({middle, e.to, 0, 0, e.blocking, e.hold});
  return true;
}

// A slot that no op fits on: every width is doubled, and the slot's is 1.
void add_narrow_slot(Problem& p) {
  for (Op& o : p.ops) o.width *= 2;
  for (WarpSlot& slot : p.warps) slot.width *= 2;
  p.warps.push_back({"narrow", 1, 100, false});
}

void expect_same(const WildCase& wild, const std::function<bool(Problem&)>& change, bool goals) {
  for (const char* engine : {"order", "time_indexed"}) {
    Options options = wild.options;
    options.engine = engine;
    if (!goals) drop_goals(options);
    Problem changed = wild.problem;
    if (!change(changed)) return;
    check(changed);
    CAPTURE(engine);
    CAPTURE(problem_text(changed));
    CHECK(answer(changed, options) == answer(wild.problem, options));
  }
}

}  // namespace

TEST_CASE("changes that do not change the answer") {
  int divided = 0, split = 0, moved = 0;
  for (std::uint64_t seed = 0; seed < 150 / kShare; ++seed) {
    WildCase wild = wild_case(seed);
    wild.options.explain = false;
    Random random(seed);
    CAPTURE(seed);
    CAPTURE(problem_text(wild.problem));
    CAPTURE(wild.options.stages);
    // Places in the file are what these mean.
    std::erase_if(wild.options.goals, [](const std::string& goal) {
      return goal == "canonical" || goal.starts_with("slot:");
    });
    if (wild.options.goals.empty()) drop_goals(wild.options);
    expect_same(
        wild,
        [&](Problem& p) {
          for (Op& o : p.ops) o.kind = "kind of " + o.id;
          for (std::size_t i = 0; i < p.ops.size(); ++i)
            if (wild.options.goals.empty() && wild.options.pins.empty())
              p.ops[i].id = "op/" + std::to_string(17 * i % 7) + " \"" + std::to_string(i);
          p.name = "another";
          return true;
        },
        true);
    expect_same(
        wild,
        [&](Problem& p) {
          shuffle_all(p, random);
          return true;
        },
        true);
    expect_same(
        wild,
        [&](Problem& p) {
          if (p.edges.empty()) return false;
          p.edges.push_back(
              p.edges[static_cast<std::size_t>(random.range(0, std::ssize(p.edges) - 1))]);
          return true;
        },
        false);
    expect_same(
        wild, [&](Problem& p) { return split_edge(p, random) && ++split > 0; }, false);
    expect_same(
        wild,
        [](Problem& p) {
          add_narrow_slot(p);
          return true;
        },
        true);
    expect_same(
        wild,
        [](Problem& p) {
          p.units.push_back({"idle", 3});
          p.memories.push_back({"empty", 0, true});
          p.channels.push_back({"quiet", {1, 1'000'000}});
          return true;
        },
        true);
    // The same share of a channel in other units: as fractions, moved over to another op.
    expect_same(
        wild,
        [&](Problem& p) {
          if (p.channels.empty() || p.ops.size() < 2) return false;
          const Amount k = random.range(2, 9);
          for (Channel& c : p.channels) c.rate.numerator *= k;
          for (Op& o : p.ops)
            for (Traffic& t : o.traffic) t.amount.numerator *= k;
          const std::vector<Traffic> last = p.ops.back().traffic;
          p.ops.back().traffic = p.ops.front().traffic;
          p.ops.front().traffic = last;
          return ++moved > 0;
        },
        true);
    if (variable_latency_slot(wild.problem) < 0)
      expect_same(
          wild,
          [](Problem& p) {
            for (Op& o : p.ops)
              if (o.variable_latency) return false;
            p.warps.insert(p.warps.begin(), {"for nobody", 8, 8, true});
            for (Pin& pin : p.pins)
              if (pin.slot >= 0) ++pin.slot;
            return true;
          },
          true);

    // k times all cycles: k I and k L can be had; at k I nothing shorter, and at k (I - 1) nothing,
    // where a schedule can be divided by k.
    Options options = wild.options;
    drop_goals(options);
    const Solution once = solve(wild.problem, options);
    if (!once.schedule) continue;
    const Cycle k = random.range(2, 3), ii = once.schedule->initiation_interval;
    Problem scaled = wild.problem;
    scale(scaled, k);
    Options at = options;
    at.ii = k * ii;
    const Solution same = solve(scaled, at);
    REQUIRE(same.status == Status::optimal);
    CHECK(same.schedule->length <= k * once.schedule->length);
    const Solution best = options.ii ? same : solve(scaled, options);
    REQUIRE(best.status == Status::optimal);
    CHECK(best.schedule->initiation_interval <= k * ii);
    if (!may_be_divided(wild.problem)) continue;
    ++divided;
    CHECK(same.schedule->length == k * once.schedule->length);
    if (options.ii || ii == 1) continue;
    at.ii = k * (ii - 1);
    CHECK(solve(scaled, at).status == Status::infeasible);
  }
  CHECK(divided > (kSanitized ? 0 : 12 / kShare));
  CHECK(split > 100 / kShare);
  CHECK(moved > 40 / kShare);
}

}  // namespace metamorphic_test
