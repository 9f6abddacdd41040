// A kernel whose programs do tile after tile: what stands around each slot's code then.
#pragma once

#include <string>
#include <vector>

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// A number that the kernel computes before the loop.
struct KernelNumber {
  std::string name, value, comment;
};

/// A slot's code once for each `tile` of `range`, which is text as in "0, tiles, 1". Before it
/// stand those of the numbers that it names. `first` (iterations of the tiles before) and `turn`
/// (tiles before) are counted where it names them.
std::string tile_loop(const std::string& range, const std::vector<KernelNumber>& numbers,
                      const std::string& body);

/// Of a kernel file's kernel: where the tiles of the program's block lie, by block_0, block_1 and
/// batch, which are the grid's.
std::vector<KernelNumber> block_places(const Plan& plan);

/// The same where the program does tile after tile (EmitOptions::persistent).
std::string persistent_loop(const Plan& plan, const std::string& body);

/// Arguments of such a kernel: how many blocks there are along both axes, and in all.
inline const char* const kBlockCounts[] = {"blocks_0", "blocks_1", "tile_count"};

}  // namespace twill::emit
