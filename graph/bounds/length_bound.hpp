// Arithmetic lower bounds on the length of one iteration at a given initiation interval.
#pragma once

#include <vector>

#include "graph/bounds/bounds.hpp"

namespace twill {

/// "No schedule at initiation interval `ii` has L below `value`", largest first; empty when no
/// schedule exists at `ii` because a dependence cycle gains time.
///   dependences  the longest path, with the spills that every schedule pays
///   lifetimes    (pins, where ops are pinned to cycles) the longest path with these and with what
///                the copies that can be live at once ask for (graph/bounds/start_arcs.hpp), where
///                it is longer by many intervals
///   units        what one iteration asks of a unit, after the least head and before the least tail
///                of any set of its segments (the one-machine bound: Carlier, EJOR 1982)
///   slot         the same for the ops that wait on one slot, which exclude each other; with what
///                others use of a unit between them, where that is more
///                (graph/bounds/slot_line.hpp)
///   copies       any of them with copies that can change places in order
///                (graph/bounds/copy_order.hpp), where that is more than all of these
///   two units    what one unit has to end before another begins, where that is more still
///                (graph/bounds/two_units.hpp)
///   deadline     what leaves some op no place by then, where that is more still
///                (graph/bounds/destructive.hpp)
std::vector<Bound> length_bounds(const Problem& problem, Cycle ii);

/// All of them but by copies, slot_line.hpp, two units and deadlines, which take longer than the
/// others together.
std::vector<Bound> plain_length_bounds(const Problem& problem, Cycle ii);

}  // namespace twill
