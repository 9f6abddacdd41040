#include "graph/loop.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>
#include <boost/graph/strong_components.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/property_map/property_map.hpp>
#include <iterator>

#include "graph/index.hpp"

namespace twill {
namespace {

/// Bundled edge property: index into Problem::edges.
struct Dependence {
  int index = 0;
};
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS,
                                    boost::no_property, Dependence>;
using Undirected = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;

/// The whole loop, or only its edges of distance 0.
Graph make_graph(const Problem& problem, bool carried) {
  Graph graph(problem.ops.size());
  for (std::size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge& edge = problem.edges[e];
    if (carried || edge.distance == 0)
      boost::add_edge(at(edge.from), at(edge.to), Dependence{static_cast<int>(e)}, graph);
  }
  return graph;
}

/// Longest-path relaxation (Bellman-Ford) over the arcs in an order in which paths of distance 0
/// settle in one pass, so that the number of passes is 1 + the carried edges of a longest path.
class LongestPaths {
 public:
  /// `reverse` turns every arc around, for distances towards an op.
  LongestPaths(const Problem& problem, Cycle ii, std::span<const Cycle> delays, bool reverse)
      : vertices_(problem.ops.size()) {
    const Graph graph = make_graph(problem, true);
    std::vector<int> order = topological_order(problem);
    if (reverse) std::reverse(order.begin(), order.end());
    const auto add = [&](int from, int to, int index) {
      const Edge& edge = problem.edges[at(index)];
      const Cycle delay = delays.empty() ? edge.delay : delays[at(index)];
      arcs_.push_back({at(from), at(to), delay - edge.distance * ii, index});
    };
    for (const int v : order) {
      if (reverse) {
        for (const auto& e : boost::make_iterator_range(boost::in_edges(at(v), graph)))
          add(v, static_cast<int>(boost::source(e, graph)), graph[e].index);
      } else {
        for (const auto& e : boost::make_iterator_range(boost::out_edges(at(v), graph)))
          add(v, static_cast<int>(boost::target(e, graph)), graph[e].index);
      }
    }
  }

  /// Raises `value` to the least fixed point above it. Returns the edges of a positive cycle that
  /// keeps raising it, empty when the fixed point was reached.
  std::vector<int> raise(std::vector<Cycle>& value) const {
    std::vector<int> parent(vertices_, -1);  // arc that raised the vertex last
    for (std::size_t pass = 0;; ++pass) {
      bool changed = false;
      for (std::size_t a = 0; a < arcs_.size(); ++a) {
        const Arc& arc = arcs_[a];
        if (value[arc.from] == kUnreachable) continue;
        const Cycle reached = value[arc.from] + arc.weight;
        if (reached <= value[arc.to]) continue;
        value[arc.to] = reached;
        parent[arc.to] = static_cast<int>(a);
        changed = true;
      }
      if (!changed) return {};
      // A cycle among the parents is positive, and after as many passes as vertices there is one.
      if (pass >= vertices_ || pass % 16 == 15)
        if (std::vector<int> cycle = parent_cycle(parent); !cycle.empty()) return cycle;
    }
  }

 private:
  struct Arc {
    std::size_t from, to;
    Cycle weight;
    int index;
  };

  std::vector<int> parent_cycle(const std::vector<int>& parent) const {
    std::vector<std::size_t> mark(vertices_, 0);  // walk that saw the vertex first
    for (std::size_t begin = 0; begin < vertices_; ++begin) {
      std::size_t v = begin;
      while (mark[v] == 0 && parent[v] >= 0) {
        mark[v] = begin + 1;
        v = arcs_[at(parent[v])].from;
      }
      if (mark[v] != begin + 1 || parent[v] < 0) continue;
      std::vector<int> cycle;
      std::size_t u = v;
      do {
        cycle.push_back(arcs_[at(parent[u])].index);
        u = arcs_[at(parent[u])].from;
      } while (u != v);
      std::reverse(cycle.begin(), cycle.end());
      return cycle;
    }
    return {};
  }

  std::size_t vertices_;
  std::vector<Arc> arcs_;
};

}  // namespace

Components strongly_connected_components(const Problem& problem) {
  const Graph graph = make_graph(problem, true);
  Components result{std::vector<int>(problem.ops.size()), 0};
  if (problem.ops.empty()) return result;
  result.count = boost::strong_components(
      graph,
      boost::make_iterator_property_map(result.of.begin(), boost::get(boost::vertex_index, graph)));
  return result;
}

Components weakly_connected_components(const Problem& problem) {
  Undirected graph(problem.ops.size());
  for (const Edge& edge : problem.edges) boost::add_edge(at(edge.from), at(edge.to), graph);
  Components result{std::vector<int>(problem.ops.size()), 0};
  if (problem.ops.empty()) return result;
  result.count = boost::connected_components(
      graph,
      boost::make_iterator_property_map(result.of.begin(), boost::get(boost::vertex_index, graph)));
  return result;
}

std::vector<int> topological_order(const Problem& problem) {
  std::vector<std::size_t> reversed;
  const Graph graph = make_graph(problem, false);
  boost::topological_sort(graph, std::back_inserter(reversed));
  return {reversed.rbegin(), reversed.rend()};
}

bool crossing_forced(const Problem& problem, const Edge& edge) {
  if (edge.from == edge.to) return false;
  const std::vector<int> from = allowed_slots(problem, edge.from);
  const std::vector<int> to = allowed_slots(problem, edge.to);
  std::vector<int> both;
  std::set_intersection(from.begin(), from.end(), to.begin(), to.end(), std::back_inserter(both));
  return both.empty();
}

bool crossing_possible(const Problem& problem, const Edge& edge) {
  if (edge.from == edge.to) return false;
  const std::vector<int> from = allowed_slots(problem, edge.from);
  return from.size() != 1 || from != allowed_slots(problem, edge.to);
}

std::vector<Cycle> forced_delays(const Problem& problem) {
  std::vector<Cycle> delays;
  delays.reserve(problem.edges.size());
  for (const Edge& edge : problem.edges)
    delays.push_back(edge.delay +
                     (crossing_forced(problem, edge) ? problem.ops[at(edge.from)].spill : 0));
  return delays;
}

std::vector<int> positive_cycle(const Problem& problem, Cycle ii, std::span<const Cycle> delays) {
  std::vector<Cycle> value(problem.ops.size(), 0);
  return LongestPaths(problem, ii, delays, false).raise(value);
}

std::optional<std::vector<Cycle>> earliest_starts(const Problem& problem, Cycle ii,
                                                  std::span<const Cycle> delays) {
  std::vector<Cycle> start(problem.ops.size(), 0);
  if (!LongestPaths(problem, ii, delays, false).raise(start).empty()) return std::nullopt;
  return start;
}

std::optional<std::vector<Cycle>> latest_starts(const Problem& problem, Cycle ii, Cycle length,
                                                std::span<const Cycle> delays) {
  // Tails: the smallest distance from an op's start to the end of the schedule.
  std::vector<Cycle> tail;
  for (const Op& op : problem.ops) tail.push_back(op.cycles);
  if (!LongestPaths(problem, ii, delays, true).raise(tail).empty()) return std::nullopt;
  for (Cycle& t : tail) t = length - t;
  return tail;
}

std::vector<Cycle> longest_paths_from(const Problem& problem, int source, Cycle ii,
                                      std::span<const Cycle> delays) {
  std::vector<Cycle> value(problem.ops.size(), kUnreachable);
  value[at(source)] = 0;
  LongestPaths(problem, ii, delays, false).raise(value);
  return value;
}

}  // namespace twill
