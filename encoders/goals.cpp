// Rings: a load's buffers in flight are at most k when every use ends before the load is issued k
// iterations later, a dependence with delay that keeps nothing alive (dependence.cpp and
// order/dependence.cpp encode it).
//
// Slots in use: used[w] is implied by slot[v][w] for every op v, one variable a slot, n clauses a
// slot, then a cardinality constraint. Hand-overs: a cardinality constraint over cross[e] of the
// edges that cost a spill; crossings: over all. Issuers: issues[u][w] is implied by slot[v][w] for
// every op v with a reservation on unit u. The literals are one-sided, which is all that an upper
// bound needs.
#include "encoders/goals.hpp"

#include <algorithm>
#include <set>

#include "graph/divide.hpp"
#include "graph/error.hpp"
#include "graph/lifetime.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"

namespace twill {
namespace {

bool costs_spill(const Problem& problem, const Edge& edge) {
  return edge.from != edge.to && problem.ops[static_cast<std::size_t>(edge.from)].spill > 0;
}

bool reserves(const Op& op, int unit) {
  return std::any_of(op.reservations.begin(), op.reservations.end(),
                     [&](const Reservation& r) { return r.unit == unit; });
}

// Slots that have an op on `unit`.
std::int64_t issuers(const Problem& problem, const Schedule& schedule, int unit) {
  std::set<int> slots;
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    if (reserves(problem.ops[v], unit)) slots.insert(schedule.warp[v]);
  return static_cast<std::int64_t>(slots.size());
}

// The fullest moment, where amounts[v] is what a live copy of v's result takes.
std::int64_t peak(const Problem& problem, const Schedule& s, const std::vector<Amount>& amounts) {
  const Cycle ii = s.initiation_interval;
  std::vector<Cycle> end = s.start;
  for (const Edge& e : problem.edges) {
    Cycle& last = end[static_cast<std::size_t>(e.from)];
    last = std::max(last, s.start[static_cast<std::size_t>(e.to)] + e.distance * ii + e.hold);
  }
  std::int64_t most = 0;  // a sum grows only where a value begins
  for (const Cycle moment : s.start) {
    std::int64_t sum = 0;
    for (std::size_t v = 0; v < amounts.size(); ++v)
      if (end[v] > s.start[v])
        sum += amounts[v] *
               (floor_divide(moment - s.start[v], ii) - floor_divide(moment - end[v], ii));
    most = std::max(most, sum);
  }
  return most;
}

std::int64_t slot_registers(const Problem& problem, const Schedule& schedule, int slot) {
  std::vector<Amount> amounts(problem.ops.size(), 0);
  for (std::size_t v = 0; v < amounts.size(); ++v)
    if (schedule.warp[v] == slot) amounts[v] = problem.ops[v].registers;
  return peak(problem, schedule, amounts);
}

// At most `most` buffers: every use ends before the load is issued `most` iterations later.
void limit_ring(const Problem& problem, int u, std::int64_t most, PlacementLimits& limits) {
  if (most > kMaxDistance) return;  // as good as none: pursue_goals() does not ask
  for (const BufferUse& use : buffer_uses(problem, u))
    limits.precedences.push_back(
        {use.op, u, static_cast<int>(most) - use.iterations, use.cycles + 1});
}

}  // namespace

std::string ring_text(const Problem& problem, const Precedence& precedence) {
  return "ring of " + problem.ops[static_cast<std::size_t>(precedence.to)].id + ", used by " +
         problem.ops[static_cast<std::size_t>(precedence.from)].id;
}

std::string latest_text(const Problem& problem, const std::pair<int, Cycle>& latest) {
  return "start of " + problem.ops[static_cast<std::size_t>(latest.first)].id + " at most " +
         std::to_string(latest.second);
}

std::vector<std::string> listed_goals(const Problem& problem,
                                      const std::vector<std::string>& names) {
  std::vector<std::string> listed = names;
  const bool canonical = !names.empty() && names.back() == "canonical";
  if (canonical) listed.pop_back();
  for (const std::string& name : listed) {
    if (name == "canonical")
      throw InputError("options", "--goals", name, "must be the last goal: it leaves no ties");
    parse_goal(problem, name);
  }
  for (std::size_t v = 0; canonical && v < problem.ops.size(); ++v) {
    listed.push_back("start:" + problem.ops[v].id);
    listed.push_back("slot:" + problem.ops[v].id);
  }
  return listed;
}

GoalMeasure parse_goal(const Problem& problem, const std::string& name) {
  std::string known = "slots, handovers, crossings, registers, rings, issuers, lifetime";
  if (name == "slots") return {GoalMeasure::slots, -1};
  if (name == "handovers") return {GoalMeasure::handovers, -1};
  if (name == "crossings") return {GoalMeasure::crossings, -1};
  if (name == "registers") return {GoalMeasure::registers, -1};
  if (name == "rings") return {GoalMeasure::rings, -1};
  if (name == "issuers") return {GoalMeasure::issuers, -1};
  if (name == "lifetime") return {GoalMeasure::lifetime, -1};
  for (std::size_t u = 0; u < problem.units.size(); ++u) {
    const std::string own = "issuers:" + problem.units[u].name;
    if (name == own) return {GoalMeasure::unit_issuers, static_cast<int>(u)};
    known += ", " + own;
  }
  for (std::size_t w = 0; w < problem.warps.size(); ++w) {
    const std::string own = "registers:" + problem.warps[w].name;
    if (name == own) return {GoalMeasure::slot_registers, static_cast<int>(w)};
    known += ", " + own;
  }
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    const std::string own = "memory:" + problem.memories[m].name;
    if (name == own) return {GoalMeasure::memory, static_cast<int>(m)};
    known += ", " + own;
  }
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    if (!problem.ops[v].streaming) continue;
    const std::string own = "ring:" + problem.ops[v].id;
    if (name == own) return {GoalMeasure::ring, static_cast<int>(v)};
    known += ", " + own;
  }
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    if (name == "start:" + problem.ops[v].id) return {GoalMeasure::start, static_cast<int>(v)};
    if (name == "slot:" + problem.ops[v].id) return {GoalMeasure::slot, static_cast<int>(v)};
  }
  throw InputError("options", "--goals", name,
                   "must be one of " + known + ", start:OP, slot:OP, canonical");
}

std::int64_t least_goal_value(const Problem& problem, const GoalMeasure& goal) {
  const auto streaming = [](const Op& op) { return op.streaming; };
  const bool loads = std::any_of(problem.ops.begin(), problem.ops.end(), streaming);
  if (goal.kind == GoalMeasure::rings) return loads ? 1 : 0;
  if (goal.kind == GoalMeasure::lifetime) return least_total_lifetime(problem);
  if (goal.kind == GoalMeasure::slot) {
    const std::vector<int> slots = allowed_slots(problem, goal.index);
    return slots.empty() ? 0 : slots.front();
  }
  const auto busy = [&](std::size_t u) {
    return std::any_of(problem.ops.begin(), problem.ops.end(),
                       [&](const Op& op) { return reserves(op, static_cast<int>(u)); });
  };
  if (goal.kind == GoalMeasure::unit_issuers)
    return busy(static_cast<std::size_t>(goal.index)) ? 1 : 0;
  if (goal.kind == GoalMeasure::issuers) {
    std::int64_t units = 0;
    for (std::size_t u = 0; u < problem.units.size(); ++u) units += busy(u) ? 1 : 0;
    return units;
  }
  return goal.kind == GoalMeasure::slots || goal.kind == GoalMeasure::ring ? 1 : 0;
}

std::int64_t goal_value(const Problem& problem, const Schedule& schedule, const GoalMeasure& goal) {
  switch (goal.kind) {
    case GoalMeasure::slots: {
      std::vector<int> used = schedule.warp;
      std::sort(used.begin(), used.end());
      return std::unique(used.begin(), used.end()) - used.begin();
    }
    case GoalMeasure::handovers:
    case GoalMeasure::crossings:
      return std::count_if(problem.edges.begin(), problem.edges.end(), [&](const Edge& e) {
        return (goal.kind == GoalMeasure::crossings || costs_spill(problem, e)) &&
               schedule.warp[static_cast<std::size_t>(e.from)] !=
                   schedule.warp[static_cast<std::size_t>(e.to)];
      });
    case GoalMeasure::unit_issuers: return issuers(problem, schedule, goal.index);
    case GoalMeasure::issuers: {
      std::int64_t pairs = 0;
      for (std::size_t u = 0; u < problem.units.size(); ++u)
        pairs += issuers(problem, schedule, static_cast<int>(u));
      return pairs;
    }
    case GoalMeasure::registers: {
      std::int64_t most = 0;
      for (std::size_t w = 0; w < problem.warps.size(); ++w)
        most = std::max(most, slot_registers(problem, schedule, static_cast<int>(w)));
      return most;
    }
    case GoalMeasure::slot_registers: return slot_registers(problem, schedule, goal.index);
    case GoalMeasure::ring: return ring_depth(problem, schedule, goal.index);
    case GoalMeasure::lifetime: return total_lifetime(problem, schedule);
    case GoalMeasure::start: return schedule.start[static_cast<std::size_t>(goal.index)];
    case GoalMeasure::slot: return schedule.warp[static_cast<std::size_t>(goal.index)];
    case GoalMeasure::rings: {
      std::int64_t most = 0;
      for (const auto& [load, depth] : ring_depths(problem, schedule)) most = std::max(most, depth);
      return most;
    }
    default: {
      const MemoryCharges charges = memory_charges(problem, goal.index);
      std::int64_t rings = 0;
      for (int u = 0; u < static_cast<int>(problem.ops.size()); ++u)
        if (const Amount buffer = charges.ring[static_cast<std::size_t>(u)]; buffer > 0)
          rings += buffer * ring_depth(problem, schedule, u);
      return rings + peak(problem, schedule, charges.live);
    }
  }
}

LimitedProblem limited(const Problem& problem, const GoalLimits& limits) {
  LimitedProblem result{problem, {}};
  const auto lower = [](auto& value, std::int64_t most) {
    if (value < 0 || value > most) value = most;
  };
  for (const auto& [name, most] : limits) {
    const GoalMeasure goal = parse_goal(problem, name);
    switch (goal.kind) {
      case GoalMeasure::slots: lower(result.placement.slots, most); break;
      case GoalMeasure::handovers: lower(result.placement.handovers, most); break;
      case GoalMeasure::crossings: lower(result.placement.crossings, most); break;
      case GoalMeasure::issuers: lower(result.placement.issuers, most); break;
      case GoalMeasure::unit_issuers:
        result.placement.unit_issuers.emplace_back(goal.index, most);
        break;
      case GoalMeasure::ring: limit_ring(problem, goal.index, most, result.placement); break;
      case GoalMeasure::rings:
        for (std::size_t u = 0; u < problem.ops.size(); ++u)
          if (problem.ops[u].streaming)
            limit_ring(problem, static_cast<int>(u), most, result.placement);
        break;
      case GoalMeasure::lifetime: lower(result.placement.lifetime, most); break;
      case GoalMeasure::start: result.placement.latest.emplace_back(goal.index, most); break;
      case GoalMeasure::slot:
        for (const int w : allowed_slots(problem, goal.index))
          if (w > most) result.problem.pins.push_back({Pin::not_on_slot, goal.index, w, -1, -1});
        break;
      case GoalMeasure::registers:
        for (WarpSlot& slot : result.problem.warps) lower(slot.registers, most);
        break;
      case GoalMeasure::slot_registers:
        lower(result.problem.warps[static_cast<std::size_t>(goal.index)].registers, most);
        break;
      case GoalMeasure::memory:
        lower(result.problem.memories[static_cast<std::size_t>(goal.index)].capacity, most);
        break;
    }
  }
  return result;
}

namespace {

// issues[w] is implied by an op with a reservation on `unit` that is on slot w.
void append_issuers(PlacementModel& m, int unit, std::vector<Lit>& issues) {
  for (int w = 0; w < static_cast<int>(m.problem.warps.size()); ++w) {
    issues.push_back(m.f.fresh());
    for (int v = 0; v < static_cast<int>(m.problem.ops.size()); ++v)
      if (reserves(m.problem.ops[static_cast<std::size_t>(v)], unit))
        m.f.implies(m.on(v, w), issues.back());
  }
}

void encode_issuer_limits(PlacementModel& m) {
  const PlacementLimits& limits = m.placement.limits;
  if (limits.issuers >= 0) {
    const auto group =
        m.groups.open("at most " + std::to_string(limits.issuers) + " pairs of unit and slot");
    std::vector<Lit> issues;
    for (int u = 0; u < static_cast<int>(m.problem.units.size()); ++u) append_issuers(m, u, issues);
    at_most(m.f, m.choice, issues, limits.issuers);
  }
  for (const auto& [unit, most] : limits.unit_issuers) {
    const auto group = m.groups.open("at most " + std::to_string(most) + " slots with ops on " +
                                     m.problem.units[static_cast<std::size_t>(unit)].name);
    std::vector<Lit> issues;
    append_issuers(m, unit, issues);
    at_most(m.f, m.choice, issues, most);
  }
}

}  // namespace

void encode_placement_limits(PlacementModel& m) {
  const PlacementLimits& limits = m.placement.limits;
  if (limits.slots >= 0) {
    const auto group = m.groups.open("at most " + std::to_string(limits.slots) + " slots in use");
    std::vector<Lit> used;
    for (int w = 0; w < static_cast<int>(m.problem.warps.size()); ++w) {
      used.push_back(m.f.fresh());
      for (int v = 0; v < static_cast<int>(m.problem.ops.size()); ++v)
        m.f.implies(m.on(v, w), used.back());
    }
    at_most(m.f, m.choice, used, limits.slots);
  }
  const auto limit_crossing = [&](std::int64_t most, bool spills_only, const char* what) {
    if (most < 0) return;
    const auto group = m.groups.open("at most " + std::to_string(most) + what);
    std::vector<Lit> crossing;
    for (std::size_t e = 0; e < m.problem.edges.size(); ++e)
      if (!spills_only || costs_spill(m.problem, m.problem.edges[e]))
        crossing.push_back(m.cross[e]);
    at_most(m.f, m.choice, crossing, most);
  };
  limit_crossing(limits.handovers, true, " hand-overs");
  limit_crossing(limits.crossings, false, " edges between slots");
  encode_issuer_limits(m);
}

}  // namespace twill
