// Each function below says up to which I its reason holds, so that no I is looked at alone.
#include "engine/certificate/pinned_intervals.hpp"

#include <algorithm>
#include <vector>

#include "graph/index.hpp"
#include "graph/memory_charges.hpp"

namespace twill {
namespace {

// start(to) >= start(from) + weight + turns I; node 0 is cycle 0.
struct Constraint {
  std::size_t from = 0, to = 0;
  Wide weight = 0, turns = 0;
};

// As many copies of a result as fit, at once, where it takes most room: nobody holds more.
Wide copies_that_fit(const Problem& p, const Forced& forced, std::size_t v) {
  Wide most = Wide{1} << 100;
  if (const Amount each = p.ops[v].registers; each > 0) {
    Amount room = 0;
    for (const int w : forced.slots[v]) room = std::max(room, p.warps[at(w)].registers);
    most = std::min<Wide>(most, room / each);
  }
  for (int m = 0; m < static_cast<int>(p.memories.size()); ++m)
    if (const Amount each = memory_charges(p, m).live[v]; each > 0)
      most = std::min<Wide>(most, p.memories[at(m)].capacity / each);
  return most;
}

std::vector<Constraint> constraints(const Problem& p, const Forced& forced) {
  std::vector<Constraint> all;
  std::vector<Wide> fit;
  for (std::size_t v = 0; v < p.ops.size(); ++v) {
    all.push_back({0, v + 1, 0, 0});
    fit.push_back(copies_that_fit(p, forced, v));
  }
  for (std::size_t e = 0; e < p.edges.size(); ++e) {
    const Edge& edge = p.edges[e];
    const std::size_t from = at(edge.from) + 1, to = at(edge.to) + 1;
    all.push_back({from, to, forced.delay[e], -Wide{edge.distance}});
    // A result that is live for more than k I cycles has more than k copies.
    if (const Wide most = fit[at(edge.from)]; most < Wide{1} << 60)
      all.push_back({to, from, edge.hold, edge.distance - most});
  }
  for (const Pin& pin : p.pins)
    if (pin.kind == Pin::at_cycle) {
      all.push_back({0, at(pin.op) + 1, pin.cycle, 0});
      all.push_back({at(pin.op) + 1, 0, -Wide{pin.cycle}, 0});
    } else if (pin.kind == Pin::at_stage) {
      all.push_back({0, at(pin.op) + 1, 0, pin.stage});
      all.push_back({at(pin.op) + 1, 0, 1, -Wide{pin.stage} - 1});
    }
  return all;
}

// The last I from `ii` on that a cycle of constraints refutes, `last` or more if all are; less than
// `ii` where none gains time there.
Wide refuted_by_starts(const std::vector<Constraint>& all, std::size_t nodes, Cycle ii,
                       Cycle last) {
  std::vector<Wide> value(nodes, 0);
  std::vector<const Constraint*> by(nodes, nullptr);
  bool changed = true;
  for (std::size_t round = 0; round <= nodes && changed; ++round) {
    changed = false;
    for (const Constraint& c : all) {
      const Wide reached = value[c.from] + c.weight + c.turns * ii;
      if (reached <= value[c.to]) continue;
      value[c.to] = reached;
      by[c.to] = &c;
      changed = true;
    }
  }
  if (!changed) return ii - 1;
  // Raised once more than there are nodes: some cycle among the last raises gains time.
  for (std::size_t start = 0; start < nodes; ++start) {
    std::size_t node = start, steps = 0;
    while (by[node] != nullptr && steps++ <= nodes) node = by[node]->from;
    if (by[node] == nullptr) continue;
    Wide weight = 0, turns = 0;
    std::size_t on = node;
    do {
      weight += by[on]->weight;
      turns += by[on]->turns;
      on = by[on]->from;
    } while (on != node);
    if (weight + turns * ii <= 0) continue;
    return turns >= 0 ? Wide{last} : (weight - 1) / -turns;  // while weight + turns I >= 1
  }
  return ii - 1;
}

struct Segment {
  int unit = 0;
  Wide begin = 0, length = 0;
  Amount amount = 0;
};

// The same of two segments, the first of which begins no later; `one` = they are the same.
Wide refuted_by_two(const Segment& a, const Segment& b, bool one, Cycle ii, Cycle last) {
  const Wide apart = b.begin - a.begin;
  // So many turns later the first still runs, or has not begun, when the second begins: the least.
  Wide turns = apart < a.length ? 0 : (apart - a.length) / ii + 1;
  if (one) turns = 1;
  const Wide distance = apart - turns * ii;  // of the second from the first
  if (distance >= a.length || distance <= -b.length) return ii - 1;
  return turns == 0 ? Wide{last} : (apart + b.length - 1) / turns;
}

Wide refuted_by_segments(const Problem& p, Cycle ii, Cycle last) {
  std::vector<std::vector<Segment>> groups(1);  // the first: of all that is pinned to cycles
  for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
    const auto pin = std::find_if(p.pins.begin(), p.pins.end(), [&](const Pin& one) {
      return one.kind == Pin::at_cycle && one.op == v;
    });
    if (pin == p.pins.end()) groups.emplace_back();
    std::vector<Segment>& group = pin == p.pins.end() ? groups.back() : groups.front();
    const Wide start = pin == p.pins.end() ? 0 : pin->cycle;
    for (const Reservation& r : p.ops[at(v)].reservations)
      group.push_back({r.unit, start + r.offset, r.length, r.amount});
  }
  Wide most = ii - 1;
  for (const std::vector<Segment>& group : groups)
    for (std::size_t i = 0; i < group.size(); ++i)
      for (std::size_t j = 0; j < group.size(); ++j) {
        const Segment &a = group[i], &b = group[j];
        if (a.unit != b.unit || a.begin > b.begin ||
            Wide{a.amount} + b.amount <= p.units[at(a.unit)].capacity)
          continue;
        most = std::max(most, refuted_by_two(a, b, i == j, ii, last));
      }
  return most;
}

}  // namespace

bool starts_exclude(const Problem& problem, const Forced& forced, Cycle ii, Cycle length) {
  const std::vector<Constraint> all = constraints(problem, forced);
  // Least starts, from cycle 0 on: in as many rounds as there are nodes, or a cycle gains time.
  std::vector<Wide> least(problem.ops.size() + 1, 0);
  for (std::size_t round = 0; round <= least.size(); ++round) {
    const std::vector<Wide> before = least;
    for (const Constraint& c : all)
      least[c.to] = std::max(least[c.to], least[c.from] + c.weight + c.turns * ii);
    if (least[0] > 0) return true;
    for (std::size_t v = 0; v < problem.ops.size(); ++v)
      if (least[v + 1] + problem.ops[v].cycles > length) return true;
    if (least == before) return false;
  }
  return true;
}

bool pins_exclude(const Problem& problem, const Forced& forced, Cycle last) {
  const std::vector<Constraint> all = constraints(problem, forced);
  for (Cycle ii = 1; ii <= last;) {
    Wide refuted = refuted_by_starts(all, problem.ops.size() + 1, ii, last);
    if (refuted < ii) refuted = refuted_by_segments(problem, ii, last);
    if (refuted < ii) return false;
    ii = static_cast<Cycle>(std::min<Wide>(refuted, last)) + 1;
  }
  return true;
}

}  // namespace twill
