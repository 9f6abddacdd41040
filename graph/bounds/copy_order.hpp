// Copies of an op that can change places, as those of a loop that is unrolled: they may be taken to
// start one after another in their own order.
#pragma once

#include <vector>

#include "graph/problem.hpp"

namespace twill {

/// Ops c0, c1, ... and a number of cycles. Whatever I and L are: if there is a schedule, there is
/// one with the same I and L in which each of these ops starts at least `apart` cycles after the
/// one before it. `apart` may be 0. Only one such order at a time may be asked of a schedule.
struct CopyOrder {
  std::vector<int> ops;
  Cycle apart = 0;
};

/// The orders that are found of ops that can be exchanged (graph/bounds/automorphism.hpp): one for
/// each op of the first copy. Empty where there are none, and in loops of more than 1,000 ops,
/// where nothing is looked for. The same problem gives the same orders.
std::vector<CopyOrder> copy_orders(const Problem& problem);

}  // namespace twill
