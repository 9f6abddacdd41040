// The table of goals: a new one is a row of it.
//
// Rings: a load's buffers in flight are at most k when every use ends before the load is issued k
// iterations later, a dependence with delay that keeps nothing alive (dependence.cpp encodes it).
//
// Slots in use: used[w] is implied by slot[v][w] for every op v, one variable a slot, n clauses a
// slot, then a cardinality constraint. Hand-overs: a cardinality constraint over cross[e] of the
// edges that cost a spill; crossings: over all. Issuers: issues[u][w] is implied by slot[v][w] for
// every op v with a reservation on unit u. The literals are one-sided, which is all that an upper
// bound needs. Spills and sums of goals: a pseudo-Boolean constraint over the same literals.
#include "encoders/goals.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <iterator>
#include <optional>
#include <set>

#include "graph/divide.hpp"
#include "graph/error.hpp"
#include "graph/index.hpp"
#include "graph/lifetime.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"
#include "graph/slack.hpp"
#include "graph/wide.hpp"

namespace twill {
namespace {

constexpr Wide kMostSum = 100'000'000'000'000'000;

bool costs_spill(const Problem& problem, const Edge& edge) {
  return edge.from != edge.to && spill_of(problem, edge) > 0;
}

bool reserves(const Op& op, int unit) {
  return std::any_of(op.reservations.begin(), op.reservations.end(),
                     [&](const Reservation& r) { return r.unit == unit; });
}

// The one that is named, or all `count` of them.
std::vector<int> chosen(int index, std::size_t count) {
  if (index >= 0) return {index};
  std::vector<int> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(static_cast<int>(i));
  return all;
}

// ---- What goals measure ------------------------------------------------------------------------

template <bool spills_only>
std::int64_t crossing_edges(const Problem& problem, const Schedule& schedule, int) {
  return std::count_if(problem.edges.begin(), problem.edges.end(), [&](const Edge& e) {
    return (!spills_only || costs_spill(problem, e)) &&
           schedule.warp[at(e.from)] != schedule.warp[at(e.to)];
  });
}

std::int64_t spilled_cycles(const Problem& problem, const Schedule& schedule, int) {
  std::int64_t cycles = 0;
  for (const Edge& e : problem.edges)
    if (schedule.warp[at(e.from)] != schedule.warp[at(e.to)]) cycles += spill_of(problem, e);
  return cycles;
}

// Pairs of a unit and a slot that has an op on it.
std::int64_t issuers(const Problem& problem, const Schedule& schedule, int index) {
  std::set<std::pair<int, int>> pairs;
  for (const int u : chosen(index, problem.units.size()))
    for (std::size_t v = 0; v < problem.ops.size(); ++v)
      if (reserves(problem.ops[v], u)) pairs.emplace(u, schedule.warp[v]);
  return static_cast<std::int64_t>(pairs.size());
}

std::int64_t used_units(const Problem& problem, int index) {
  std::int64_t used = 0;
  for (const int u : chosen(index, problem.units.size()))
    used += std::any_of(problem.ops.begin(), problem.ops.end(),
                        [&](const Op& op) { return reserves(op, u); });
  return used;
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

std::int64_t memory_peak(const Problem& problem, const Schedule& schedule, int memory) {
  const MemoryCharges charges = memory_charges(problem, memory);
  std::int64_t rings = 0;
  for (int u = 0; u < static_cast<int>(problem.ops.size()); ++u)
    if (const Amount buffer = charges.ring[at(u)]; buffer > 0)
      rings += buffer * ring_depth(problem, schedule, u);
  return rings + peak(problem, schedule, charges.live);
}

std::int64_t deepest_ring(const Problem& problem, const Schedule& schedule, int) {
  std::int64_t most = 0;
  for (const auto& [load, depth] : ring_depths(problem, schedule)) most = std::max(most, depth);
  return most;
}

// ---- What limits become ------------------------------------------------------------------------

void lower(std::int64_t& value, std::int64_t most) {
  if (value < 0 || value > most) value = most;
}

void limit_registers(LimitedProblem& result, int index, std::int64_t most) {
  for (const int w : chosen(index, result.problem.warps.size()))
    lower(result.problem.warps[at(w)].registers, most);
}

// At most `most` buffers: every use ends before the load is issued `most` iterations later.
void limit_rings(LimitedProblem& result, int index, std::int64_t most) {
  if (most > kMaxDistance) return;
  for (const int u : chosen(index, result.problem.ops.size())) {
    if (!result.problem.ops[at(u)].fills_ring()) continue;
    for (const BufferUse& use : buffer_uses(result.problem, u))
      result.placement.precedences.push_back(
          {use.op, u, static_cast<int>(most) - use.iterations, use.cycles + 1});
  }
}

void limit_slot(LimitedProblem& result, int op, std::int64_t most) {
  for (const int w : allowed_slots(result.problem, op))
    if (w > most) result.problem.pins.push_back({Pin::not_on_slot, op, w, -1, -1});
}

// A literal a slot, implied by each op on it for which `counts` holds.
template <class Counts>
void append_slots(PlacementModel& m, std::vector<Term>& terms, Counts counts) {
  for (int w = 0; w < static_cast<int>(m.problem.warps.size()); ++w) {
    terms.push_back({1, m.f.fresh()});
    for (int v = 0; v < static_cast<int>(m.problem.ops.size()); ++v)
      if (counts(m.problem.ops[at(v)])) m.f.implies(m.on(v, w), terms.back().literal);
  }
}

std::vector<Term> used_slots(PlacementModel& m, int) {
  std::vector<Term> used;
  append_slots(m, used, [](const Op&) { return true; });
  return used;
}

std::vector<Term> issuing_slots(PlacementModel& m, int index) {
  std::vector<Term> issues;
  for (const int u : chosen(index, m.problem.units.size()))
    append_slots(m, issues, [u](const Op& op) { return reserves(op, u); });
  return issues;
}

template <bool spills_only>
std::vector<Term> crossings(PlacementModel& m, int) {
  std::vector<Term> crossing;
  for (std::size_t e = 0; e < m.problem.edges.size(); ++e)
    if (!spills_only || costs_spill(m.problem, m.problem.edges[e]))
      crossing.push_back({1, m.cross[e]});
  return crossing;
}

std::vector<Term> crossing_spills(PlacementModel& m, int) {
  std::vector<Term> crossing;
  for (std::size_t e = 0; e < m.problem.edges.size(); ++e)
    if (const Edge& edge = m.problem.edges[e]; costs_spill(m.problem, edge))
      crossing.push_back({spill_of(m.problem, edge), m.cross[e]});
  return crossing;
}

// ---- The table ---------------------------------------------------------------------------------

const GoalKind kGoals[] = {
    // Slots with at least one op.
    {.name = "slots",
     .value = [](const Problem&, const Schedule& s, int) -> std::int64_t {
       return std::ssize(std::set(s.warp.begin(), s.warp.end()));
     },
     .least = [](const Problem&, int) -> std::int64_t { return 1; },
     .reason = "an op is on a slot",
     .least_by = LeastGoal::op_on_slot,
     .terms = used_slots,
     .counts = " slots in use"},
    // Edges whose result costs its producer's spill because it crosses slots.
    {.name = "handovers",
     .value = crossing_edges<true>,
     .terms = crossings<true>,
     .counts = " hand-overs"},
    // Edges between ops on different slots: each is a synchronisation.
    {.name = "crossings",
     .value = crossing_edges<false>,
     .terms = crossings<false>,
     .counts = " edges between slots"},
    // Registers a thread at the fullest moment of the fullest slot.
    {.name = "registers",
     .value = [](const Problem& p, const Schedule& s, int) -> std::int64_t {
       std::int64_t most = 0;
       for (std::size_t w = 0; w < p.warps.size(); ++w)
         most = std::max(most, slot_registers(p, s, static_cast<int>(w)));
       return most;
     },
     .limit = limit_registers},
    {.name = "registers:SLOT",
     .of = GoalKind::slots,
     .value = slot_registers,
     .limit = limit_registers},
    // The fullest moment of one memory.
    {.name = "memory:NAME",
     .of = GoalKind::memories,
     .value = memory_peak,
     .limit = [](LimitedProblem& p, int m,
                 std::int64_t most) { lower(p.problem.memories[at(m)].capacity, most); }},
    // Buffers in flight of the load with most of them (ring_depth.hpp).
    {.name = "rings",
     .value = deepest_ring,
     .least = [](const Problem& p, int) -> std::int64_t {
       return std::any_of(p.ops.begin(), p.ops.end(), [](const Op& op) { return op.fills_ring(); });
     },
     .reason = "a load has a buffer",
     .least_by = LeastGoal::loads,
     .limit = limit_rings,
     .most_asked = kMaxDistance},
    {.name = "ring:LOAD",
     .of = GoalKind::loads,
     .value = ring_depth,
     .least = [](const Problem&, int) -> std::int64_t { return 1; },
     .reason = "a load has a buffer",
     .least_by = LeastGoal::loads,
     .limit = limit_rings,
     .most_asked = kMaxDistance},
    // Pairs of a unit and a slot that has an op on it.
    {.name = "issuers",
     .note = " = pairs of a unit and a slot that issues to it",
     .value = issuers,
     .least = used_units,
     .reason = "each unit that is used has a slot that issues to it",
     .least_by = LeastGoal::used_units,
     .terms = issuing_slots,
     .counts = " pairs of unit and slot"},
    {.name = "issuers:UNIT",
     .of = GoalKind::units,
     .value = issuers,
     .least = used_units,
     .reason = "an op that uses the unit is on a slot",
     .least_by = LeastGoal::used_units,
     .terms = issuing_slots,
     .counts = " slots with ops on "},
    // Cycles that results are held, over all ops (lifetime.hpp).
    {.name = "lifetime",
     .value = [](const Problem& p, const Schedule& s, int) { return total_lifetime(p, s); },
     .least = [](const Problem& p, int) { return least_total_lifetime(p); },
     .reason = "a result is held for the delay and the hold of each use",
     .least_by = LeastGoal::lifetimes,
     .limit = [](LimitedProblem& p, int, std::int64_t most) { lower(p.placement.lifetime, most); }},
    // The cycle that one op starts at.
    {.name = "start:OP",
     .of = GoalKind::ops,
     .value = [](const Problem&, const Schedule& s, int v) -> std::int64_t {
       return s.start[at(v)];
     },
     .limit = [](LimitedProblem& p, int v,
                 std::int64_t most) { p.placement.latest.emplace_back(v, most); },
     .position = true},
    // The place of its slot among the problem's slots, from 0.
    {.name = "slot:OP",
     .of = GoalKind::ops,
     .value = [](const Problem&, const Schedule& s, int v) -> std::int64_t {
       return s.warp[at(v)];
     },
     .least = [](const Problem& p, int v) -> std::int64_t {
       const std::vector<int> slots = allowed_slots(p, v);
       return slots.empty() ? 0 : slots.front();
     },
     .reason = "no slot before it is allowed",
     .least_by = LeastGoal::first_slot,
     .limit = limit_slot,
     .position = true},
    // The least slack of an edge, at most I (graph/slack.hpp); its negative, as goals are small.
    {.name = "slack",
     .note = " = the least that an edge has to spare, negative; first, before L",
     .value = [](const Problem& p, const Schedule& s, int) -> std::int64_t {
       return -least_slack(p, s);
     },
     .before_length = true},
    // Cycles that hand-overs cost, over all edges that cross slots.
    {.name = "spills",
     .value = spilled_cycles,
     .terms = crossing_spills,
     .counts = " cycles of hand-overs"},
    // L, where goals may cost cycles of it.
    {.name = kLengthGoal,
     .note = " (with --length-slack)",
     .value = [](const Problem&, const Schedule& s, int) -> std::int64_t { return s.length; },
     .reason = "no schedule at this I is shorter",
     .limit = [](LimitedProblem&, int, std::int64_t) {},
     .is_length = true},
    // Several that count, traded for each other by weights.
    {.name = "W*GOAL+GOAL",
     .of = GoalKind::sum,
     .note = " = a sum of slots, handovers, crossings, spills, issuers",
     .value = nullptr,
     .reason = "each part is at least what it is in every schedule",
     .least_by = LeastGoal::parts},
};

// "issuers:" of "issuers:UNIT".
std::string prefix(const GoalKind& kind) {
  const std::string name = kind.name;
  return name.substr(0, name.find(':') + 1);
}

// What may follow the colon, with its index.
std::vector<std::pair<std::string_view, int>> arguments(const Problem& problem, GoalKind::Of of) {
  std::vector<std::pair<std::string_view, int>> names;
  const auto take = [&](const auto& all, auto name) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (of != GoalKind::loads || problem.ops[i].fills_ring())
        names.emplace_back(all[i].*name, static_cast<int>(i));
  };
  switch (of) {
    case GoalKind::whole:
    case GoalKind::sum: break;
    case GoalKind::units: take(problem.units, &Unit::name); break;
    case GoalKind::slots: take(problem.warps, &WarpSlot::name); break;
    case GoalKind::memories: take(problem.memories, &Memory::name); break;
    case GoalKind::loads:
    case GoalKind::ops: take(problem.ops, &Op::id); break;
  }
  return names;
}

// All the goals that `problem` has; those of single ops are too many.
std::string known_goals(const Problem& problem) {
  std::string known;
  const auto add = [&](const std::string& name) { known += (known.empty() ? "" : ", ") + name; };
  for (const auto of : {GoalKind::whole, GoalKind::units, GoalKind::slots, GoalKind::memories,
                        GoalKind::loads, GoalKind::ops})
    for (const GoalKind& kind : kGoals) {
      if (kind.of != of) continue;
      if (of == GoalKind::whole || of == GoalKind::ops) add(kind.name);
      if (of == GoalKind::ops) continue;
      for (const auto& [name, index] : arguments(problem, of))
        add(prefix(kind) + std::string(name));
    }
  return known;
}

// One of the table.
std::optional<std::pair<const GoalKind*, int>> find_goal(const Problem& problem,
                                                         std::string_view name) {
  for (const GoalKind& kind : kGoals) {
    if (kind.of == GoalKind::sum) continue;
    if (name == kind.name && kind.of == GoalKind::whole) return std::pair{&kind, -1};
    if (kind.of == GoalKind::whole || !name.starts_with(prefix(kind))) continue;
    for (const auto& [argument, index] : arguments(problem, kind.of))
      if (name.substr(prefix(kind).size()) == argument) return std::pair{&kind, index};
  }
  return std::nullopt;
}

// "3*" before `name`, which it is taken from; 1 where there is none; 0 for what is no weight.
std::int64_t take_weight(std::string_view& name) {
  std::size_t digits = 0;
  std::int64_t weight = 0;
  while (digits < name.size() && name[digits] >= '0' && name[digits] <= '9' &&
         weight <= kMostWeight)
    weight = 10 * weight + (name[digits++] - '0');
  if (digits == 0 || digits == name.size() || name[digits] != '*') return 1;
  name.remove_prefix(digits + 1);
  return weight <= kMostWeight ? weight : 0;
}

// The greatest value that the part can have.
Wide greatest(const Problem& problem, const PlacementLimits::Part& part) {
  Wide most = std::ssize(problem.units) * std::ssize(problem.warps) + std::ssize(problem.warps);
  for (const Edge& e : problem.edges) most += 1 + spill_of(problem, e);
  return most * part.weight;
}

// (Names of units can have signs in them, so a part may end at any '+': at the last that will do.)
GoalMeasure parse_sum(const Problem& problem, const std::string& name) {
  const std::string_view text = name;
  const auto fail = [&](const std::string& rule) {
    throw InputError("options", "--goals", name, rule);
  };
  std::vector<PlacementLimits::Part> parts;
  std::set<std::size_t> dead;  // begins of what is no sum
  const std::function<bool(std::size_t)> rest = [&](std::size_t begin) {
    if (dead.contains(begin)) return false;
    for (std::size_t end = text.size(); end != std::string_view::npos && end > begin;
         end = text.rfind('+', end - 1)) {
      const bool last = end == text.size();
      std::string_view one = text.substr(begin, end - begin);
      const std::int64_t weight = take_weight(one);
      const auto goal = find_goal(problem, one);
      if (goal && goal->first->terms != nullptr && weight > 0 && parts.size() < kMostParts) {
        parts.push_back({goal->first, goal->second, weight});
        if (last || rest(end + 1)) return true;
        parts.pop_back();
      }
    }
    dead.insert(begin);
    return false;
  };
  if (!rest(0))
    fail("must be a sum of at most " + std::to_string(kMostParts) +
         " of slots, handovers, crossings, spills, issuers, issuers:UNIT, each with a weight of 1 "
         "to " +
         std::to_string(kMostWeight) + " or none, as 2*handovers+slots");
  Wide most = 0;
  for (const PlacementLimits::Part& part : parts) most += greatest(problem, part);
  if (most > kMostSum) fail("must be at most 10^17 whatever the schedule");
  return {&kGoals[std::size(kGoals) - 1], -1, std::move(parts)};
}

}  // namespace

std::int64_t slot_registers(const Problem& problem, const Schedule& schedule, int slot) {
  std::vector<Amount> amounts(problem.ops.size(), 0);
  for (std::size_t v = 0; v < amounts.size(); ++v)
    if (schedule.warp[v] == slot) amounts[v] = problem.ops[v].registers;
  return peak(problem, schedule, amounts);
}

std::string goal_names() {
  std::string text, line;
  for (const GoalKind& kind : kGoals) {
    const std::string name =
        std::string(kind.name) + kind.note + (&kind == std::end(kGoals) - 1 ? "" : ",");
    if (line.size() + name.size() > 80) {
      text += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + name;
  }
  return text + line;
}

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
    if (parse_goal(problem, name).kind->before_length && &name != &listed.front())
      throw InputError("options", "--goals", name, "must be the first goal: it comes before L");
  }
  for (std::size_t v = 0; canonical && v < problem.ops.size(); ++v) {
    listed.push_back("start:" + problem.ops[v].id);
    listed.push_back("slot:" + problem.ops[v].id);
  }
  return listed;
}

GoalMeasure parse_goal(const Problem& problem, const std::string& name) {
  if (const auto goal = find_goal(problem, name)) return {goal->first, goal->second};
  if (name.find_first_of("+*") != std::string::npos) return parse_sum(problem, name);
  throw InputError(
      "options", "--goals", name,
      "must be one of " + known_goals(problem) + ", canonical, or a sum as 2*handovers+slots");
}

Cycle deadline_within(const GoalLimits& limits, Cycle deadline) {
  for (const auto& [name, most] : limits)
    if (name == kLengthGoal) deadline = std::min(deadline, most);
  return deadline;
}

std::int64_t least_goal_value(const Problem& problem, const GoalMeasure& goal) {
  const auto least = [&](const GoalKind& kind, int index) {
    return kind.least == nullptr ? 0 : kind.least(problem, index);
  };
  std::int64_t sum = 0;
  for (const PlacementLimits::Part& part : goal.parts)
    sum += part.weight * least(*part.goal, part.index);
  return goal.parts.empty() ? least(*goal.kind, goal.index) : sum;
}

std::int64_t goal_value(const Problem& problem, const Schedule& schedule, const GoalMeasure& goal) {
  assert(schedule.initiation_interval >= 1);
  std::int64_t sum = 0;
  for (const PlacementLimits::Part& part : goal.parts)
    sum += part.weight * part.goal->value(problem, schedule, part.index);
  return goal.parts.empty() ? goal.kind->value(problem, schedule, goal.index) : sum;
}

LimitedProblem limit_problem(const Problem& problem, const GoalLimits& limits) {
  LimitedProblem result{problem, {}};
  auto& counts = result.placement.counts;
  for (const auto& [name, most] : limits) {
    const GoalMeasure goal = parse_goal(problem, name);
    if (goal.kind->before_length) continue;  // the problem is another one
    if (!goal.parts.empty())
      counts.push_back({goal.parts, most});
    else if (goal.kind->limit != nullptr)
      goal.kind->limit(result, goal.index, most);
    else
      counts.push_back({{{goal.kind, goal.index}}, most});
  }
  // (As the table, sums behind what they begin with.)
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
    return std::pair(a.parts.size() > 1, a.parts.front().goal) <
           std::pair(b.parts.size() > 1, b.parts.front().goal);
  });
  return result;
}

void encode_placement_limits(PlacementModel& m) {
  for (const auto& [parts, most] : m.placement.limits.counts) {
    std::string name;
    for (const auto& [goal, index, weight] : parts) {
      name += (name.empty() ? "" : " +") + (weight == 1 ? "" : " " + std::to_string(weight)) +
              goal->counts;
      for (const auto& [argument, i] : arguments(m.problem, goal->of))
        if (i == index) name += argument;
    }
    const auto group = m.groups.open("at most " + std::to_string(most) + name);
    std::vector<Term> terms;
    for (const auto& [goal, index, weight] : parts)
      for (const auto& [own, literal] : goal->terms(m, index))
        terms.push_back({weight * own, literal});
    const bool counted =
        std::all_of(terms.begin(), terms.end(), [](const Term& term) { return term.weight == 1; });
    if (!counted || parts.size() > 1) {
      at_most_sum(m.f, m.choice, terms, most);
      continue;
    }
    std::vector<Lit> literals;
    for (const Term& term : terms) literals.push_back(term.literal);
    at_most(m.f, m.choice, literals, most);
  }
}

}  // namespace twill
