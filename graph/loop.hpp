// The loop as a dependence graph: components, orders, longest paths.
//
// An edge (u, v, d, delta) says M(v) + delta * I >= M(u) + d, so at a given initiation interval I
// it is an arc of weight d - delta * I of a longest-path problem. A positive cycle means that I is
// below the recurrence bound (Lam, PLDI 1988; Rau, MICRO-27 1994).
//
// Preconditions of everything here: check() has accepted the problem (indices in range, no cycle
// whose distances are all 0). The graph library stays inside loop.cpp.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/problem.hpp"

namespace twill {

/// Strongly connected components, numbered so that an edge never leads to a larger number.
struct Components {
  std::vector<int> of;  ///< per op
  int count = 0;
};
Components strongly_connected_components(const Problem& problem);

/// Components of the underlying undirected graph.
Components weakly_connected_components(const Problem& problem);

/// All ops, each after its predecessors over edges of distance 0.
std::vector<int> topological_order(const Problem& problem);

/// Must `edge` cross slots in every schedule, because its two ops have no allowed slot in common?
bool crossing_forced(const Problem& problem, const Edge& edge);

/// Can `edge` cross slots in some schedule? False for a self edge and for two ops that are bound to
/// the same single slot.
bool crossing_possible(const Problem& problem, const Edge& edge);

/// Per edge its delay, plus the producer's spill where the crossing is forced (rule 7).
std::vector<Cycle> forced_delays(const Problem& problem);

/// In the functions below `delays` are the effective delays per edge, in cycles; empty stands for
/// the problem's own. Every delay is >= 0 and I >= 1.

/// The edges of a cycle whose delays add up to more than I times its distances, in path order;
/// empty when there is none. I = 0 is allowed here.
std::vector<int> positive_cycle(const Problem& problem, Cycle ii,
                                std::span<const Cycle> delays = {});

/// The componentwise smallest starts >= 0 that satisfy every dependence; nullopt when a positive
/// cycle exists.
std::optional<std::vector<Cycle>> earliest_starts(const Problem& problem, Cycle ii,
                                                  std::span<const Cycle> delays = {});

/// The componentwise largest starts M(v) <= length - cycles(v) that satisfy every dependence;
/// nullopt when a positive cycle exists. A negative start means that `length` is too short.
std::optional<std::vector<Cycle>> latest_starts(const Problem& problem, Cycle ii, Cycle length,
                                                std::span<const Cycle> delays = {});

/// Longest paths from op `source` to every op, kUnreachable where there is none. Precondition: no
/// positive cycle at this I.
inline constexpr Cycle kUnreachable = -4'000'000'000'000'000'000;
std::vector<Cycle> longest_paths_from(const Problem& problem, int source, Cycle ii,
                                      std::span<const Cycle> delays = {});

}  // namespace twill
