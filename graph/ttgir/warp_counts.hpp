// How many warps execute an op, and whether the layouts of its tiles are for so many. Private to
// graph/ttgir/.
#pragma once

#include <vector>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The warps of each region of a ttg.warp_specialize: the default one's, then the partitions'. 0 =
/// the text does not say.
std::vector<int> region_warps(const Module& module, int warp_specialize);

/// Refuses (InputError) a function in which an op uses or makes a tile whose layout shares it out
/// over another number of warps than execute the op: Triton does not verify such a module, and what
/// a thread holds of the tile is not known. Of layouts whose count is not known nothing is said.
void check_warp_counts(const Module& module, int loop);

}  // namespace twill::ttgir
