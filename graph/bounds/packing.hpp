// Lower bounds on I from results that do not fit side by side: registers slot by slot, memories.
#pragma once

#include <optional>

#include "graph/bounds/bounds.hpp"

namespace twill {

/// "No schedule has I < value", where this is more than `low`, below which none has either.
/// Least lifetimes are those that whole paths of dependences ask for, and weights in the place of
/// amounts say what amounts exclude each other: a slot of 200 registers holds one result of 128.
/// Where results never fit, whatever I is, the value is one more than serial_ii(). The proof is in
/// packing.cpp.
/// Preconditions: problem is consistent (graph/accepted.hpp), low >= 1, and no dependence cycle,
/// forced spills counted, gains time at `low`.
std::optional<Bound> packing_bound(const Problem& problem, Cycle low);

}  // namespace twill
