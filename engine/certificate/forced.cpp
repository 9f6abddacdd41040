#include "engine/certificate/forced.hpp"

#include <algorithm>

#include "graph/index.hpp"

namespace twill {

Forced::Forced(const Problem& p) {
  const bool marked = std::any_of(p.warps.begin(), p.warps.end(),
                                  [](const WarpSlot& slot) { return slot.variable_latency; });
  for (int v = 0; v < static_cast<int>(p.ops.size()); ++v) {
    const Op& op = p.ops[at(v)];
    const auto excluded = [&](int w) {
      return std::any_of(p.pins.begin(), p.pins.end(), [&](const Pin& pin) {
        return pin.op == v && ((pin.kind == Pin::on_slot && pin.slot != w) ||
                               (pin.kind == Pin::not_on_slot && pin.slot == w));
      });
    };
    std::vector<int>& own = slots.emplace_back();
    for (int w = 0; w < static_cast<int>(p.warps.size()); ++w) {
      const WarpSlot& slot = p.warps[at(w)];
      const bool latency = !marked || slot.variable_latency == op.variable_latency;
      if (slot.width >= op.width && latency && !excluded(w)) own.push_back(w);
    }
  }
  waits.assign(p.ops.size(), 0);
  for (const Edge& e : p.edges) {
    const std::vector<int>&a = slots[at(e.from)], &b = slots[at(e.to)];
    const bool shared = std::any_of(
        a.begin(), a.end(), [&](int w) { return std::find(b.begin(), b.end(), w) != b.end(); });
    const bool told = std::any_of(p.pins.begin(), p.pins.end(), [&](const Pin& pin) {
      return pin.kind == Pin::other_slot &&
             ((pin.op == e.from && pin.other == e.to) || (pin.op == e.to && pin.other == e.from));
    });
    const bool apart = e.from != e.to && (told || !shared);
    const Cycle spill = !apart ? 0 : e.spill ? *e.spill : p.ops[at(e.from)].spill;
    delay.push_back(e.delay + spill);
    // What is on the variable-latency slot waits for nobody.
    const bool exempt = marked && p.ops[at(e.to)].variable_latency;
    if (!exempt && (e.blocking || spill > 0)) waits[at(e.to)] = 1;
  }
  // A part of an inner loop has its slot for itself (rule 12), or does not wait.
  for (const InnerLoop& loop : p.inner_loops)
    for (const InnerPart& part : loop.parts)
      waits[at(part.op)] =
          p.ops[at(part.op)].cycles > 0 && !(marked && p.ops[at(part.op)].variable_latency);
}

namespace {

// Raises values along the arcs, in rounds, until nothing changes. After as many rounds as there are
// ops something still does only if a cycle gains.
std::optional<std::vector<Wide>> least_values(const Problem& p, const Forced& forced, Cycle ii,
                                              std::vector<Wide> value, bool backwards) {
  for (std::size_t round = 0; round <= p.ops.size(); ++round) {
    std::vector<Wide> next = value;
    for (std::size_t e = 0; e < p.edges.size(); ++e) {
      const Edge& edge = p.edges[e];
      const Wide weight = forced.delay[e] - Wide{edge.distance} * ii;
      const int from = backwards ? edge.to : edge.from, to = backwards ? edge.from : edge.to;
      next[at(to)] = std::max(next[at(to)], value[at(from)] + weight);
    }
    if (next == value) return value;
    value = std::move(next);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<Wide>> earliest(const Problem& problem, const Forced& forced, Cycle ii) {
  return least_values(problem, forced, ii, std::vector<Wide>(problem.ops.size(), 0), false);
}

std::optional<std::vector<Wide>> remaining(const Problem& problem, const Forced& forced, Cycle ii) {
  std::vector<Wide> tail;
  for (const Op& op : problem.ops) tail.push_back(op.cycles);
  return least_values(problem, forced, ii, std::move(tail), true);
}

}  // namespace twill
