// Who waits for whom at a buffer, without holding a value that is not handed on (see builder.hpp).
//
// An edge of the problem keeps its producer's result until its consumer starts, and costs a spill
// where it crosses slots. Right for values, wrong for a write that waits until the buffer was read:
// it would keep what was read in registers until the write. Such edges are left out where a chain
// of values orders the two ops as well (load, scale, store back); elsewhere an op of no time that
// holds nothing stands for the reader's release of the buffer, an arrival at a barrier.
#include <algorithm>

#include "graph/ttgir/builder.hpp"

namespace twill::ttgir {
namespace {

// Edges looked at, for all edges in question; from then on edges stay, which is right and dearer.
constexpr std::int64_t kMaxSearch = 50'000'000;

/// Is an edge's consumer reached from its producer by the others that are left, within its
/// distance? The first edge must wait for the producer's whole latency.
class Reach {
 public:
  Reach(const std::vector<KernelEdge>& edges, const std::vector<NodeInfo>& nodes)
      : edges_(edges), left_(edges.size(), true), inner_(edges.size()), out_(nodes.size()) {
    for (std::size_t e = 0; e < edges.size(); ++e) {
      out_[edges[e].from].push_back(e);
      inner_[e] = nodes[edges[e].from].inner && nodes[edges[e].to].inner;
    }
  }

  /// Leaves the edge out if the others imply it.
  bool implied(std::size_t edge) {
    left_[edge] = false;
    if (reached(edge)) return true;
    left_[edge] = true;
    return false;
  }

 private:
  bool reached(std::size_t edge) {
    const std::size_t from = edges_[edge].from, to = edges_[edge].to;
    const int distance = edges_[edge].distance;
    const std::size_t levels = static_cast<std::size_t>(distance) + 1;
    if (seen_.size() < out_.size() * levels) seen_.resize(out_.size() * levels, 0);
    ++search_;
    work_.clear();
    const auto follow = [&](std::size_t node, int used, bool first) {
      for (const std::size_t e : out_[node]) {
        ++steps_;
        const KernelEdge& next = edges_[e];
        // Of a nest: iterations of its two loops do not add up.
        if (!left_[e] || inner_[e] != inner_[edge]) continue;
        const int sum = used + next.distance;
        if (sum > distance || (first && (next.delay || next.accumulate))) continue;
        const std::size_t key = next.to * levels + static_cast<std::size_t>(sum);
        if (seen_[key] == search_) continue;
        seen_[key] = search_;
        work_.emplace_back(next.to, sum);
      }
    };
    follow(from, 0, true);
    // The nearest first: what orders two accesses as well is a short chain.
    for (std::size_t next = 0; next < work_.size() && steps_ < kMaxSearch; ++next) {
      const auto [node, used] = work_[next];
      if (node == to) return true;
      follow(node, used, false);
    }
    return false;
  }

  const std::vector<KernelEdge>& edges_;
  std::vector<bool> left_, inner_;
  std::vector<std::vector<std::size_t>> out_;
  std::vector<std::int64_t> seen_;  // the last search that came there
  std::int64_t search_ = 0;
  std::vector<std::pair<std::size_t, int>> work_;
  std::int64_t steps_ = 0;
};

}  // namespace

/// The last step that adds edges: what finds them by their ends is cleared.
void Builder::release_readers() {
  const std::vector<KernelEdge> edges = std::move(out_.kernel.edges);
  const auto holds_memory = [&](std::size_t v) {
    const auto& result = at(v).result;
    return result && *result != "registers" && *result != "none";
  };
  // What only orders accesses and keeps no buffer alive.
  std::vector<bool> only_orders(edges.size());
  for (std::size_t e = 0; e < edges.size(); ++e)
    only_orders[e] = orders_[e] && !edges[e].accumulate && !holds_memory(edges[e].from);
  Reach others(edges, out_.nodes);
  out_.kernel.edges.clear();
  edge_index_.clear();
  orders_.clear();
  out_.kernel.edges.reserve(edges.size());
  std::map<std::size_t, std::size_t> releases;  // reader -> its release
  for (std::size_t e = 0; e < edges.size(); ++e) {
    KernelEdge edge = edges[e];
    if (only_orders[e]) {
      if (others.implied(e)) continue;
      if (at(edge.from).registers.value_or(0) > 0) {
        const auto [found, fresh] = releases.try_emplace(edge.from, 0);
        if (fresh) {
          const NodeInfo reader = out_.nodes[edge.from];
          found->second = add_node(reader.op, reader.copy, "release", {});
          KernelOp& release = at(found->second);
          release.kind = "release";
          release.cost = GivenCost();
          release.width = at(edge.from).width;
          release.result = "none";
          release.registers = 0;
          out_.nodes[found->second].note = "what it read may be written again";
          KernelEdge done;
          done.from = edge.from;
          done.to = found->second;
          out_.kernel.edges.push_back(done);
        }
        edge.from = found->second;
      }
    }
    out_.kernel.edges.push_back(edge);
  }
}

}  // namespace twill::ttgir
