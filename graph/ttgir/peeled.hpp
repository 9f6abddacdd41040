// The iterations of a pipelined loop that stand before it, and what its variables begin with.
//
// A software pipeliner that executes an op p iterations ahead writes its first p executions before
// the loop and guards those of the last p iterations: "is there an iteration i + p?". Where each of
// the first ones is found, reads what the op in the loop reads, and the guards ask just that, the
// loop in which the op works for the iteration at hand, from the first one on, is the loop from
// before the pipeliner. What is no execution of an op of the loop is what a variable begins with.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/ttgir/folded_loop.hpp"

namespace twill::ttgir {

/// What a pipeliner has left of the last iteration behind the loop (last_iteration.cpp).
struct LastIteration {
  std::set<int> branches;  ///< scf.if ops
  std::set<int> straight;  ///< ops that are the nodes' last executions, in no branch
  std::set<int> nodes;     ///< that are executed there
  /// Per result of a branch: node, its result, and how many iterations before that last one.
  std::map<std::pair<int, int>, std::tuple<int, int, std::int64_t>> results;
  std::vector<int> conditions;  ///< the values that the branches ask
};

/// Is it a branch without results that has nothing but waits for barriers in it?
bool only_waits(const Module& module, int branch);

/// Branches without any such op are left out.
LastIteration find_last_iteration(const FoldedLoop& loop);

struct Peeled {
  /// So many iterations has the loop from before more than the one that was replayed.
  std::int64_t more = 0;
  /// Per node: so many of its executions stand before the loop.
  std::vector<std::int64_t> ahead;
  /// Nodes that are integers which change evenly: by how much an iteration. They are not executed
  /// ahead: what reads them ahead reads another number.
  std::map<int, Linear> even;
  /// Node, result, iteration of the loop that was replayed (below 0): what stands for it there.
  std::map<std::tuple<int, int, std::int64_t>, Datum> first;
  /// Node, operand: what it reads in the first iteration, where that is another value than later.
  std::map<std::pair<int, std::size_t>, Datum> once;
  /// The executions before the loop that are of its nodes.
  std::set<int> executions;
  /// Ops before the loop, of the function or of a loop around it, that store something.
  std::set<int> stores;
  /// Branches behind the loop that have the last iteration of some nodes, if there is one.
  LastIteration last;
};

/// The ops before the loop, of the function or of a loop around it, that store something. Throws
/// CannotUndo where something around the loop is lost if it is written anew.
std::set<int> check_around(const FoldedLoop& loop);

/// Of a loop in its function, in partitions or in loops. Throws CannotUndo.
Peeled find_peeled(const FoldedLoop& loop);

}  // namespace twill::ttgir
