// Bank conflicts of what slots hand to each other through shared memory.
//
// Shared memory has 32 banks of 4 bytes; word w lies in bank w mod 32. An instruction of a warp
// moves 4, 8 or 16 bytes a thread, for 32, 16 or 8 threads at a time: a *wavefront*, if no two
// different words lie in one bank, else as many as lie in the fullest bank (CUDA C++ Programming
// Guide, "Shared Memory"; NVIDIA Nsight Compute documentation, "Wavefronts"). Threads that read the
// same word count once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/emit/register_tile.hpp"
#include "graph/program/program.hpp"

namespace twill::emit {

struct Wavefronts {
  std::int64_t taken = 0;
  std::int64_t least = 0;  ///< without conflicts
  bool operator==(const Wavefronts&) const = default;
};

/// Byte of an element of a tile with rows of `columns` elements of `bytes` bytes, as bulk copies
/// and products want tiles: rows of at most 128 bytes, columns behind those as further blocks; in
/// them pieces of 16 bytes are exchanged by the row (PTX ISA, "Swizzling modes"): over 128, 64 or
/// 32 bytes, as many as divide a row, else not at all.
std::int64_t swizzled_byte(std::int64_t rows, std::int64_t columns, int bytes, std::int64_t row,
                           std::int64_t column);

/// What all threads together need to write, or read, a tile in shared memory by ordinary
/// instructions (st.shared, ld.shared), as wide as the registers of each thread lie side by side.
Wavefronts wavefronts(const RegisterTile& tile, int bytes);

/// An access of a matrix that is handed over: by op `op` of a slot's own instructions.
struct HandOverAccess {
  int storage = 0;
  int op = 0;
  bool writes = false;
  Wavefronts wavefronts;
};

/// Of every matrix in shared memory that crosses slots, accesses of the slots' own instructions,
/// storage by storage; those of bulk copies and products have no conflicts in these layouts, nor
/// have vectors, whose elements lie side by side. Where stmatrix or ldmatrix does an access, it
/// takes no more. Empty where the program has no meaning.
std::vector<HandOverAccess> hand_over_accesses(const program::Program& program);

/// "no bank conflicts", "bank conflicts (256 wavefronts, 128 without)".
std::string to_text(const Wavefronts& wavefronts);

}  // namespace twill::emit
