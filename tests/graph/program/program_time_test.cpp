// Programs in time: in the schedule's order of units no op ever begins later than the schedule has
// it, at any trip count, and the built-in kernels run at exactly I; what a run says is checked rule
// by rule, and its moments against a longest path where units are alike to orders.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "engine/include/twill.hpp"
#include "engine/program.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/channel_bounds.hpp"
#include "graph/io/builtin.hpp"
#include "graph/program/compare.hpp"
#include "graph/program/contended_time.hpp"
#include "graph/program/derive.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/time.hpp"
#include "graph/program/varied_time.hpp"
#include "graph/random.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"

namespace program_time_test {

using namespace twill;
using program::BarrierCosts;
using program::Clock;
using program::Program;
using program::TimedRun;
using program::UnitOrder;

namespace {

struct Made {
  std::string name;
  Problem problem;
  Schedule schedule;
  Program program;
  bool optimal = false;
};

/// All built-in kernels on their machines in both readings, as solve() schedules them.
const std::vector<Made>& kernels() {
  static const std::vector<Made> all = [] {
    std::vector<Made> made;
    for (const BuiltinFile& file : builtin_files()) {
      if (file.folder != "kernels") continue;
      const std::string kernel(file.name);
      for (const std::string machine : {"figure-1", "hopper", "blackwell"}) {
        if (kernel != machine && kernel != "gemm" && !kernel.starts_with(machine)) continue;
        if (kernel == "gemm" && machine == "figure-1") continue;
        for (const Reading reading : {Reading::machine, Reading::paper}) {
          if (machine == "figure-1" && reading == Reading::machine) continue;
          if (kernel.ends_with("-tiles")) continue;  // families of what is here
          LowerOptions options;
          options.reading = reading;
          const auto layouts =
              lower(std::string(file.text), kernel, builtin_machine(machine), machine, options);
          const LayoutsSolution best = solve_layouts(layouts, {});
          if (!best.solution().schedule) continue;
          auto one = solve_program(best.layout().problem, best.solution());
          const std::string name =
              kernel + " on " + machine + (reading == Reading::paper ? " (paper)" : "");
          if (!std::holds_alternative<Program>(one.program)) {
            MESSAGE(name << ": " << std::get<program::Refusal>(one.program).text);
            continue;
          }
          made.push_back({name, best.layout().problem, *one.solution.schedule,
                          std::get<Program>(std::move(one.program)),
                          one.solution.status == Status::optimal});
        }
      }
    }
    return made;
  }();
  return all;
}

int op_named(const Problem& problem, const std::string& id) {
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    if (problem.ops[v].id == id) return static_cast<int>(v);
  return -1;
}

std::size_t cell(int op, int n, int i) {
  return static_cast<std::size_t>(op) * static_cast<std::size_t>(n) + static_cast<std::size_t>(i);
}

/// "" = the run obeys what it is said to; else what not. Costs as they are.
std::string illegal(const Program& p, const Problem& q, const Schedule& s, const TimedRun& run) {
  const int n = run.iterations;
  std::vector<int> op(q.ops.size(), -1);
  for (std::size_t k = 0; k < p.ops.size(); ++k)
    op[static_cast<std::size_t>(op_named(q, p.ops[k].id))] = static_cast<int>(k);
  const auto first = [&](int v, int i) {
    return run.start[cell(op[static_cast<std::size_t>(v)], n, i)];
  };
  for (const Edge& e : q.edges) {
    if (op[static_cast<std::size_t>(e.from)] < 0 || op[static_cast<std::size_t>(e.to)] < 0)
      continue;
    const Cycle spill =
        s.warp[static_cast<std::size_t>(e.from)] != s.warp[static_cast<std::size_t>(e.to)]
            ? q.ops[static_cast<std::size_t>(e.from)].spill
            : 0;
    for (int i = e.distance; i < n; ++i)
      if (first(e.to, i) < first(e.from, i - e.distance) + e.delay + spill)
        return "edge to " + q.ops[static_cast<std::size_t>(e.to)].id;
  }
  for (std::size_t f = 0; f < q.units.size(); ++f) {
    std::map<Cycle, Amount> change;
    for (std::size_t v = 0; v < q.ops.size(); ++v)
      for (const Reservation& r : q.ops[v].reservations) {
        if (static_cast<std::size_t>(r.unit) != f || op[v] < 0) continue;
        // Of an op with one segment alone is it known when that is.
        if (q.ops[v].reservations.size() > 1) continue;
        for (int i = 0; i < n; ++i) {
          const std::size_t k = cell(op[v], n, i);
          const Cycle begin = run.start[k] + run.late[k] + r.offset;
          change[begin] += r.amount;
          change[begin + r.length] -= r.amount;
        }
      }
    Amount used = 0;
    for (const auto& [time, amount] : change)
      if ((used += amount) > q.units[f].capacity) return "unit " + q.units[f].name;
  }
  // Waits: what they are for has had its cycles.
  for (const auto& wait : p.waits) {
    const int other = p.events[static_cast<std::size_t>(wait.event)].op;
    const int u = op_named(q, p.ops[static_cast<std::size_t>(other)].id);
    if (wait.need == program::Need::raw) continue;  // edges
    const bool also_operand =
        std::any_of(q.edges.begin(), q.edges.end(), [&](const Edge& e) { return e.from == u; });
    const Cycle least = also_operand ? 0 : q.ops[static_cast<std::size_t>(u)].cycles;
    for (int i = std::max(0, wait.offset); i < n && i - wait.offset < n; ++i)
      if (run.start[cell(wait.before, n, i)] < run.start[cell(other, n, i - wait.offset)] + least)
        return "wait before " + p.ops[static_cast<std::size_t>(wait.before)].id;
  }
  // Code in its order.
  for (std::size_t k = 1; k < p.ops.size(); ++k)
    if (p.ops[k].slot == p.ops[k - 1].slot && p.ops[k].ending == program::Ending::at_once &&
        p.ops[k - 1].ending == program::Ending::at_once)
      for (int t = 0; t < n + p.ops[k].stage; ++t) {
        const int i = t - p.ops[k].stage, j = t - p.ops[k - 1].stage;
        if (i >= 0 && i < n && j >= 0 && j < n &&
            run.start[k * static_cast<std::size_t>(n) + static_cast<std::size_t>(i)] <
                run.start[(k - 1) * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)])
          return "order of " + p.ops[k].id;
      }
  return "";
}

/// "" = no op begins later than the schedule has it, and its last segment neither.
std::string later(const Program& p, const Problem& q, const Schedule& s, const TimedRun& run) {
  for (std::size_t k = 0; k < p.ops.size(); ++k) {
    const auto v = static_cast<std::size_t>(op_named(q, p.ops[k].id));
    for (int i = 0; i < run.iterations; ++i) {
      const std::size_t x =
          k * static_cast<std::size_t>(run.iterations) + static_cast<std::size_t>(i);
      if (run.start[x] + run.late[x] > s.start[v] + i * s.initiation_interval)
        return p.ops[k].id + "[" + std::to_string(i) + "] at " +
               std::to_string(run.start[x] + run.late[x]);
    }
  }
  return "";
}

Cycle length_of(const Problem& q, const Schedule& s) {
  Cycle length = 0;
  for (std::size_t v = 0; v < q.ops.size(); ++v)
    length = std::max(length, s.start[v] + q.ops[v].cycles);
  return length;
}

/// Where no unit slows another down the two ways to replay a program say the same: but for turns on
/// a unit of several, which Clock::run gives to an op at the moment when it asks, before it is its
/// turn, if one is free then.
void same_moment_by_moment(const Program& p, const Problem& problem, const Schedule& schedule,
                           int n, std::uint64_t seed) {
  const BarrierCosts costs{static_cast<Cycle>(seed % 3), static_cast<Cycle>(seed % 5)};
  std::vector<int> factor(p.ops.size() * static_cast<std::size_t>(n));
  SplitMix64 random(seed);
  for (int& f : factor) f = static_cast<int>(random.range(700, 1400));
  const bool several = std::any_of(problem.units.begin(), problem.units.end(),
                                   [](const Unit& u) { return u.capacity > 1; });
  for (const UnitOrder order : {UnitOrder::schedules, UnitOrder::arrival}) {
    const Clock clock(p, problem, schedule, n, order);
    for (const std::vector<int>& varied : {std::vector<int>{}, factor}) {
      const TimedRun ahead = clock.run(costs, varied),
                     now = program::run_contended(clock, costs, {}, varied);
      const std::string wrong = illegal(p, problem, schedule, now);
      if (varied.empty() && !wrong.empty()) FAIL_CHECK(wrong);
      if (order == UnitOrder::schedules && several) {
        if (costs.wait + costs.arrive > 0 || !varied.empty()) continue;
        const std::string late = later(p, problem, schedule, now);
        if (!late.empty()) FAIL_CHECK(late);
        continue;
      }
      CHECK(ahead.start == now.start);
      CHECK(ahead.late == now.late);
      CHECK(ahead.end == now.end);
      CHECK(ahead.stood == now.stood);
      CHECK(ahead.total == now.total);
      CHECK(std::all_of(now.slowed.begin(), now.slowed.end(), [](Cycle c) { return c == 0; }));
    }
  }
}

}  // namespace

TEST_CASE(
    "built-in kernels: in the schedule's order exactly I, and never later than the schedule") {
  std::map<std::string, int> counts;
  for (const Made& m : kernels()) {
    CAPTURE(m.name);
    const Cycle ii = m.schedule.initiation_interval;
    const int n = 120;
    const Clock clock(m.program, m.problem, m.schedule, n, UnitOrder::schedules);
    const TimedRun run = clock.run({});
    CHECK(illegal(m.program, m.problem, m.schedule, run) == "");
    CHECK(later(m.program, m.problem, m.schedule, run) == "");
    CHECK(run.total <= (n - 1) * ii + length_of(m.problem, m.schedule));
    const auto steady = program::steady_state(run, program::stage_count(m.program));
    CHECK(steady.has_value());
    if (!steady) continue;
    CHECK(steady->clocks <= steady->every * ii);
    const bool exact = steady->clocks == steady->every * ii;
    // What makes it faster: a channel, which nobody stands at; an I that is not proved the least.
    // Else a cycle, that the schedule gives each wait of its own.
    const bool by_channel = least_by_channels(m.problem) == ii;
    ++counts[exact        ? "exactly I"
             : by_channel ? "faster than I, which a channel bounds"
             : !m.optimal ? "faster than I, which is not optimal"
                          : "faster than I by a cycle"];
    if (!exact && !by_channel && m.optimal) CHECK(steady->clocks == steady->every * (ii - 1));
    const TimedRun free = Clock(m.program, m.problem, m.schedule, n, UnitOrder::arrival).run({});
    CHECK(illegal(m.program, m.problem, m.schedule, free) == "");
    const auto as = program::steady_state(free, program::stage_count(m.program));
    ++counts[!as                            ? "arrival: not periodic"
             : as->clocks == as->every * ii ? "arrival: exactly I"
             : as->clocks > as->every * ii  ? "arrival: slower"
                                            : "arrival: faster"];
    if (!as || as->clocks > as->every * ii) {
      std::string text;
      for (std::size_t w = 0; w < free.stood.size(); ++w)
        if (free.stood[w] > run.stood[w] + n)
          text += " " + m.program.ops[static_cast<std::size_t>(m.program.waits[w].before)].id +
                  "<-" +
                  m.program
                      .ops[static_cast<std::size_t>(
                          m.program.events[static_cast<std::size_t>(m.program.waits[w].event)].op)]
                      .id +
                  " +" + std::to_string((free.stood[w] - run.stood[w]) / n);
      MESSAGE(m.name << ": by arrival "
                     << (as ? std::to_string(as->clocks) + " / " + std::to_string(as->every)
                            : std::to_string(free.total / n) + " on average")
                     << " beside I = " << ii << ":" << text);
    }
  }
  for (const auto& [what, count] : counts) MESSAGE(what << " " << count);
  CHECK(kernels().size() > 40);
  CHECK(counts["exactly I"] >= 30);
  CHECK(counts["faster than I by a cycle"] <= 4);
}

TEST_CASE("random loops: never later than the schedule, by the thousand") {
  std::map<std::string, int> counts;
  for (std::uint64_t seed = 0; seed < 6000 / test::kShare; ++seed) {
    CAPTURE(seed);
    const Problem problem = seed % 4 == 0 ? test::ring_loop(seed) : test::random_loop(seed);
    const Solution solution = solve(problem);
    if (!solution.schedule) continue;
    const auto made = program::derive(problem, *solution.schedule);
    if (!std::holds_alternative<Program>(made)) continue;
    const Program& p = std::get<Program>(made);
    for (const int n : {0, 1, 2, 5, 40}) {
      const TimedRun run = Clock(p, problem, *solution.schedule, n, UnitOrder::schedules).run({});
      const std::string wrong = illegal(p, problem, *solution.schedule, run),
                        late = later(p, problem, *solution.schedule, run);
      if (!wrong.empty()) FAIL_CHECK(wrong);
      if (!late.empty()) FAIL_CHECK(late);
      const TimedRun free = Clock(p, problem, *solution.schedule, n, UnitOrder::arrival).run({});
      const std::string also = illegal(p, problem, *solution.schedule, free);
      if (!also.empty()) FAIL_CHECK(also);
      if (n <= 5 && seed % 3 == 0) same_moment_by_moment(p, problem, *solution.schedule, n, seed);
      if (n < 40) continue;
      const auto steady = program::steady_state(run, program::stage_count(p));
      const Cycle ii = solution.schedule->initiation_interval;
      ++counts[!steady                                ? "no period"
               : steady->clocks == steady->every * ii ? "exactly I"
                                                      : "faster"];
      const auto as = program::steady_state(free, program::stage_count(p));
      ++counts[!as                            ? "arrival: no period"
               : as->clocks == as->every * ii ? "arrival: exactly I"
               : as->clocks < as->every * ii  ? "arrival: faster"
                                              : "arrival: slower"];
    }
  }
  for (const auto& [what, count] : counts) MESSAGE(what << " " << count);
  CHECK(counts["exactly I"] > 3000 / test::kShare);
  CHECK(counts["arrival: slower"] > 50 / test::kShare);  // this is what turns are for
}

TEST_CASE("costs of barriers make a loop slower, never faster; varied costs are the same by seed") {
  for (const Made& m : kernels()) {
    CAPTURE(m.name);
    const int n = 24;
    const Clock clock(m.program, m.problem, m.schedule, n, UnitOrder::schedules);
    Cycle last = clock.run({}).total;
    const bool barriers =
        std::any_of(m.program.waits.begin(), m.program.waits.end(), [&](const auto& w) {
          return !m.program.events[static_cast<std::size_t>(w.event)].pending;
        });
    for (const BarrierCosts costs :
         {BarrierCosts{10, 0}, BarrierCosts{10, 30}, BarrierCosts{200, 300}}) {
      const Cycle now = clock.run(costs).total;
      CHECK(now >= last);
      last = now;
    }
    if (barriers) CHECK(last > clock.run({}).total);
    // All costs a half more: all moments a half more, but for hand-overs and rounding.
    const std::vector<int> factor(m.program.ops.size() * static_cast<std::size_t>(n), 1500);
    const Cycle longer = clock.run({}, factor).total;
    CHECK(longer > clock.run({}).total);
    CHECK(2 * longer <= 3 * clock.run({}).total + n * static_cast<Cycle>(m.program.ops.size()));
    program::Variation variation;
    variation.runs = 20;
    variation.seed = 3;
    const auto one = program::varied_clocks(clock, m.program, m.problem, {}, {}, variation);
    CHECK(one.size() == 20);
    CHECK(std::is_sorted(one.begin(), one.end()));
    CHECK(one == program::varied_clocks(clock, m.program, m.problem, {}, {}, variation));
    variation.seed = 4;
    if (m.schedule.initiation_interval > 100)
      CHECK(one != program::varied_clocks(clock, m.program, m.problem, {}, {}, variation));
    variation.spread = variation.load_spread = 0;
    const auto same = program::varied_clocks(clock, m.program, m.problem, {}, {}, variation);
    CHECK(same.front() == same.back());
  }
}

TEST_CASE("turns: the same program, judged, and by arrival no slower than I") {
  std::map<std::string, int> counts;
  int waits = 0, turns = 0, needed = 0, in_need = 0;
  const auto turns_of = [](const Program& p) {
    return static_cast<int>(std::count_if(p.waits.begin(), p.waits.end(), [](const auto& w) {
      return w.need == program::Need::turn;
    }));
  };
  for (const Made& m : kernels()) {
    CAPTURE(m.name);
    const auto made = program::derive(m.problem, m.schedule, {program::Turns::all});
    REQUIRE(std::holds_alternative<Program>(made));
    const Program& p = std::get<Program>(made);
    const auto fault = program::judge(p);
    if (fault) FAIL_CHECK(fault->text);
    CHECK(!program::compare(p, m.problem, m.schedule));
    waits += static_cast<int>(m.program.waits.size());
    turns += turns_of(p);
    const int n = 120;
    const TimedRun kept = Clock(p, m.problem, m.schedule, n, UnitOrder::schedules).run({});
    CHECK(later(p, m.problem, m.schedule, kept) == "");
    const TimedRun run = Clock(p, m.problem, m.schedule, n, UnitOrder::arrival).run({});
    CHECK(illegal(p, m.problem, m.schedule, run) == "");
    const auto steady = program::steady_state(run, program::stage_count(p));
    CHECK(steady.has_value());
    if (!steady) continue;
    const Cycle ii = steady->every * m.schedule.initiation_interval;
    ++counts[steady->clocks == ii ? "exactly I" : steady->clocks < ii ? "faster" : "slower"];
    // The fewest: as fast as it, and none where none is needed.
    const auto few =
        std::get<Program>(program::derive(m.problem, m.schedule, {program::Turns::needed}));
    CHECK(!program::judge(few));
    CHECK(turns_of(few) <= turns_of(p));
    needed += turns_of(few);
    in_need += turns_of(few) > 0 ? 1 : 0;
    const TimedRun fewest = Clock(few, m.problem, m.schedule, n, UnitOrder::arrival).run({});
    const auto fewest_steady = program::steady_state(fewest, program::stage_count(few));
    const Cycle interval = m.schedule.initiation_interval;
    if (steady->clocks <= ii && fewest_steady)
      CHECK(fewest_steady->clocks <= fewest_steady->every * interval);
    else if (steady->clocks <= ii)
      CHECK(fewest.end[110] - fewest.end[10] <= 100 * interval + interval / 10);
    if (turns_of(few) > 0) MESSAGE(m.name << ": " << turns_of(few) << " of " << turns_of(p));
    if (steady->clocks > ii) MESSAGE(m.name << " " << steady->clocks << " / " << steady->every);
  }
  for (const auto& [what, count] : counts) MESSAGE(what << " " << count);
  MESSAGE(waits << " waits, and " << turns << " turns; needed are " << needed << ", by "
                << in_need);
  CHECK(needed > 0);
  CHECK(needed * 4 < turns);
  CHECK(turns > 200);
  // Chunked ops take a unit in turns of their segments, which no wait before an op can say.
  CHECK(counts["slower"] <= 1);
  int made = 0;
  for (std::uint64_t seed = 0; seed < 3000 / test::kShare; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_loop(seed);
    const Solution solution = solve(problem);
    if (!solution.schedule) continue;
    const auto derived = program::derive(problem, *solution.schedule, {program::Turns::all});
    if (!std::holds_alternative<Program>(derived)) continue;
    const Program& p = std::get<Program>(derived);
    ++made;
    const auto fault = program::judge(p);
    if (fault) FAIL_CHECK(fault->rule << ": " << fault->text);
    const auto other = program::compare(p, problem, *solution.schedule);
    if (other) FAIL_CHECK(other->rule << ": " << other->text);
    const std::string late =
        later(p, problem, *solution.schedule,
              Clock(p, problem, *solution.schedule, 12, UnitOrder::schedules).run({}));
    if (!late.empty()) FAIL_CHECK(late);
  }
  CHECK(made > 1000 / test::kShare);
}

TEST_CASE("two ops by hand: queue, delay, hand-over, barrier") {
  // a on w0 takes 3 cycles of a unit, b on w1 2 of its own and 1 to be handed over: I = 3.
  const Problem q = parse_problem(R"({"format": "twill.problem", "version": 2, "name": "two",
    "units": {"A": 1, "B": 1}, "memories": {},
    "warps": [{"name": "w0", "width": 1, "registers": 4}, {"name": "w1", "width": 1, "registers": 4}],
    "ops": [{"id": "a", "kind": "x", "cycles": 3, "reservation": {"A": [[0, 3, 1]]}, "registers": 1, "spill": 1},
            {"id": "b", "kind": "x", "cycles": 2, "reservation": {"B": [[0, 2, 1]]}}],
    "edges": [{"from": "a", "to": "b", "delay": 3, "distance": 0}],
    "pins": [{"op": "a", "warp": "w0"}, {"op": "b", "warp": "w1"}]})");
  const Solution solution = solve(q);
  REQUIRE(solution.schedule);
  CHECK(solution.schedule->initiation_interval == 3);
  const Program p = std::get<Program>(program::derive(q, *solution.schedule));
  const Clock clock(p, q, *solution.schedule, 10, UnitOrder::arrival);
  const TimedRun run = clock.run({});
  CHECK(run.start[10] == 4);      // b[0]: 3 cycles and the hand-over
  CHECK(run.total == 9 * 3 + 6);  // and 2 of its own
  const auto steady = program::steady_state(run, program::stage_count(p));
  REQUIRE(steady);
  CHECK(steady->clocks == 3);
  // The hand-over counts the arrival, not that the wait holds its slot.
  CHECK(clock.run({0, 5}).start[10] == 4);
  CHECK(clock.run({7, 5}).start[10] == 11);  // a has no wait in its first iteration, b has one
  Problem free = q;
  free.ops[0].spill = 0;
  const Solution other = solve(free);
  REQUIRE(other.schedule);
  const Program plain = std::get<Program>(program::derive(free, *other.schedule));
  const Clock arrives(plain, free, *other.schedule, 10, UnitOrder::arrival);
  CHECK(arrives.run({}).start[10] == 3);
  CHECK(arrives.run({0, 5}).start[10] == 8);
  CHECK(arrives.run({7, 5}).start[10] == 15);
}

TEST_CASE("units that slow each other down: by hand") {
  // a takes 10 cycles of A on w0, b 10 of B on w1; neither waits for the other: I = 10.
  const Problem q = parse_problem(R"({"format": "twill.problem", "version": 2, "name": "two",
    "units": {"A": 1, "B": 1}, "memories": {},
    "warps": [{"name": "w0", "width": 1, "registers": 4}, {"name": "w1", "width": 1, "registers": 4}],
    "ops": [{"id": "a", "kind": "x", "cycles": 12, "reservation": {"A": [[0, 10, 1]]}},
            {"id": "b", "kind": "x", "cycles": 4, "reservation": {"B": [[0, 4, 1]]}}],
    "edges": [{"from": "b", "to": "a", "delay": 4, "distance": 1, "blocking": false},
              {"from": "a", "to": "b", "delay": 12, "distance": 1, "blocking": false}],
    "pins": [{"op": "a", "warp": "w0"}, {"op": "b", "warp": "w1"}]})");
  const Solution solution = solve(q);
  REQUIRE(solution.schedule);
  const Program p = std::get<Program>(program::derive(q, *solution.schedule));
  const int n = 2;
  const Clock clock(p, q, *solution.schedule, n, UnitOrder::arrival);
  const auto start = [&](const TimedRun& run, const char* id, int i) {
    for (std::size_t k = 0; k < p.ops.size(); ++k)
      if (p.ops[k].id == id) return run.start[k * n + static_cast<std::size_t>(i)];
    return Cycle{-1};
  };
  const TimedRun alone = program::run_contended(clock, {}, {});
  CHECK(start(alone, "a", 1) == 10);  // A is free again
  CHECK(start(alone, "b", 1) == 12);
  CHECK(alone.total == 22);
  // A at half its pace beside B: a[0] has done 2 of its 10 when b[0] ends after 4, and ends on A at
  // 12, as a whole at 14. Then a[1], beside b[1] from 14 to 18: 2 + 2 in 6 cycles, and 8 more.
  const TimedRun slow = program::run_contended(clock, {}, {{0, 1, 2000}});
  CHECK(start(slow, "a", 1) == 12);
  CHECK(start(slow, "b", 1) == 14);
  CHECK(slow.end[0] == 14);
  CHECK(slow.end[1] == 12 + 2 + 4 + 6 + 2);
  CHECK(slow.slowed[0] == 2);
  // b at a third of its pace beside a, and A as before beside it: b[0] takes 12, so a[0] is at 6
  // when it ends, and takes 4 more.
  const TimedRun both = program::run_contended(clock, {}, {{0, 1, 2000}, {1, 0, 3000}});
  CHECK(start(both, "a", 1) == 16);
  CHECK(both.end[0] == 18);
  CHECK(start(both, "b", 1) == 18);
}

TEST_CASE("units that slow each other down: many at once, and numbers that would not fit") {
  // Of 20 ops at once each makes a hundred times as long what the others do: a hundred times in
  // all.
  Problem q;
  q.name = "many";
  twill::Contention contention;
  constexpr int kMany = 20;
  for (int u = 0; u < kMany; ++u) {
    const std::string name = std::to_string(u);
    q.units.push_back({"U" + name, 1});
    q.warps.push_back({"w" + name, 1, 8, false});
    twill::Op op;
    op.id = "op" + name;
    op.cycles = 5;
    op.reservations.push_back({u, 0, 5, 1});
    q.ops.push_back(op);
    for (int w = 0; w < kMany; ++w)
      if (u != w) contention.push_back({u, w, twill::kMostSlowdown});
  }
  const Solution solution = solve(q);
  REQUIRE(solution.schedule);
  const Program p = std::get<Program>(program::derive(q, *solution.schedule));
  const Clock clock(p, q, *solution.schedule, 3, UnitOrder::arrival);
  const TimedRun run = program::run_contended(clock, {}, contention);
  CHECK(run.total <= 3 * kMany * 5 * 100);
  CHECK(run.total >= 15);
  CHECK(program::can_be_contended(q, 1'000'000));
  q.ops[0].cycles = kMaxCycles;
  CHECK(program::can_be_contended(q, 1'000));
  CHECK_FALSE(program::can_be_contended(q, 1'000'000));
  // A question for so much is refused.
  program::TimeQuestion question;
  question.iterations = 1'000'000;
  question.variation.runs = 0;
  question.contention = contention;
  CHECK_THROWS_AS(program::time_program(p, q, *solution.schedule, question), InputError);
}

TEST_CASE("units that slow each other down: in the schedule's order never faster, all by seed") {
  int slower = 0;
  for (const Made& m : kernels()) {
    CAPTURE(m.name);
    const int n = 12;
    twill::Contention contention;
    for (int u = 0; u < static_cast<int>(m.problem.units.size()); ++u)
      for (int w = 0; w < static_cast<int>(m.problem.units.size()); ++w)
        if (u != w) contention.push_back({u, w, 1100 + 100 * ((u + w) % 5)});
    const Clock clock(m.program, m.problem, m.schedule, n, UnitOrder::schedules);
    const TimedRun alone = program::run_contended(clock, {}, {}),
                   run = program::run_contended(clock, {}, contention);
    for (std::size_t k = 0; k < run.start.size(); ++k) {
      CHECK(run.start[k] >= alone.start[k]);
      CHECK(run.slowed[k] >= 0);
    }
    CHECK(run.total >= alone.total);
    slower += run.total > alone.total ? 1 : 0;
    // No op is ever slower than all factors at once make it.
    CHECK(run.total <= 20 * alone.total);
    CHECK(program::run_contended(clock, {}, contention).start == run.start);
  }
  CHECK(slower > 30);
}

}  // namespace program_time_test
