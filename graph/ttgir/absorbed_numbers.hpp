#pragma once
#include <functional>
#include <map>
#include <vector>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// Numbers that a loop carries and that the op of a reduction computes, too.
struct AbsorbedNumbers {
  /// By reduction: the ops behind it, in the order of the text, up to the one that makes the
  /// number.
  std::map<int, std::vector<int>> behind;
  std::map<int, int> into;  ///< by such an op: its reduction
};

/// A number that is carried from iteration to iteration needs somebody to hold it. The op of a
/// reduction that it is made of computes it, where nothing else uses that reduction, nor what is
/// made of it on the way. Of several reductions the last one does: what it is added to may be made
/// of the others. One number a reduction. `body`: the loop's block; `is_node`: has an op of the
/// body a node of its own; `is_cut`: is it one of several sub-tiles?
AbsorbedNumbers absorbed_numbers(const Module& module, int body,
                                 const std::function<bool(int)>& is_node,
                                 const std::function<bool(int)>& is_cut);

}  // namespace twill::ttgir
