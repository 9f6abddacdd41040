// A loop unrolled: an iteration of the new loop is several of the old one, one after another.
//
// An op of the old loop is on one slot and has one row in all iterations. Its copies may be on
// different slots and have rows of their own, so that iterations take turns on two warpgroups, and
// an interval need not be a whole number of cycles an iteration. A schedule of the old
// loop is one of the new, but for two things: each copy of a load has a ring of its own, and an op
// that waits may not be issued while a copy of it executes on its slot, as it may while it does
// itself (rule 8 is about other ops).
#pragma once

#include <optional>
#include <string>

#include "graph/lower.hpp"
#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// Largest number of iterations in one; together with the limits of a problem.
inline constexpr int kMostCopies = 64;

/// "i0_qk" of "qk": it is an identifier where that is one.
std::string copy_name(const std::string& name, int copy);

/// Op "v" of iteration copies * i + k is op copy_name("v", k) of iteration i: all ops of copy 0
/// first, then those of copy 1. What reads d iterations back reads the copy that is d before it, in
/// this iteration or an earlier one. Pins to slots hold for each copy, a range of initiation
/// intervals is `copies` times as large, N iterations are copies * N of the old loop. `copies` = 1
/// gives the problem as it is. Throws InputError for ops that are pinned to a cycle or a stage, for
/// inner loops, and where the limits of a problem are exceeded.
Problem unrolled(const Problem& problem, int copies);

/// A loop, and how many of its iterations are one of another loop.
struct RolledLoop {
  Problem loop;
  int copies = 2;
};

/// The loop that `problem` is unrolled from, but for names, with as few copies as it can be
/// unrolled into: so a loop unrolled four times is one unrolled twice, unrolled twice. none where
/// it is unrolled from none, or has pins, inner loops or a range of intervals.
std::optional<RolledLoop> rolled(const Problem& problem);

/// The schedule of the unrolled loop in which every copy does what `schedule` does of the loop. (It
/// may break rule 8 or have more buffers, as said above.)
Schedule repeated(const Problem& unrolled, const RolledLoop& rolled, const Schedule& schedule);

/// unrolled() of a loop on a machine: bandwidth sums are those of all copies, and what it was made
/// of says "unroll".
void unroll(Lowered& lowered, int copies);

}  // namespace twill
