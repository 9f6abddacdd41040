#include "graph/bounds/start_arcs.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "graph/accepted.hpp"
#include "graph/index.hpp"
#include "graph/longest_paths.hpp"
#include "graph/loop.hpp"
#include "graph/memory_charges.hpp"

namespace twill {
namespace {

constexpr Cycle kAnyCopies = std::numeric_limits<Cycle>::max();
constexpr Wide kUnreached = -(Wide{1} << 100);

// The most copies of each op's result that can be live at once in some slot and in every memory. A
// ring that is charged holds buffers, not live copies.
std::vector<Cycle> most_copies(const Problem& problem) {
  std::vector<Cycle> most(problem.ops.size(), kAnyCopies);
  for (std::size_t v = 0; v < most.size(); ++v) {
    const Amount registers = problem.ops[v].registers;
    if (registers == 0) continue;
    Cycle here = 0;
    for (const int w : allowed_slots(problem, static_cast<int>(v)))
      here = std::max(here, problem.warps[at(w)].registers / registers);
    most[v] = here;
  }
  for (int m = 0; m < static_cast<int>(problem.memories.size()); ++m) {
    const Memory& memory = problem.memories[at(m)];
    const MemoryCharges charges = memory_charges(problem, m);
    for (std::size_t v = 0; v < most.size(); ++v)
      if (charges.live[v] > 0) most[v] = std::min(most[v], memory.capacity / charges.live[v]);
  }
  return most;
}

}  // namespace

StartArcs::StartArcs(const Problem& problem) : nodes_(problem.ops.size() + 1) {
  assert(consistent(problem));
  const std::vector<Cycle> delays = forced_delays(problem), copies = most_copies(problem);
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v) arcs_.push_back({0, v + 1, 0, 0});
  // Sources first, so that most paths settle in one pass.
  std::vector<std::vector<std::size_t>> out(problem.ops.size());
  for (std::size_t e = 0; e < problem.edges.size(); ++e)
    out[at(problem.edges[e].from)].push_back(e);
  for (const int v : topological_order(problem))
    for (const std::size_t e : out[at(v)]) {
      const Edge& edge = problem.edges[e];
      arcs_.push_back({edge.from + 1, edge.to + 1, delays[e], -edge.distance});
      const Cycle most = copies[at(edge.from)];
      if (most > kMaxDistance + kMaxCycles) continue;  // longer than anything
      arcs_.push_back({edge.to + 1, edge.from + 1, edge.hold, edge.distance - most});
      most_turns_ = std::max(most_turns_, edge.distance - most);
    }
  for (const Pin& pin : problem.pins) {
    if (pin.kind == Pin::at_cycle) {
      arcs_.push_back({0, pin.op + 1, pin.cycle, 0});
      arcs_.push_back({pin.op + 1, 0, -pin.cycle, 0});
    } else if (pin.kind == Pin::at_stage) {  // stage x I <= M(op) <= (stage + 1) I - 1
      arcs_.push_back({0, pin.op + 1, 0, pin.stage});
      arcs_.push_back({pin.op + 1, 0, 1, -pin.stage - 1});
    }
  }
}

std::optional<StartArcs::Sum> StartArcs::raise(std::vector<Wide>& value, Cycle ii,
                                               bool backward) const {
  std::vector<PathArc<Wide>> arcs;
  std::vector<std::size_t> index;  // of each, in arcs_
  arcs.reserve(arcs_.size());
  index.reserve(arcs_.size());
  for (std::size_t a = 0; a < arcs_.size(); ++a) {
    const Arc& arc = arcs_[a];
    if (backward && arc.from == 0) continue;  // the origin stays
    const auto [from, to] = backward ? std::pair(arc.to, arc.from) : std::pair(arc.from, arc.to);
    arcs.push_back({from, to, at_interval(arc, ii)});
    index.push_back(a);
  }
  LongestPaths<Wide> paths(std::move(arcs), std::move(value), kUnreached);
  const std::vector<int> cycle = paths.raise();
  value = std::move(paths.values());
  if (cycle.empty()) return std::nullopt;
  Sum sum;
  for (const int a : cycle) {
    sum.weight += arcs_[index[at(a)]].weight;
    sum.turns += arcs_[index[at(a)]].turns;
  }
  return sum;
}

std::optional<std::vector<Cycle>> StartArcs::earliest(Cycle ii) const {
  assert(ii >= 1);
  std::vector<Wide> value(nodes_, kUnreached);
  value[0] = 0;
  if (raise(value, ii, false)) return std::nullopt;
  std::vector<Cycle> start;
  for (std::size_t v = 1; v < nodes_; ++v)
    start.push_back(static_cast<Cycle>(std::min<Wide>(value[v], kMaxStart)));
  return start;
}

std::vector<Cycle> StartArcs::latest(Cycle ii, Cycle horizon) const {
  std::vector<Wide> tail(nodes_, 0);  // at least, from the node to the horizon
  tail[0] = horizon;
  [[maybe_unused]] const auto cycle = raise(tail, ii, true);
  assert(!cycle);
  std::vector<Cycle> start;
  for (std::size_t v = 1; v < nodes_; ++v)
    start.push_back(static_cast<Cycle>(std::max<Wide>(horizon - tail[v], -1)));
  return start;
}

Cycle StartArcs::least_interval(Cycle low, Cycle high) const {
  assert(low >= 1);
  while (low <= high) {
    std::vector<Wide> value(nodes_, 0);
    const auto cycle = raise(value, low, false);
    if (!cycle) return low;
    if (cycle->turns >= 0) return high + 1;
    // The first I with weight + turns I <= 0.
    const Wide next = (cycle->weight - cycle->turns - 1) / -cycle->turns;
    if (next > high) return high + 1;
    low = static_cast<Cycle>(next);
  }
  return high + 1;
}

}  // namespace twill
