// With slots and orders fixed, every rule is a set of difference constraints
// M(b) - M(a) >= w + k I, where k is read off the given schedule:
//   rules 1, 7   M(v) - M(u) >= delay (+ spill) - distance I
//   rules 2-4, 6 at the instant b begins, no more copies of a are there than before: with
//                T the begin of b and [S, E) the presence of a,
//                floor((T - S) / I) may not grow:    S - T >= 1 - (floor + 1) I
//                floor((T - E) / I) may not shrink:  T - E >= floor I
//                (sums only grow where something begins, so checking those instants is enough)
//   rule 4       a charged ring keeps its depth k, or has less: every use v of a buffer of load u
//                ends before the load of k iterations later,
//                M(u) - M(v) >= cycles + 1 + (iterations - k) I
//   rule 8       a waiting v and an op o on its slot: M(v) - M(o) >= cycles(o) + k I and
//                M(o) - M(v) >= 1 - (k + 1) I with k = floor((M(v) - M(o)) / I)
//   rule 12      M(v) - M(u) = c, and of two of which one is a part alone on its slot both are as
//                if they waited
// For given I the least solution is a longest path (Bellman 1958, Ford 1956), and it minimises
// every start at once, so the length too; a pinned start begins at its cycle, or the first of its
// stage, and may not be raised beyond it, or the last. All constraints are linear in I, so the I
// that have a solution form an interval, and a positive cycle at I says how far I has to rise for
// that cycle (Burns 1991): from the lower end up, a few cycles lead to the smallest I.
#include "graph/bounds/tighten.hpp"

#include <algorithm>
#include <cassert>
#include <deque>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/bounds/channel_bounds.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/inner_loops.hpp"
#include "graph/longest_paths.hpp"
#include "graph/loop.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"
#include "graph/verify.hpp"

namespace twill {
namespace {

constexpr std::size_t kMany = 1'000;  // segments on one unit, or values in one memory
constexpr int kManyOfOne = 32;        // op's

struct Constraint {  // M(to) - M(from) >= weight + turns * I
  int from, to;
  Cycle weight, turns;
  const std::string* reason;
};

// Something that is present from M(op) + offset on, and its possible ends M(op) + offset.
struct Point {
  int op;
  Cycle offset, ordered_offset, turns = 0;  // the instant is M(op) + offset + turns * I
};
struct Presence {
  Point begin;
  std::vector<Point> ends;  // the end is the largest of them
};

class Decisions {
 public:
  /// `pairs`: every constraint of two presences, and of a wait and what executes. Without it those
  /// that others imply are left out: the same I and starts are allowed, by other cycles.
  Decisions(const Problem& problem, const Problem& ordered, const Schedule& schedule, bool pairs,
            std::function<bool()> stop = {})
      : p_(problem),
        o_(ordered),
        s_(schedule),
        pairs_(pairs),
        stop_(std::move(stop)),
        out_(problem.ops.size()) {
    for (std::size_t e = 0; e < p_.edges.size(); ++e) out_[at(p_.edges[e].from)].push_back(e);
    dependences();
    inner_loops();
    units();
    memories();
    rings();
    registers();
    waits();
    if (!stopped()) sort_constraints();
  }

  bool stopped() const { return stop_ && stop_(); }

  struct Relaxed {
    std::optional<std::vector<Cycle>> start;  ///< the earliest, where there is a solution
    std::vector<const Constraint*> cycle;     ///< else weights that sum to more than 0, or empty
                                              ///< when an op is pinned to too early a start, or
                                              ///< the work was stopped
  };

  Relaxed relax(Cycle ii, bool pinned = true) const {
    std::vector<Cycle> start(p_.ops.size(), 0);
    std::vector<StartRange> ranges;
    if (pinned && anchored(p_)) ranges = pinned_starts(p_, ii);
    for (std::size_t v = 0; v < ranges.size(); ++v) start[v] = ranges[v].first;
    std::vector<PathArc<Cycle>> arcs;
    arcs.reserve(constraints_.size());
    for (const Constraint& c : constraints_)
      arcs.push_back({c.from, c.to, c.weight + c.turns * ii});
    LongestPaths<Cycle> paths(std::move(arcs), std::move(start), kUnreachable);
    const auto late = [&] {
      for (std::size_t v = 0; v < ranges.size(); ++v)
        if (paths.values()[v] > ranges[v].last) return true;
      return false;
    };
    if (late()) return {};  // pinned to a cycle and to another stage
    while (paths.pass()) {
      if (late() || stopped()) return {};
      const std::vector<int> cycle = paths.cycle();
      if (cycle.empty()) continue;
      Relaxed none;
      for (const int c : cycle) none.cycle.push_back(&constraints_[static_cast<std::size_t>(c)]);
      return none;
    }
    return {std::move(paths.values()), {}};
  }

 private:
  // Of constraints that differ in weight only the largest counts. They are taken in the order of
  // the schedule, in which most starts are final after one round.
  void sort_constraints() {
    const auto key = [&](const Constraint& c) {
      return std::tuple(s_.start[static_cast<std::size_t>(c.from)], c.from, c.to, c.turns,
                        -c.weight);
    };
    std::stable_sort(constraints_.begin(), constraints_.end(),
                     [&](const Constraint& a, const Constraint& b) { return key(a) < key(b); });
    const auto same = [](const Constraint& a, const Constraint& b) {
      return a.from == b.from && a.to == b.to && a.turns == b.turns;
    };
    constraints_.erase(std::unique(constraints_.begin(), constraints_.end(), same),
                       constraints_.end());
  }

  Cycle instant(const Point& x) const {
    return s_.start[static_cast<std::size_t>(x.op)] + x.ordered_offset +
           x.turns * s_.initiation_interval;
  }
  Cycle turns_between(const Point& a, const Point& b) const {  // floor((b - a) / I)
    return floor_divide(instant(b) - instant(a), s_.initiation_interval);
  }
  void after(const Point& a, const Point& b, Cycle gap, Cycle turns) {  // b - a >= gap + turns * I
    constraints_.push_back(
        {a.op, b.op, gap + a.offset - b.offset, turns + a.turns - b.turns, reason_});
  }

  // At the instant b begins there are no more copies of a than in the given schedule.
  void no_more_at(const Presence& a, const Point& b, bool same) {
    if (!same) begins_before(b, a.begin);
    stays_ended(a, b);
  }
  // The copies of a that begin after b go on to.
  void begins_before(const Point& b, const Point& a) { after(b, a, 1, -(turns_between(a, b) + 1)); }
  // Those that have ended before b begins have so.
  void stays_ended(const Presence& a, const Point& b) {
    Cycle turns = turns_between(a.ends.front(), b);
    for (const Point& end : a.ends) turns = std::min(turns, turns_between(end, b));
    for (const Point& end : a.ends) after(end, b, 0, turns);
  }
  void keep_counts(const std::vector<Presence>& all) {
    std::vector<int> count(p_.ops.size(), 0);
    if (all.size() > kMany)
      for (const Presence& x : all) ++count[static_cast<std::size_t>(x.begin.op)];
    const auto many = [&](const Presence& x) {
      return count[static_cast<std::size_t>(x.begin.op)] > kManyOfOne;
    };
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!many(all[i])) others.push_back(i);
    if (!pairs_ && others.size() == all.size()) return keep_order(all);
    std::vector<int> fixed;  // ops with so many that they are not compared one by one
    for (std::size_t i = 0; i < all.size() && !stopped(); ++i) {
      if (many(all[i]) && (fixed.empty() || fixed.back() != all[i].begin.op))
        fixed.push_back(all[i].begin.op);
      if (!many(all[i])) {
        for (std::size_t j = 0; j < all.size(); ++j) no_more_at(all[i], all[j].begin, i == j);
        continue;
      }
      no_more_at(all[i], all[i].begin, true);
      for (const std::size_t j : others) no_more_at(all[i], all[j].begin, false);
    }
    // Where I and the distances between them stay, so do the copies.
    const Cycle ii = s_.initiation_interval;
    for (const int op : fixed) {
      const Cycle apart = s_.start[static_cast<std::size_t>(op)] -
                          s_.start[static_cast<std::size_t>(fixed.front())];
      constraints_.push_back({op, op, ii, -1, reason_});
      constraints_.push_back({op, op, -ii, 1, reason_});
      constraints_.push_back({fixed.front(), op, apart, 0, reason_});
      constraints_.push_back({op, fixed.front(), -apart, 0, reason_});
    }
  }

  // The same, without what follows. Begins that are at different residues stay in their order,
  // a cycle apart at least: so each is compared with the next ones alone, once round. What begins
  // after an end need not be compared with it but where it is the first to.
  void keep_order(const std::vector<Presence>& all) {
    struct Begin {
      Cycle residue;
      std::size_t index;
    };
    const Cycle ii = s_.initiation_interval;
    std::vector<Begin> begins;
    for (std::size_t i = 0; i < all.size(); ++i)
      begins.push_back({mod(instant(all[i].begin), ii), i});
    const auto sooner = [](const Begin& a, const Begin& b) { return a.residue < b.residue; };
    std::stable_sort(begins.begin(), begins.end(), sooner);
    const std::size_t n = begins.size();
    const auto group_end = [&](std::size_t i) {  // of those at one residue
      std::size_t end = i;
      while (end < n && begins[end].residue == begins[i].residue) ++end;
      return end;
    };
    for (std::size_t i = 0; i < n && !stopped();) {
      const std::size_t end = group_end(i), next = end == n ? 0 : end;
      for (; i < end; ++i)
        for (std::size_t j = next; j < group_end(next); ++j)
          begins_before(all[begins[i].index].begin, all[begins[j].index].begin);
    }
    for (const Presence& one : all) {
      Cycle end = instant(one.ends.front());
      for (const Point& point : one.ends) end = std::max(end, instant(point));
      auto first = std::lower_bound(begins.begin(), begins.end(), Begin{mod(end, ii), 0}, sooner);
      if (first == begins.end()) first = begins.begin();
      const Cycle residue = first->residue;
      for (; first != begins.end() && first->residue == residue; ++first)
        stays_ended(one, all[first->index].begin);
    }
  }

  void because(std::string reason) {
    reasons_.push_back(std::move(reason));
    reason_ = &reasons_.back();
  }

  void dependences() {
    for (const Edge& e : p_.edges) {
      const bool cross =
          s_.warp[static_cast<std::size_t>(e.from)] != s_.warp[static_cast<std::size_t>(e.to)];
      const Cycle spill = cross ? spill_of(p_, e) : 0;
      because(spill > 0 ? "hand-over to another slot" : "dependence");
      constraints_.push_back({e.from, e.to, e.delay + spill, -e.distance, reason_});
    }
  }

  void inner_loops() {
    for (const FixedDistance& d : fixed_distances(p_)) {
      because(fixed_distance_text(p_, d));
      constraints_.push_back({d.earlier, d.later, d.cycles, 0, reason_});
      constraints_.push_back({d.later, d.earlier, -d.cycles, 0, reason_});
    }
  }

  void units() {
    for (int unit = 0; unit < static_cast<int>(p_.units.size()); ++unit) {
      because("unit " + p_.units[static_cast<std::size_t>(unit)].name);
      std::vector<Presence> all;
      for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
        for (std::size_t i = 0; i < p_.ops[static_cast<std::size_t>(v)].reservations.size(); ++i) {
          const Reservation& real = p_.ops[static_cast<std::size_t>(v)].reservations[i];
          const Reservation& seen = o_.ops[static_cast<std::size_t>(v)].reservations[i];
          if (real.unit != unit) continue;
          all.push_back({{v, real.offset, seen.offset},
                         {{v, real.offset + real.length, seen.offset + seen.length}}});
        }
      keep_counts(all);
    }
  }

  Presence value(int u) const {
    Presence presence{{u, 0, 0}, {}};
    for (const std::size_t i : out_[at(u)])
      presence.ends.push_back(
          {p_.edges[i].to, p_.edges[i].hold, o_.edges[i].hold, p_.edges[i].distance});
    return presence;
  }

  void memories() {
    for (int memory = 0; memory < static_cast<int>(p_.memories.size()); ++memory) {
      because("memory " + p_.memories[static_cast<std::size_t>(memory)].name);
      std::vector<Presence> all;
      const std::vector<Amount> live = memory_charges(p_, memory).live;
      for (int u = 0; u < static_cast<int>(p_.ops.size()); ++u)
        if (live[static_cast<std::size_t>(u)] > 0) all.push_back(value(u));
      std::erase_if(all, [](const Presence& x) { return x.ends.empty(); });
      keep_counts(all);
    }
  }

  void rings() {
    for (const int u : charged_loads(p_)) {
      because("ring of " + p_.ops[static_cast<std::size_t>(u)].id);
      const Cycle depth = ring_depth(o_, s_, u);
      for (const BufferUse& use : buffer_uses(p_, u))
        constraints_.push_back({use.op, u, use.cycles + 1, use.iterations - depth, reason_});
    }
  }

  void registers() {
    for (int w = 0; w < static_cast<int>(p_.warps.size()); ++w) {
      because("registers of " + p_.warps[static_cast<std::size_t>(w)].name);
      std::vector<Presence> all;
      for (int u = 0; u < static_cast<int>(p_.ops.size()); ++u)
        if (p_.ops[static_cast<std::size_t>(u)].registers > 0 &&
            s_.warp[static_cast<std::size_t>(u)] == w)
          all.push_back(value(u));
      std::erase_if(all, [](const Presence& x) { return x.ends.empty(); });
      keep_counts(all);
    }
  }

  void waits() {
    const std::vector<int> loop_of = inner_loop_of(p_);
    std::vector<bool> waits(p_.ops.size(), false);
    for (const Edge& e : p_.edges)
      if (may_wait(p_, loop_of, e) &&
          (e.blocking || (spill_of(p_, e) > 0 && s_.warp[at(e.from)] != s_.warp[at(e.to)])))
        waits[at(e.to)] = true;
    if (!pairs_ && p_.inner_loops.empty()) return waits_in_order(waits);
    for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {
      because("wait of " + p_.ops[at(v)].id);
      if (exempt_from_concurrency(p_, v)) continue;
      if (stopped()) return;
      for (int o = 0; o < static_cast<int>(p_.ops.size()); ++o) {
        const Cycle cycles = p_.ops[at(o)].cycles;
        if (o == v || cycles == 0 || s_.warp[at(o)] != s_.warp[at(v)]) continue;
        const bool alone = p_.ops[at(v)].cycles > 0 && (loop_of[at(v)] >= 0 || loop_of[at(o)] >= 0);
        if (!waits[at(v)] && !alone) continue;
        wait_after(v, o);
        wait_before(v, o);
      }
      // The code of an inner loop runs once at a time.
      if (loop_of[at(v)] >= 0) after({v, 0, 0}, {v, 0, 0, 1}, p_.ops[at(v)].cycles, 0);
    }
  }

  // The issue of v comes after this copy of o has ended, and before the next one begins.
  void wait_after(int v, int o) {
    const Point waiter{v, 0, 0}, other{o, 0, 0};
    after(other, waiter, p_.ops[at(o)].cycles, turns_between(other, waiter));
  }
  void wait_before(int v, int o) {
    const Point waiter{v, 0, 0}, other{o, 0, 0};
    after(waiter, other, 1, -(turns_between(other, waiter) + 1));
  }

  // Of a slot the ops that wait and execute exclude each other, so that they stay in their order:
  // what executes is compared with the wait before it and with that behind it alone.
  void waits_in_order(const std::vector<bool>& waits) {
    const Cycle ii = s_.initiation_interval;
    const auto residue = [&](int v) { return mod(s_.start[at(v)], ii); };
    const auto sooner = [&](int a, int b) { return residue(a) < residue(b); };
    because("waits");
    for (std::size_t w = 0; w < p_.warps.size() && !stopped(); ++w) {
      std::vector<int> executing, in_turn, instants;
      for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v) {  // those of no cycles: instants
        if (at(s_.warp[at(v)]) != w) continue;
        const bool executes = p_.ops[at(v)].cycles > 0;
        if (executes) executing.push_back(v);
        if (waits[at(v)] && !exempt_from_concurrency(p_, v))
          (executes ? in_turn : instants).push_back(v);
      }
      std::stable_sort(executing.begin(), executing.end(), sooner);
      std::stable_sort(in_turn.begin(), in_turn.end(), sooner);
      // (With fewer cycles, in the problem that the schedule is one of, two may begin at once.)
      const auto is_tie = [&](int a, int b) {
        return residue(a) == residue(b) && (waits[at(a)] || waits[at(b)]);
      };
      if (std::adjacent_find(executing.begin(), executing.end(), is_tie) != executing.end()) {
        instants.insert(instants.end(), in_turn.begin(), in_turn.end());
        in_turn.clear();
      }
      for (const int v : instants)
        for (const int o : executing) {
          if (o == v) continue;
          wait_after(v, o);
          wait_before(v, o);
        }
      for (std::size_t i = 0; i < executing.size() && !in_turn.empty(); ++i) {
        const int o = executing[i];
        const auto behind = std::upper_bound(in_turn.begin(), in_turn.end(), o, sooner);
        const auto before = std::lower_bound(in_turn.begin(), in_turn.end(), o, sooner);
        const int next = behind == in_turn.end() ? in_turn.front() : *behind;
        const int last = before == in_turn.begin() ? in_turn.back() : *(before - 1);
        if (next != o) wait_after(next, o);
        if (last != o) wait_before(last, o);
      }
    }
  }

  const Problem& p_;
  const Problem& o_;
  const Schedule& s_;
  const bool pairs_;
  const std::function<bool()> stop_;
  std::vector<std::vector<std::size_t>> out_;  // edges by op
  std::vector<Constraint> constraints_;
  std::deque<std::string> reasons_;  // addresses stay
  const std::string* reason_ = nullptr;
};

// The least I at which a cycle that is positive at a smaller I, though not at every I, is not.
Cycle least_interval(const std::vector<const Constraint*>& cycle) {
  Cycle weight = 0, turns = 0;
  for (const Constraint* c : cycle) {
    weight += c->weight;
    turns += c->turns;
  }
  return ceil_divide(weight, -turns);
}

}  // namespace

std::optional<Schedule> tighten(const Problem& problem, const Problem& ordered,
                                const Schedule& schedule, Cycle low, Cycle high,
                                const std::function<bool()>& stop) {
  assert(!verify(ordered, schedule));
  assert(low >= 1);
  assert(monotone_in_ii(problem) || low == high ||
         (high <= schedule.initiation_interval && ordered == problem));
  const Decisions decisions(problem, ordered, schedule, false, stop);
  if (decisions.stopped()) return std::nullopt;  // not all constraints are there
  low = std::max(low, least_by_channels(problem));
  if (low > high) return std::nullopt;
  auto start = decisions.relax(high).start;
  if (!start) return std::nullopt;
  while (low < high && !decisions.stopped()) {
    auto [earlier, cycle] = decisions.relax(low);
    if (earlier) {
      high = low;
      start = std::move(earlier);
    } else if (!cycle.empty()) {
      low = least_interval(cycle);
    } else {  // a pinned op is late: here only halving helps
      const Cycle middle = low + (high - low) / 2;
      earlier = decisions.relax(middle).start;
      (earlier ? high : low) = earlier ? middle : middle + 1;
      if (earlier) start = std::move(earlier);
    }
  }
  Schedule best{high, 0, *std::move(start), schedule.warp};
  best.length = schedule_length(problem, best.start);
  return best;
}

std::optional<CriticalRecurrence> critical_recurrence(const Problem& problem,
                                                      const Schedule& schedule) {
  assert(!verify(problem, schedule));
  const Decisions decisions(problem, problem, schedule, true);
  // Cycle by cycle, the least I that it allows; what the last one allows, all do.
  std::vector<const Constraint*> critical;
  Cycle ii = 1;
  for (;;) {
    auto cycle = decisions.relax(ii, false).cycle;
    if (cycle.empty()) break;
    ii = least_interval(cycle);
    critical = std::move(cycle);
  }
  if (critical.empty()) return std::nullopt;
  CriticalRecurrence recurrence{ii, 0, 0, {}};
  for (const Constraint* c : critical) {
    recurrence.steps.push_back({c->from, c->to, c->weight, *c->reason});
    recurrence.cycles += c->weight;
    recurrence.iterations -= c->turns;
  }
  return recurrence;
}

}  // namespace twill
