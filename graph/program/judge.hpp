// The independent judge of a program. Shares no code with derive().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/program/program.hpp"

namespace twill::program {

/// The first thing that is wrong with a program.
struct Fault {
  /// "shape", "memory", "bytes", "arrivals", "fence" (of the program itself), "deadlock", "race",
  /// "in place", "version", "phase" (of a trip count n) or "window" (too large, or not for every
  /// n).
  std::string rule;
  std::string text;  ///< v[i] is op v of iteration i
  /// Op instances that show it: the circle of a deadlock, the two of a race, reader and both
  /// writers of a wrong version, waiter and waited for.
  std::vector<std::string> witness;
};

/// Judges every run of `n` >= 0 iterations. What may happen, in whatever order:
///
/// - A slot executes its code in order; slots go on independently of each other.
/// - An op that does not end at once reads and writes at any time after its issue, until it ends,
/// at
///   any time later; ops of one queue one after the other. What it reads is read, and what it
///   writes written, in any order between its beginning and its end.
/// - A wait on a barrier passes when the barrier's parity says so, right or wrong.
///
/// Checked are: capacity, alignment, addresses that the program says are shared, those of barriers;
/// arrivals and bytes; fences between what slots write and asynchronous units read; no deadlock;
/// every two accesses of an address of which one writes are ordered, but for an op's own in place;
/// every read sees the copy of the iteration that it names (also those from before the loop, and
/// those that are left after it); no barrier is a phase ahead or behind for a wait. nullopt =
/// accepted. Of the program nothing is assumed but valid indices (the reader sees to them, and
/// derive()).
std::optional<Fault> judge(const Program& program, int n);

/// Judges all n >= 0 by finitely many of them; judge.cpp argues why they are enough. Programs in
/// which a wait is for an op of a later period are refused (rule "window"), as are those for which
/// the work is too large.
std::optional<Fault> judge(const Program& program);

/// Judges every sequence of runs, one for each tile of a loop around the loop: each of any number
/// of iterations, all of them one after the other on each slot, while slots go on to the next tile
/// independently of each other. Iterations are counted through all tiles, for copies, barriers and
/// phases; a wait for an iteration of an earlier tile is executed. Carried values that a tile
/// begins with, and what follows the loop in a tile, are not looked at: whoever makes them orders
/// them himself. Rule "tiles" where a wait is for a later iteration, which another tile may have.
/// That each tile by itself is right is for judge(program) to say.
std::optional<Fault> judge_tiles(const Program& program);

/// All n up to this one are enough; nullopt = the argument does not hold of this program.
std::optional<int> enough_iterations(const Program& program);

}  // namespace twill::program
