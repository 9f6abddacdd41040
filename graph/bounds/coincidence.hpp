// Ops that may start together: some loads, views and allocations have nothing to gain from a start
// of their own.
//
// A dominance rule in the sense of branch and bound (Ibaraki, "The power of dominance relations in
// branch-and-bound algorithms", Journal of the ACM 24, 1977): from any schedule that breaks it,
// another one follows that keeps it and is as good. Attention loops have many such ops.
#pragma once

#include <vector>

#include "graph/problem.hpp"

namespace twill {

/// Per op the one whose start it may share, its leader, or itself. Leaders are their own. If there
/// is a schedule with some I and L, there is one with the same slots, no larger I and L, no larger
/// stage and no deeper ring, in which every op starts with its leader; leaders start when they did.
///
/// Two moves, each of which keeps every rule. Both are of ops that execute for no cycles, reserve
/// no unit and never wait (no blocking edge, nothing handed over from another slot), so that only
/// edges tell where they may be:
///   - back: an op that keeps nothing alive and has one edge in, without delay and distance, starts
///     with the producer, whose value then lives no longer;
///   - forth: ops that start together and have no edge in from others start with one of their
///     consumers, to which an edge leads without delay and distance, if dependences keep all other
///     consumers away from it for as long as their edges ask. What these ops keep alive then lives
///     shorter. They may have no spill, no edges to themselves, and among themselves no uses in
///     later iterations or that hold what they use.
/// Ops that are pinned to a cycle stay where they are.
std::vector<int> leaders(const Problem& problem);

}  // namespace twill
