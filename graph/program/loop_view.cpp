#include "graph/program/loop_view.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "graph/divide.hpp"
#include "graph/index.hpp"

namespace twill::program {
namespace {

class Viewer {
 public:
  Viewer(const Problem& problem, const Schedule& schedule, LoopView& view)
      : problem_(problem), schedule_(schedule), view_(view), in_(problem.ops.size()) {
    for (const Edge& edge : problem.edges) in_[at(edge.to)].push_back(&edge);
  }

  std::optional<Refusal> run() {
    const std::size_t ops = problem_.ops.size();
    if (ops > kMostLoopOps || problem_.edges.size() > kMostLoopEdges)
      return Refusal{"size",
                     std::to_string(ops) + " ops and " + std::to_string(problem_.edges.size()) +
                         " edges are too many for a program, more than " +
                         std::to_string(kMostLoopOps) + " or " + std::to_string(kMostLoopEdges)};
    view_.problem = &problem_;
    view_.schedule = &schedule_;
    for (const twill::Op& op : problem_.ops)
      view_.is_code.push_back(op.cycles > 0 || op.fills_ring() || op.variable_latency);
    filled();
    if (auto refusal = circle()) return refusal;
    view_.uses.resize(ops);
    for (int v = 0; v < static_cast<int>(ops); ++v)
      if (view_.is_code[at(v)]) view_.uses[at(v)] = uses_of(v);
    if (auto refusal = amounts()) return refusal;
    if (too_many_)
      return Refusal{"size", "zero-cycle ops show results of more than " +
                                 std::to_string(kMostViewed) + " distances"};
    ends();
    ranks();
    return std::nullopt;
  }

 private:
  const std::string& id(int v) const { return problem_.ops[at(v)].id; }

  /// Zero-cycle ops that show what some op of the loop makes.
  void filled() {
    filled_.assign(problem_.ops.size(), false);
    for (bool more = true; more;) {
      more = false;
      for (const Edge& e : problem_.edges) {
        if (view_.is_code[at(e.to)] || filled_[at(e.to)]) continue;
        if (!view_.is_code[at(e.from)] && !filled_[at(e.from)]) continue;
        filled_[at(e.to)] = more = true;
      }
    }
  }

  /// A circle of views would show what an op made in all iterations before.
  std::optional<Refusal> circle() const {
    std::vector<int> open(problem_.ops.size(), 0), next;
    const auto counts = [&](const Edge& e) { return filled_[at(e.from)] && filled_[at(e.to)]; };
    for (const Edge& e : problem_.edges)
      if (counts(e)) ++open[at(e.to)];
    for (int v = 0; v < static_cast<int>(open.size()); ++v)
      if (filled_[at(v)] && open[at(v)] == 0) next.push_back(v);
    while (!next.empty()) {
      const int v = next.back();
      next.pop_back();
      for (const Edge& e : problem_.edges)
        if (e.from == v && counts(e) && --open[at(e.to)] == 0) next.push_back(e.to);
    }
    for (int v = 0; v < static_cast<int>(open.size()); ++v)
      if (open[at(v)] > 0)
        return Refusal{"views", id(v) +
                                    " takes no cycles and shows its own result of an iteration "
                                    "before: such a buffer would be held for ever"};
    return std::nullopt;
  }

  std::vector<Use> uses_of(int v) {
    std::map<std::pair<int, int>, Cycle> found;  // from, distance -> hold
    std::set<std::tuple<int, int, Cycle>> seen;
    std::vector<std::tuple<int, int, Cycle>> next = {{v, 0, 0}};
    while (!next.empty()) {
      if (seen.size() > kMostViewed || found.size() > kMostViewed) too_many_ = true;
      if (too_many_) break;
      const auto [to, distance, hold] = next.back();
      next.pop_back();
      for (const Edge* e : in_[at(to)]) {
        const int sum = distance + e->distance;
        // How long `v` holds what it uses is said by the edge into v itself.
        const Cycle longest = to == v ? e->hold : hold;
        if (view_.is_code[at(e->from)]) {
          Cycle& known = found[{e->from, sum}];
          known = std::max(known, longest);
        } else if (filled_[at(e->from)] && seen.insert({e->from, sum, longest}).second) {
          next.emplace_back(e->from, sum, longest);
        }
      }
    }
    std::vector<Use> uses;
    for (const auto& [key, hold] : found) uses.push_back({key.first, key.second, hold});
    return uses;
  }

  /// What a view takes is a part of what it shows.
  std::optional<Refusal> amounts() {
    const std::size_t ops = problem_.ops.size(), memories = problem_.memories.size();
    view_.takes.assign(ops, std::vector<Amount>(memories, 0));
    view_.registers.assign(ops, 0);
    for (std::size_t v = 0; v < ops; ++v) {
      if (!view_.is_code[v]) continue;
      view_.registers[v] = problem_.ops[v].registers;
      for (const Footprint& f : problem_.ops[v].footprints) view_.takes[v][at(f.memory)] = f.amount;
    }
    for (int v = 0; v < static_cast<int>(ops); ++v) {
      const twill::Op& op = problem_.ops[at(v)];
      if (view_.is_code[at(v)]) continue;
      const bool in_memory = std::any_of(op.footprints.begin(), op.footprints.end(),
                                         [](const Footprint& f) { return f.amount > 0; });
      if (!in_memory && op.registers == 0) continue;
      std::set<int> makers;
      for (const Use& use : uses_of(v)) makers.insert(use.from);
      if (in_memory && makers.size() != 1)
        return Refusal{"views",
                       id(v) + " takes memory and no cycles, and " +
                           (makers.empty() ? "no op of the loop fills it"
                                           : "several ops fill it: " + id(*makers.begin()) + ", " +
                                                 id(*makers.rbegin()))};
      if (in_memory)
        for (const Footprint& f : op.footprints)
          view_.takes[at(*makers.begin())][at(f.memory)] += f.amount;
      for (const int u : makers)
        view_.registers[at(u)] = std::max(view_.registers[at(u)], op.registers);
    }
    return std::nullopt;
  }

  void ends() {
    for (const twill::Op& op : problem_.ops) view_.ends.push_back(op.cycles);
    for (const Edge& e : problem_.edges)
      view_.ends[at(e.from)] = std::max(view_.ends[at(e.from)], e.delay);
    for (std::size_t v = 0; v < view_.uses.size(); ++v)
      for (const Use& use : view_.uses[v]) view_.ends[v] = std::max(view_.ends[v], use.hold);
  }

  /// Kahn's algorithm over the uses whose ends are issued in the same cycle. Of those that are free
  /// the op of the oldest iteration goes first: what it reads may be written again in that cycle.
  void ranks() {
    const int ops = static_cast<int>(problem_.ops.size());
    const Cycle ii = schedule_.initiation_interval;
    std::vector<int> open(at(ops), 0);
    std::vector<std::vector<int>> after(at(ops));
    for (int v = 0; v < ops; ++v)
      for (const Use& use : view_.uses[at(v)]) {
        if (view_.start(v) + use.distance * ii != view_.start(use.from) || use.from == v) continue;
        after[at(use.from)].push_back(v);
        ++open[at(v)];
      }
    std::set<std::pair<Cycle, int>> free;
    for (int v = 0; v < ops; ++v)
      if (open[at(v)] == 0) free.emplace(-(view_.start(v) / ii), v);
    view_.rank.assign(at(ops), 0);
    for (int rank = 0; !free.empty(); ++rank) {
      const int u = free.begin()->second;
      free.erase(free.begin());
      view_.rank[at(u)] = rank;
      for (const int v : after[at(u)])
        if (--open[at(v)] == 0) free.emplace(-(view_.start(v) / ii), v);
    }
  }

  const Problem& problem_;
  const Schedule& schedule_;
  LoopView& view_;
  std::vector<std::vector<const Edge*>> in_;
  std::vector<bool> filled_;
  bool too_many_ = false;
};

}  // namespace

Cycle LoopView::issue_offset(int a, int b) const {
  const Cycle ii = schedule->initiation_interval, gap = start(a) - start(b);
  const Cycle least = ceil_divide(gap, ii);
  return least * ii == gap && rank[at(a)] >= rank[at(b)] ? least + 1 : least;
}

Cycle LoopView::end_offset(int a, int b) const {
  const Cycle ii = schedule->initiation_interval, gap = start(a) + ends[at(a)] - start(b);
  return std::max(issue_offset(a, b), ceil_divide(gap, ii));
}

std::optional<Refusal> view_loop(const Problem& problem, const Schedule& schedule, LoopView& view) {
  view = {};
  return Viewer(problem, schedule, view).run();
}

}  // namespace twill::program
