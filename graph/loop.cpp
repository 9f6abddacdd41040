#include "graph/loop.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>
#include <boost/graph/strong_components.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/property_map/property_map.hpp>
#include <cassert>
#include <iterator>
#include <utility>

#include "graph/index.hpp"
#include "graph/inner_loops.hpp"
#include "graph/longest_paths.hpp"

namespace twill {
namespace {

/// Bundled edge property: index into Problem::edges.
struct Dependence {
  int index = 0;
};
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS,
                                    boost::no_property, Dependence>;
using Undirected = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;

/// Are all edges between ops of the problem? What check() would say in full takes too long here.
[[maybe_unused]] bool in_range(const Problem& problem) {
  const auto count = static_cast<int>(problem.ops.size());
  return std::all_of(problem.edges.begin(), problem.edges.end(), [&](const Edge& e) {
    return e.from >= 0 && e.from < count && e.to >= 0 && e.to < count && e.distance >= 0;
  });
}

/// Are these effective delays of the problem: one an edge, none below 0; or none at all?
[[maybe_unused]] bool are_delays(const Problem& problem, std::span<const Cycle> delays) {
  return delays.empty() ||
         (delays.size() == problem.edges.size() &&
          std::all_of(delays.begin(), delays.end(), [](Cycle d) { return d >= 0; }));
}

/// The whole loop, or only its edges of distance 0.
Graph make_graph(const Problem& problem, bool carried) {
  assert(in_range(problem));
  Graph graph(problem.ops.size());
  for (std::size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge& edge = problem.edges[e];
    if (carried || edge.distance == 0)
      boost::add_edge(at(edge.from), at(edge.to), Dependence{static_cast<int>(e)}, graph);
  }
  return graph;
}

/// The arcs of the edges, in an order in which paths of distance 0 settle in one pass: the number
/// of passes is then 1 + the carried edges of a longest path.
struct DependenceArcs {
  std::vector<PathArc<Cycle>> arcs;
  std::vector<int> edges;  ///< of each arc
};

/// `reverse` turns every arc around, for distances towards an op.
DependenceArcs dependence_arcs(const Problem& problem, Cycle ii, std::span<const Cycle> delays,
                               bool reverse) {
  const Graph graph = make_graph(problem, true);
  std::vector<int> order = topological_order(problem);
  if (reverse) std::reverse(order.begin(), order.end());
  DependenceArcs result;
  const auto add = [&](int from, int to, int index) {
    const Edge& edge = problem.edges[at(index)];
    const Cycle delay = delays.empty() ? edge.delay : delays[at(index)];
    result.arcs.push_back({from, to, delay - edge.distance * ii});
    result.edges.push_back(index);
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
  return result;
}

/// Raises `value` to the least fixed point above it. Returns the edges of a positive cycle that
/// keeps raising it, empty when the fixed point was reached.
std::vector<int> raise(std::vector<Cycle>& value, DependenceArcs dependences) {
  LongestPaths<Cycle> paths(std::move(dependences.arcs), std::move(value), kUnreachable);
  std::vector<int> cycle = paths.raise();
  value = std::move(paths.values());
  for (int& arc : cycle) arc = dependences.edges[at(arc)];
  return cycle;
}

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
  assert(in_range(problem));
  Undirected graph(problem.ops.size());
  for (const Edge& edge : problem.edges) boost::add_edge(at(edge.from), at(edge.to), graph);
  for (const FixedDistance& d : fixed_distances(problem))
    boost::add_edge(at(d.earlier), at(d.later), graph);
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
  assert(reversed.size() == problem.ops.size());
  return {reversed.rbegin(), reversed.rend()};
}

bool crossing_forced(const Problem& problem, const Edge& edge) {
  if (edge.from == edge.to) return false;
  const std::vector<int> from = allowed_slots(problem, edge.from);
  const std::vector<int> to = allowed_slots(problem, edge.to);
  std::vector<int> both;
  std::set_intersection(from.begin(), from.end(), to.begin(), to.end(), std::back_inserter(both));
  return both.empty() || std::any_of(problem.pins.begin(), problem.pins.end(), [&](const Pin& p) {
           return p.kind == Pin::other_slot &&
                  std::minmax(p.op, p.other) == std::minmax(edge.from, edge.to);
         });
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
    delays.push_back(edge.delay + (crossing_forced(problem, edge) ? spill_of(problem, edge) : 0));
  return delays;
}

std::vector<int> positive_cycle(const Problem& problem, Cycle ii, std::span<const Cycle> delays) {
  assert(ii >= 0 && are_delays(problem, delays));
  std::vector<Cycle> value(problem.ops.size(), 0);
  return raise(value, dependence_arcs(problem, ii, delays, false));
}

std::optional<std::vector<Cycle>> earliest_starts(const Problem& problem, Cycle ii,
                                                  std::span<const Cycle> delays) {
  assert(ii >= 1 && are_delays(problem, delays));
  std::vector<Cycle> start(problem.ops.size(), 0);
  if (!raise(start, dependence_arcs(problem, ii, delays, false)).empty()) return std::nullopt;
  return start;
}

std::optional<std::vector<Cycle>> latest_starts(const Problem& problem, Cycle ii, Cycle length,
                                                std::span<const Cycle> delays) {
  assert(ii >= 1 && are_delays(problem, delays));
  // Tails: the smallest distance from an op's start to the end of the schedule.
  std::vector<Cycle> tail;
  for (const Op& op : problem.ops) tail.push_back(op.cycles);
  if (!raise(tail, dependence_arcs(problem, ii, delays, true)).empty()) return std::nullopt;
  for (Cycle& t : tail) t = length - t;
  return tail;
}

std::vector<Cycle> longest_paths_from(const Problem& problem, int source, Cycle ii,
                                      std::span<const Cycle> delays) {
  assert(ii >= 1 && are_delays(problem, delays) && at(source) < problem.ops.size());
  std::vector<Cycle> value(problem.ops.size(), kUnreachable);
  value[at(source)] = 0;
  [[maybe_unused]] const std::vector<int> cycle =
      raise(value, dependence_arcs(problem, ii, delays, false));
  assert(cycle.empty());
  return value;
}

}  // namespace twill
