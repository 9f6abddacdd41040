// What is the same in every schedule of a problem, for the second computation of bounds
// (counting.hpp).
#pragma once

#include <optional>
#include <vector>

#include "graph/problem.hpp"
#include "graph/wide.hpp"

namespace twill {

struct Forced {
  explicit Forced(const Problem& problem);

  std::vector<std::vector<int>> slots;  ///< per op, that it may be on by rule 5 and its own pins
  std::vector<Cycle> delay;  ///< per edge, with the spill where its ops have no slot in common
  std::vector<char> waits;   ///< per op: is something never issued with it, by rule 8?
};

/// The least starts of all ops at interval `ii`; nullopt when a cycle of dependences gains time.
std::optional<std::vector<Wide>> earliest(const Problem& problem, const Forced& forced, Cycle ii);

/// From the start of each op to the end of the iteration, at least; nullopt likewise.
std::optional<std::vector<Wide>> remaining(const Problem& problem, const Forced& forced, Cycle ii);

}  // namespace twill
