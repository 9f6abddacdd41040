#include "engine/placement_needs.hpp"

#include <algorithm>
#include <set>

#include "graph/divide.hpp"
#include "graph/index.hpp"

namespace twill {

using program::Ending;

namespace {

/// Is there a way from one op to another within an iteration?
bool leads_to(const Problem& problem, int from, int to) {
  std::set<int> seen = {from};
  std::vector<int> next = {from};
  while (!next.empty()) {
    const int v = next.back();
    next.pop_back();
    if (v == to) return true;
    for (const Edge& e : problem.edges)
      if (e.from == v && e.distance == 0 && seen.insert(e.to).second) next.push_back(e.to);
  }
  return false;
}

int add_memory(Problem& problem, Amount copies) {
  const int memory = static_cast<int>(problem.memories.size());
  Memory one;
  one.name = "place " + std::to_string(memory);
  one.capacity = copies;
  problem.memories.push_back(std::move(one));
  return memory;
}

int add_op(Problem& problem, const char* what) {
  const int op = static_cast<int>(problem.ops.size());
  Op one;
  one.id = what + (" " + std::to_string(op));
  problem.ops.push_back(std::move(one));
  return op;
}

Edge edge(int from, int to, Cycle delay, int distance, Cycle hold) {
  return {from, to, delay, distance, false, hold, Cycle{0}};
}

}  // namespace

bool handed_over(const program::Draft& draft, int s) {
  const auto& takes = draft.loop.takes[at(draft.source[at(draft.writer[at(s)])])];
  const int memory = draft.program.storages[at(s)].memory;
  return at(memory) >= takes.size() || takes[at(memory)] == 0;
}

StorageKey storage_key(const program::Draft& draft, int s) {
  return {draft.source[at(draft.writer[at(s)])], draft.program.storages[at(s)].memory};
}

PlacementNeeds::PlacementNeeds(const Problem& problem, const program::Draft& draft)
    : problem_(problem),
      draft_(draft),
      code_(problem.ops.size(), -1),
      readers_(problem.ops.size()) {
  for (std::size_t v = 0; v < draft.source.size(); ++v)
    code_[at(draft.source[v])] = static_cast<int>(v);
  for (std::size_t s = 0; s < draft.writer.size(); ++s)
    for (const program::Reader& r : draft.readers[s])
      readers_[at(draft.source[at(draft.writer[s])])].push_back(
          {draft.source[at(r.op)], r.distance, r.accumulates});
  for (std::vector<Reader>& one : readers_) {
    std::sort(one.begin(), one.end());
    one.erase(std::unique(one.begin(), one.end()), one.end());
  }
  has_free_slot_ = std::any_of(problem.warps.begin(), problem.warps.end(),
                               [](const WarpSlot& w) { return !w.variable_latency; });
}

std::vector<PlacementNeeds::Reader> PlacementNeeds::others(int op) const {
  std::vector<Reader> all = readers(op);
  std::erase_if(all, [&](const Reader& r) { return r.op == op; });
  return all;
}

bool PlacementNeeds::can_meet_in_a_slot(int a, int b) const {
  const std::vector<int> one = allowed_slots(problem_, a), other = allowed_slots(problem_, b);
  return std::any_of(one.begin(), one.end(), [&](int w) {
    return std::find(other.begin(), other.end(), w) != other.end();
  });
}

Cycle PlacementNeeds::wait(int first, int then) const {
  const program::Op& one = draft_.program.ops[at(code(first))];
  const program::Op& other = draft_.program.ops[at(code(then))];
  const bool in_order =
      one.ending == Ending::at_once || (!one.queue.empty() && one.queue == other.queue);
  return in_order && can_meet_in_a_slot(first, then) ? 0 : draft_.loop.ends[at(first)];
}

/// M(then) + offset I >= M(first) + delay; false = no schedule keeps it. Where it cannot be asked
/// it is not: of a load without predecessors, and after an op without cycles, whose buffer what
/// comes after it would hold.
bool PlacementNeeds::ask_order(Problem& problem, int first, int then, Cycle delay,
                               int offset) const {
  if (offset < 0) return false;
  // It reads what it is to be read before.
  const bool circle = offset == 0 && leads_to(problem, then, first);
  if (circle) return delay == 0;
  if (!has_free_slot_ || problem_.ops[at(first)].cycles == 0 || problem_.ops[at(then)].fills_ring())
    return true;
  // (At the cycle of the first it ends no use of that result later than there.)
  const int between = add_op(problem, "order");
  problem.edges.push_back(edge(first, between, 0, 0, 0));
  problem.edges.push_back(edge(between, then, delay, offset, 0));
  return true;
}

/// The op's own copies: `most` iterations later the same one is written.
bool PlacementNeeds::ask_interval(Problem& problem, int op, int most) const {
  const program::Op& one = draft_.program.ops[at(code(op))];
  if (one.ending == Ending::at_once || !one.queue.empty()) return true;
  const Cycle least = ceil_divide(draft_.loop.ends[at(op)], most);
  problem.interval.least = std::max(problem.interval.least, least);
  return problem.interval.least <= problem.interval.most;
}

/// Copies of a load's ring: the model counts them, in a memory that charges rings.
bool PlacementNeeds::ask_ring(Problem& problem, int load, int most) const {
  const int place = add_memory(problem, most);
  problem.memories[at(place)].rings = true;
  problem.ops[at(load)].footprints.push_back({place, 1});
  return true;
}

bool PlacementNeeds::ask_depth(Problem& problem, const StorageKey& key, int most) const {
  const int op = key.first;
  if (!ask_interval(problem, op, most)) return false;
  for (const Reader& r : readers(op)) {
    if (r.distance > most) return false;  // so many are there before the loop
    if (r.op == op && r.accumulates) continue;
    if (!ask_order(problem, r.op, op, wait(r.op, op), most - r.distance)) return false;
  }
  return !problem_.ops[at(op)].fills_ring() || ask_ring(problem, op, most);
}

bool PlacementNeeds::ask_read_before(Problem& problem, int op, const Reader& reader,
                                     int most) const {
  return ask_interval(problem, op, most) &&
         ask_order(problem, reader.op, op, draft_.loop.ends[at(reader.op)], most - reader.distance);
}

void PlacementNeeds::ask_turns(Problem& problem, std::pair<StorageKey, std::optional<Reader>> a,
                               std::pair<StorageKey, std::optional<Reader>> b, Amount most) const {
  if (!has_free_slot_) return;
  const int place = add_memory(problem, most);
  ask_copy(problem, place, a.first, a.second, b.first.first);
  ask_copy(problem, place, b.first, b.second, a.first.first);
}

/// A copy of what the op makes, from its issue to the last of its uses before `other` writes there.
void PlacementNeeds::ask_copy(Problem& problem, int memory, const StorageKey& key,
                              const std::optional<Reader>& far, int other) const {
  const int op = key.first;
  if (problem_.ops[at(op)].fills_ring()) {
    // Nothing can stand before a load. Its own uses in the problem are as good, if they are uses
    // in the program, too, and no longer.
    if (!charges_only_uses(op, other)) return;
    hold_to_the_end(problem, op, other);
    problem.ops[at(op)].footprints.push_back({memory, 1});
    return;
  }
  // As late as it likes before the op: at its cycle it is what the program has.
  const int copy = add_op(problem, "copy");
  problem.ops[at(copy)].footprints.push_back({memory, 1});
  problem.edges.push_back(edge(copy, op, 0, 0, wait(op, other)));
  for (const Reader& r : far ? std::vector<Reader>{*far} : readers(op)) {
    // (Where they have one place, an accumulator is written over by who reads it.)
    const bool over = r.op == other && r.accumulates;
    problem.edges.push_back(edge(copy, r.op, 0, r.distance, over ? 0 : wait(r.op, other)));
  }
}

/// Is what the problem holds of a load never more than what a program waits for before `other`
/// writes there?
bool PlacementNeeds::charges_only_uses(int load, int other) const {
  if (unread_views(load)) return false;
  return std::all_of(problem_.edges.begin(), problem_.edges.end(), [&](const Edge& e) {
    if (e.from != load) return true;
    return e.hold <= (draft_.loop.is_code[at(e.to)] ? wait(e.to, other) : 0);
  });
}

/// Holds what is loaded as long as programs wait before `other` writes there, for readers through
/// views, too, where that asks nothing else of schedules.
void PlacementNeeds::hold_to_the_end(Problem& problem, int load, int other) const {
  if (problem_.ops[at(load)].registers > 0) return;
  for (const Reader& r : readers(load)) {
    const Cycle all = r.accumulates ? 0 : wait(r.op, other);
    const Cycle hold = may_hold(load, r, all) ? all : 0;
    const auto direct = std::find_if(
        problem.edges.begin(), problem.edges.end(),
        [&](const Edge& e) { return e.from == load && e.to == r.op && e.distance == r.distance; });
    if (direct == problem.edges.end())
      problem.edges.push_back(edge(load, r.op, 0, r.distance, hold));
    else
      direct->hold = std::max(direct->hold, hold);
  }
}

/// Has every program with a placement room for a load's buffers if this reader holds them so long?
/// Where a memory counts live copies: if all who write there wait so long, then copies that live at
/// one time have places of their own. Where it charges rings: if they are as deep already.
bool PlacementNeeds::may_hold(int load, const Reader& reader, Cycle hold) const {
  Cycle known = problem_.ops[at(reader.op)].cycles;
  for (const program::Use& use : draft_.loop.uses[at(reader.op)])
    if (use.from == load && use.distance == reader.distance) known = std::max(known, use.hold);
  const std::vector<Footprint>& all = problem_.ops[at(load)].footprints;
  return std::all_of(all.begin(), all.end(), [&](const Footprint& f) {
    if (problem_.memories[at(f.memory)].rings) return hold <= known;
    for (int v = 0; v < static_cast<int>(problem_.ops.size()); ++v)
      if (code(v) >= 0 && writes_there(v, f.memory) && wait(reader.op, v) < hold) return false;
    return true;
  });
}

/// Does op `v` write into this memory, or hand registers over through it, in some schedule?
bool PlacementNeeds::writes_there(int v, int memory) const {
  const bool hands_over = draft_.loop.registers[at(v)] > 0 &&
                          problem_.memories[at(memory)].name == program::kBarrierMemory;
  return hands_over || draft_.loop.takes[at(v)][at(memory)] > 0;
}

/// Does a zero-cycle op show it that no code comes after?
bool PlacementNeeds::unread_views(int op) const {
  const auto& code = draft_.loop.is_code;
  const auto read = [&](int view) {
    std::set<int> seen = {view};
    std::vector<int> next = {view};
    while (!next.empty()) {
      const int v = next.back();
      next.pop_back();
      for (const Edge& e : problem_.edges) {
        if (e.from != v) continue;
        if (code[at(e.to)]) return true;
        if (seen.insert(e.to).second) next.push_back(e.to);
      }
    }
    return false;
  };
  return std::any_of(problem_.edges.begin(), problem_.edges.end(),
                     [&](const Edge& e) { return e.from == op && !code[at(e.to)] && !read(e.to); });
}

}  // namespace twill
