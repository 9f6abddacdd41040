// Clashes against every schedule of tiny loops: each breaks a part of the clash, and the schedule
// that comes with a part breaks that one alone. Parts are judged here cycle by cycle.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/explain/broken_part.hpp"
#include "engine/explain/clash.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"

namespace clash_test {

using namespace twill;
using namespace twill::test;
using order::Clashing;

namespace {

// The rules in cycles: a copy of every op in each of many iterations, looked at in one period.
class ByCycle {
 public:
  ByCycle(const Problem& problem, const Schedule& schedule, const std::vector<Clashing>& clash)
      : p_(problem), s_(schedule), clash_(clash) {}

  bool breaks(const ConstraintPart& part) const {
    const auto& edges = p_.edges;
    switch (part.kind) {
      case ConstraintPart::pin: return !pinned(p_.pins[at(part.index)]);
      case ConstraintPart::unit:
        return any_cycle([&](Cycle t) {
          Amount used = 0;
          for (std::size_t v = 0; v < p_.ops.size(); ++v)
            for (const Reservation& r : p_.ops[v].reservations)
              if (r.unit == part.index)
                used += r.amount * copies(s_.start[v] + r.offset, r.length, t);
          return used > p_.units[at(part.index)].capacity;
        });
      case ConstraintPart::registers:
      case ConstraintPart::memory: return any_cycle([&](Cycle t) { return overflows(part, t); });
      case ConstraintPart::inner_loop: return left(p_.inner_loops[at(part.index)]);
      case ConstraintPart::wait: return disturbed(edges[at(part.index)].to);
      case ConstraintPart::hold: {
        // Itself it forbids nothing: it makes sums of others larger.
        return std::any_of(clash_.begin(), clash_.end(), [&](const Clashing& c) {
          return c.part != part &&
                 (c.part.kind == ConstraintPart::registers ||
                  c.part.kind == ConstraintPart::memory) &&
                 any_cycle([&](Cycle t) { return overflows(c.part, t); });
        });
      }
      case ConstraintPart::handover: {
        const Edge& e = edges[at(part.index)];
        const Cycle spill = p_.ops[at(e.from)].spill;
        return spill > 0 && s_.warp[at(e.from)] != s_.warp[at(e.to)] &&
               (use(e) < s_.start[at(e.from)] + e.delay + spill || disturbed(e.to));
      }
      case ConstraintPart::no_handover: {
        const Edge& e = edges[at(part.index)];
        return s_.warp[at(e.from)] != s_.warp[at(e.to)];
      }
      case ConstraintPart::dependence: {
        const Edge& e = edges[at(part.index)];
        return use(e) < s_.start[at(e.from)] + e.delay;
      }
    }
    return false;
  }

 private:
  // An inner loop whose parts are not where they should be, or whose slot executes something else.
  bool left(const InnerLoop& loop) const {
    const auto executes = [&](std::size_t v, Cycle t) {
      return copies(s_.start[v], p_.ops[v].cycles, t);
    };
    return std::any_of(loop.parts.begin(), loop.parts.end(), [&](const InnerPart& part) {
      const auto v = at(part.op);
      const Cycle origin = s_.start[at(loop.parts[0].op)] - loop.parts[0].offset;
      if (s_.start[v] != origin + part.offset) return true;
      if (p_.ops[v].cycles == 0 || p_.warps[at(s_.warp[v])].variable_latency) return false;
      return any_cycle([&](Cycle t) {
        Cycle here = 0;
        for (std::size_t o = 0; o < p_.ops.size(); ++o)
          if (s_.warp[o] == s_.warp[v]) here += executes(o, t);
        return executes(v, t) > 0 && here > 1;
      });
    });
  }
  Cycle ii() const { return s_.initiation_interval; }
  Cycle use(const Edge& e) const { return s_.start[at(e.to)] + e.distance * ii(); }

  // Copies of [begin, begin + length) that are there in cycle t of a loop without beginning or end.
  Cycle copies(Cycle begin, Cycle length, Cycle t) const {
    Cycle count = 0;
    for (Cycle i = -60; i <= 60; ++i)
      count += begin + i * ii() <= t && t < begin + i * ii() + length ? 1 : 0;
    return count;
  }

  template <class Test>
  bool any_cycle(const Test& test) const {
    for (Cycle t = 0; t < ii(); ++t)
      if (test(t)) return true;
    return false;
  }

  bool held(std::size_t e) const {
    return std::any_of(clash_.begin(), clash_.end(), [&](const Clashing& c) {
      return c.part.kind == ConstraintPart::hold && at(c.part.index) == e;
    });
  }

  // Loads issued from load v's issue on until its buffer is free, one by one.
  Cycle depth(int v) const {
    Cycle last = s_.start[at(v)];
    for (const BufferUse& u : buffer_uses(p_, v))
      last = std::max(last, s_.start[at(u.op)] + u.iterations * ii() +
                                std::max(p_.ops[at(u.op)].cycles,
                                         held(at(u.edge)) ? p_.edges[at(u.edge)].hold : Cycle{0}));
    Cycle count = 0;
    while (s_.start[at(v)] + count * ii() <= last) ++count;
    return count;
  }

  bool overflows(const ConstraintPart& part, Cycle t) const {
    Amount sum = 0, limit = 0;
    const int slot = s_.warp[at(part.copies.front().first)];
    for (const auto& [v, count] : part.copies) {
      if (part.kind == ConstraintPart::registers && s_.warp[at(v)] != slot) return false;
      if (part.kind == ConstraintPart::memory) {
        const MemoryCharges charges = memory_charges(p_, part.index);
        sum += count * (charges.ring[at(v)] + charges.live[at(v)]);
        if (charges.ring[at(v)] > 0) {
          if (depth(v) < count) return false;
          continue;
        }
      }
      Cycle length = 0;
      for (std::size_t e = 0; e < p_.edges.size(); ++e)
        if (p_.edges[e].from == v)
          length = std::max(
              length, use(p_.edges[e]) - s_.start[at(v)] + (held(e) ? p_.edges[e].hold : Cycle{0}));
      if (copies(s_.start[at(v)], length, t) < count) return false;
      if (part.kind == ConstraintPart::registers) sum += count * p_.ops[at(v)].registers;
    }
    limit = part.kind == ConstraintPart::registers ? p_.warps[at(slot)].registers
                                                   : p_.memories[at(part.index)].capacity;
    return sum > limit;
  }

  bool disturbed(int v) const {
    if (p_.warps[at(s_.warp[at(v)])].variable_latency) return false;
    for (std::size_t o = 0; o < p_.ops.size(); ++o)
      if (o != at(v) && s_.warp[o] == s_.warp[at(v)] &&
          copies(s_.start[o], p_.ops[o].cycles, s_.start[at(v)]) > 0)
        return true;
    return false;
  }

  bool pinned(const Pin& pin) const {
    switch (pin.kind) {
      case Pin::on_slot: return s_.warp[at(pin.op)] == pin.slot;
      case Pin::not_on_slot: return s_.warp[at(pin.op)] != pin.slot;
      case Pin::at_cycle: return s_.start[at(pin.op)] == pin.cycle;
      case Pin::at_stage: return s_.start[at(pin.op)] / s_.initiation_interval == pin.stage;
      case Pin::other_slot: return s_.warp[at(pin.op)] != s_.warp[at(pin.other)];
      case Pin::same_slot: break;
    }
    return s_.warp[at(pin.op)] == s_.warp[at(pin.other)];
  }

  const Problem& p_;
  const Schedule& s_;
  const std::vector<Clashing>& clash_;
};

// Is there a schedule that breaks no part? Of any number of stages those that begin up to `stages`
// before or after op 0; `within`: only those of so many, as where cycles are pinned.
bool met_by_some(const Problem& problem, Cycle ii, Cycle stages, bool within,
                 const std::vector<Clashing>& clash) {
  Schedule s;
  s.initiation_interval = ii;
  s.start.assign(problem.ops.size(), 0);
  s.warp.assign(problem.ops.size(), 0);
  const Cycle lowest = within ? 0 : -stages * ii;
  const auto place = [&](const auto& self, std::size_t v) -> bool {
    if (v == problem.ops.size()) {
      const ByCycle judge(problem, s, clash);
      return std::none_of(clash.begin(), clash.end(),
                          [&](const Clashing& c) { return judge.breaks(c.part); });
    }
    for (int w = 0; w < static_cast<int>(problem.warps.size()); ++w) {
      if (!slot_fits(problem, static_cast<int>(v), w)) continue;
      s.warp[v] = w;
      const bool first = v == 0 && lowest < 0;
      for (Cycle t = first ? 0 : lowest; t < (first ? 1 : stages * ii); ++t) {
        s.start[v] = t;
        if (self(self, v + 1)) return true;
      }
    }
    return false;
  };
  return place(place, 0);
}

std::string text_of(const std::vector<Clashing>& clash) {
  std::string text;
  for (const Clashing& c : clash) {
    text += "\nkind " + std::to_string(c.part.kind) + " index " + std::to_string(c.part.index);
    for (const auto& [v, n] : c.part.copies)
      text += " " + std::to_string(n) + " x " + std::to_string(v);
  }
  return text;
}

// The parts clash and none can be left out.
void judge(const Problem& problem, Cycle ii, Cycle stages, bool within,
           const std::vector<Clashing>& clash) {
  INFO(problem_text(problem), "I = ", ii, text_of(clash));
  REQUIRE_FALSE(clash.empty());
  std::vector<ConstraintPart> parts;
  for (const Clashing& c : clash) parts.push_back(c.part);
  for (const Clashing& c : clash) {
    REQUIRE(c.without.has_value());
    std::vector<Clashing> rest = clash;
    std::erase_if(rest, [&](const Clashing& other) { return other.part == c.part; });
    const ByCycle all(problem, *c.without, clash), without(problem, *c.without, rest);
    for (const Clashing& other : rest) CHECK_FALSE(without.breaks(other.part));
    CHECK(all.breaks(c.part));
    for (const Clashing& other : clash)
      CHECK(order::breaks(problem, *c.without, other.part, parts) == all.breaks(other.part));
  }
  CHECK_FALSE(met_by_some(problem, ii, stages, within, clash));
}

std::vector<Clashing> clash_at(const Problem& problem, Cycle ii, Cycle stage_limit = 0) {
  const EncodingChoice choice;
  Budget budget({}, 0, 0, 0);
  const ProgressCallback silent;
  Reporter report(silent, budget);
  Search search{problem, choice, 0, budget, report, order_engine()};
  search.stage_limit = stage_limit;
  return order::minimal_clash(search, ii, 0, 0);
}

LoopKnobs tiny() {
  LoopKnobs knobs;
  knobs.max_ops = 3;
  knobs.max_slots = 2;
  return knobs;
}

}  // namespace

TEST_CASE("one below the smallest interval") {
  int judged = 0;
  for (std::uint64_t seed = 90'000; seed < 90'000 + 700 / kShare; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_loop(seed, tiny());
    const Solution best = solve(problem);
    if (!best.schedule) continue;
    const Cycle ii = best.schedule->initiation_interval - 1;
    if (ii < 1 || ii > 5) continue;
    judge(problem, ii, 2, false, clash_at(problem, ii));
    ++judged;
  }
  CHECK(judged > 200 / kShare);
}

TEST_CASE("one below the smallest interval, with charged rings") {
  int judged = 0, rings = 0;
  for (std::uint64_t seed = 92'000; seed < 92'000 + 700 / kShare; ++seed) {
    CAPTURE(seed);
    const Problem problem = ring_loop(seed, tiny());
    const Solution best = solve(problem);
    const SerialProblem serial = serial_problem(problem);
    if (!best.schedule && serial.ii > 5) continue;
    const Problem& asked = best.schedule ? problem : serial.problem;
    const Cycle ii = best.schedule ? best.schedule->initiation_interval - 1 : serial.ii;
    if (ii < 1 || ii > 5) continue;
    const std::vector<Clashing> clash = clash_at(asked, ii);
    judge(asked, ii, 2, false, clash);
    ++judged;
    for (const Clashing& c : clash)
      for (const auto& [v, count] : c.part.copies)
        rings += c.part.kind == ConstraintPart::memory &&
                 memory_charges(asked, c.part.index).ring[at(v)] > 0;
  }
  CHECK(judged > 200 / kShare);
  CHECK(rings > 80 / kShare);
}

TEST_CASE("within a number of stages, and with pins") {
  int judged = 0;
  for (std::uint64_t seed = 91'000; seed < 91'000 + 500 / kShare; ++seed) {
    CAPTURE(seed);
    Problem problem = random_loop(seed, tiny());
    Random random(seed);
    const int ops = static_cast<int>(problem.ops.size());
    Options options;
    if (random.percent(50)) {
      options.stages = random.percent(50) ? "1" : "2";
    } else {
      problem.pins.push_back({Pin::at_cycle, 0, -1, random.range(0, 3), -1});
      if (ops > 1) problem.pins.push_back({Pin::same_slot, 0, -1, -1, 1});
      if (ops > 2) problem.pins.push_back({Pin::at_cycle, 2, -1, random.range(0, 4), -1});
    }
    const Cycle stages = options.stages == "1" ? 1 : options.stages == "2" ? 2 : 0;
    options.ii = random.range(1, 4);
    if (solve(problem, options).status != Status::infeasible) continue;
    judge(problem, *options.ii, stages > 0 ? stages : 3, true,
          clash_at(problem, *options.ii, stages));
    ++judged;
  }
  CHECK(judged > 100 / kShare);
}

TEST_CASE("no schedule at any interval") {
  LoopKnobs knobs = tiny();
  int judged = 0;
  for (std::uint64_t seed = 80'000; seed < 80'000 + 1000 / kShare; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_loop(seed, knobs);
    const Solution solution = solve(problem);
    if (solution.status != Status::infeasible) continue;
    CHECK_FALSE(solution.conflict.empty());
    const SerialProblem serial = serial_problem(problem);
    if (serial.ii > 5) continue;
    judge(serial.problem, serial.ii, 2, false, clash_at(serial.problem, serial.ii));
    for (const Cycle stages : {1, 2, 3})
      judge(serial.problem, serial.ii, stages, true, clash_at(serial.problem, serial.ii, stages));
    ++judged;
  }
  CHECK(judged > 20 / kShare);
}

TEST_CASE("few conflicts leave a clash that may be too large, or none") {
  const Problem problem =
      read_problem(std::string(TWILL_TEST_DATA) + "/examples/undercount-figure-1.problem.json");
  const EncodingChoice choice;
  Budget budget({}, 0, 0, 0);
  const ProgressCallback silent;
  Reporter report(silent, budget);
  const Search search{problem, choice, 0, budget, report, order_engine()};
  const std::vector<Clashing> minimal = order::minimal_clash(search, 2, 0, 0);
  CHECK(minimal.size() == 4);
  bool unfinished = false;
  for (std::int64_t conflicts = 1; conflicts < 40; ++conflicts) {
    const std::vector<Clashing> clash = order::minimal_clash(search, 2, conflicts, 0);
    if (clash.empty()) continue;
    CHECK(clash.size() >= minimal.size());
    CHECK_FALSE(met_by_some(problem, 2, 2, false, clash));
    unfinished = unfinished || !clash.front().without;
  }
  CHECK(unfinished);
}

}  // namespace clash_test
