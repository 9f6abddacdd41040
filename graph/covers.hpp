// When one slot layout can do everything that another can.
#pragma once

#include "graph/problem.hpp"

namespace twill {

/// Two problems that differ in their slots only (the same loop on two layouts): is every schedule
/// of `other`, its slots renamed, one of `problem`? True if other's slots map one-to-one onto slots
/// of `problem` with at least as many registers, the same variable-latency mark, and wide enough
/// for every op of the loop that the original was wide enough for. False when the problems differ
/// elsewhere.
bool covers(const Problem& problem, const Problem& other);

}  // namespace twill
