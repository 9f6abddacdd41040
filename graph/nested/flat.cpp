// The nest as an ordinary loop, and its inner loop alone.
#include <algorithm>

#include "graph/check.hpp"
#include "graph/error.hpp"
#include "graph/index.hpp"
#include "graph/io/json_text.hpp"
#include "graph/nested/nested_loop.hpp"

namespace twill {
namespace {

std::vector<bool> inside(const NestedLoop& nest) {
  std::vector<bool> inner(nest.problem.ops.size(), false);
  for (const int v : nest.inner) inner[at(v)] = true;
  return inner;
}

/// The problem without ops, edges and pins.
Problem machine_of(const Problem& problem) {
  Problem machine = problem;
  machine.ops.clear();
  machine.edges.clear();
  machine.pins.clear();
  return machine;
}

}  // namespace

void check(const NestedLoop& nest, const std::string& source) {
  check(nest.problem, source);
  const Problem& p = nest.problem;
  const auto fail = [&](const std::string& place, const std::string& value,
                        const std::string& rule) { throw InputError(source, place, value, rule); };
  refuse_inner_loops(p, "the outer loop of a nest");
  if (anchored(p)) fail("/pins", "a pin to a cycle or a stage", "a nested loop must have none");
  if (p.interval != IntervalRange{})
    fail("/initiation_interval", "a range", "a nested loop must have none");
  for (std::size_t i = 0; i < nest.inner.size(); ++i) {
    if (nest.inner[i] < 0 || at(nest.inner[i]) >= p.ops.size())
      fail("inner loop", std::to_string(nest.inner[i]), "must be the index of an op");
    if (i > 0 && nest.inner[i - 1] >= nest.inner[i])
      fail("inner loop", quote(p.ops[at(nest.inner[i])].id), "ops must be ascending, each once");
  }
  if (nest.inner.empty()) fail("inner loop", "[]", "must have at least one op");
  const auto most = static_cast<std::int64_t>(kMaxOps) / static_cast<std::int64_t>(p.ops.size());
  if (nest.trips < 1 || nest.trips > most)
    fail("inner loop", std::to_string(nest.trips),
         "must have 1 to " + std::to_string(most) +
             " trips: all instances of ops together are at most " + std::to_string(kMaxOps));
  const std::vector<bool> inner = inside(nest);
  for (const Edge& e : p.edges)
    if (inner[at(e.from)] && !inner[at(e.to)] && p.ops[at(e.from)].fills_ring())
      fail("inner loop", quote(p.ops[at(e.from)].id),
           "what the inner loop loads must not be used outside of it");
}

Problem inner_problem(const NestedLoop& nest) {
  const Problem& p = nest.problem;
  Problem inner = machine_of(p);
  inner.name = p.name + "-" + nest.name;
  std::vector<int> index(p.ops.size(), -1);
  for (const int v : nest.inner) {
    index[at(v)] = static_cast<int>(inner.ops.size());
    inner.ops.push_back(p.ops[at(v)]);
  }
  std::vector<bool> used(p.ops.size(), false);  // from outside
  std::vector<int> waiting;                     // for it, in the inner problem
  for (Edge e : p.edges) {
    if (index[at(e.to)] < 0) continue;
    if (index[at(e.from)] < 0) {
      used[at(e.from)] = true;
      if (e.blocking || spill_of(p, e) > 0) waiting.push_back(index[at(e.to)]);
      continue;
    }
    e.from = index[at(e.from)];
    e.to = index[at(e.to)];
    inner.edges.push_back(e);
  }
  if (!waiting.empty()) {
    Op outside;
    outside.id = "(outside)";
    while (std::ranges::find(inner.ops, outside.id, &Op::id) != inner.ops.end()) outside.id += "'";
    outside.variable_latency = std::ranges::all_of(p.warps, &WarpSlot::variable_latency);
    for (const int v : waiting)
      inner.edges.push_back({static_cast<int>(inner.ops.size()), v, 0, 0, true, 0});
    inner.ops.push_back(std::move(outside));
  }
  for (std::size_t u = 0; u < p.ops.size(); ++u)
    for (const Footprint& f : p.ops[u].footprints)
      if (used[u]) {
        Amount& capacity = inner.memories[at(f.memory)].capacity;
        capacity = std::max<Amount>(0, capacity - f.amount);
      }
  for (Pin pin : p.pins) {
    if (index[at(pin.op)] < 0 || (pin.other >= 0 && index[at(pin.other)] < 0)) continue;
    pin.op = index[at(pin.op)];
    if (pin.other >= 0) pin.other = index[at(pin.other)];
    inner.pins.push_back(pin);
  }
  return inner;
}

std::vector<Amount> outer_room(const NestedLoop& nest) {
  const Problem& p = nest.problem;
  const std::vector<bool> inner = inside(nest);
  std::vector<bool> left_out = inner;
  for (const Edge& e : p.edges)
    if (inner[at(e.to)]) left_out[at(e.from)] = true;
  std::vector<Amount> rings(p.memories.size(), 0), most(p.memories.size(), 0);
  for (std::size_t v = 0; v < p.ops.size(); ++v)
    for (const Footprint& f : p.ops[v].footprints) {
      if (left_out[v]) continue;
      const auto m = at(f.memory);
      if (p.memories[m].rings && p.ops[v].fills_ring())
        rings[m] = std::min(rings[m] + f.amount, kMaxAmount);
      else
        most[m] = std::max(most[m], f.amount);
    }
  for (std::size_t m = 0; m < most.size(); ++m) most[m] = std::min(most[m] + rings[m], kMaxAmount);
  return most;
}

Problem flat_problem(const NestedLoop& nest) {
  const Problem& p = nest.problem;
  Problem flat = machine_of(p);
  flat.name = p.name + "-flat";
  const std::vector<bool> inner = inside(nest);
  std::vector<int> first(p.ops.size(), -1);  // of an inner op, its instance 0
  for (std::size_t v = 0; v < p.ops.size(); ++v)
    if (!inner[v]) {
      first[v] = static_cast<int>(flat.ops.size());
      flat.ops.push_back(p.ops[v]);
    }
  for (const int v : nest.inner) {
    first[at(v)] = static_cast<int>(flat.ops.size());
    for (std::int64_t k = 0; k < nest.trips; ++k) {
      flat.ops.push_back(p.ops[at(v)]);
      flat.ops.back().id += "#" + std::to_string(k);
    }
  }
  const auto instance = [&](int v, std::int64_t k) {
    return first[at(v)] + (inner[at(v)] ? static_cast<int>(k) : 0);
  };
  for (const Edge& e : p.edges) {
    const bool from = inner[at(e.from)], to = inner[at(e.to)];
    Edge copy = e;
    if (from && to) {
      copy.distance = 0;
      for (std::int64_t k = 0; k + e.distance < nest.trips; ++k) {
        copy.from = instance(e.from, k);
        copy.to = instance(e.to, k + e.distance);
        flat.edges.push_back(copy);
      }
      continue;
    }
    copy.from = instance(e.from, nest.trips - 1);
    for (std::int64_t k = 0; k < (to ? nest.trips : 1); ++k) {
      copy.to = instance(e.to, k);
      flat.edges.push_back(copy);
    }
  }
  for (const Pin& pin : p.pins)
    for (std::int64_t k = 0; k < (inner[at(pin.op)] ? nest.trips : 1); ++k)
      for (std::int64_t other = 0;
           other < (pin.other >= 0 && inner[at(pin.other)] ? nest.trips : 1); ++other) {
        Pin copy = pin;
        copy.op = instance(pin.op, k);
        if (pin.other >= 0) copy.other = instance(pin.other, other);
        flat.pins.push_back(copy);
      }
  return flat;
}

}  // namespace twill
