// How the tiles of a kernel lie in the registers of a slot's threads: as the target's products
// leave them, so that no product's result has to be laid out anew.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "graph/emit/legal.hpp"

namespace twill::emit {

struct RegisterTile {
  enum Form {
    accumulators,  ///< of wgmma (PTX ISA, "wgmma, register fragments"): 16 rows a warp
    row,           ///< a row a thread (tcgen05.ld.32x32b): 128 rows, 32 a warp
    half_row,      ///< half a row a thread (tcgen05.ld.16x32bx2): 64 rows, 16 a warp
  } form = accumulators;
  std::int64_t rows = 0, columns = 0;
  int warps = 0;
  std::int64_t across = 1;  ///< parts of the columns, each other warps'
};

/// Of `rows` x `columns` elements over `warps` warps; nullopt = it has no such layout.
std::optional<RegisterTile> register_tile(Target target, std::int64_t rows, std::int64_t columns,
                                          int warps);

/// Columns of one product of Hopper, whose results lie beside each other.
std::int64_t product_columns(const RegisterTile& tile);

/// Rows and columns of the elements that a thread has, register by register: those that lie side by
/// side in a row follow each other.
std::vector<std::pair<std::int64_t, std::int64_t>> elements(const RegisterTile& tile, int warp,
                                                            int lane);

/// The bits of an element's column that differ from thread to thread where its other bits are the
/// same for all threads, register by register; 0 = there are none, or the two are not apart.
std::int64_t column_bits_of_threads(const RegisterTile& tile);

}  // namespace twill::emit
