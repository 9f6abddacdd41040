// The part of a tensor that one instruction of TMA copies, by the tensor map.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gpu/emulator/machine.hpp"
#include "gpu/emulator/shared_memory.hpp"

namespace twill::gpu::emulator {

/// Calls what(address in shared memory, element in global memory or null beyond the tensor).
template <class What>
void for_box(std::uint32_t address, const Map& map, const std::array<int, 5>& at,
             const What& what) {
  const int rows = map.box[1];
  for (int p = 0; p < map.box[2]; ++p)
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < 64; ++c) {
        const std::array<int, 5> place = {c, at[1] + r, at[2] + p, at[3], at[4]};
        bool inside = true;
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < 5; ++i) {
          inside = inside && place[i] >= 0 && place[i] < map.dims[i];
          offset += place[i] * map.strides[i];
        }
        what(swizzle(address + static_cast<std::uint32_t>((p * rows + r) * 128 + c * 2)),
             inside ? map.data + offset : nullptr);
      }
}

inline std::uint32_t box_bytes(const Map& map) {
  return static_cast<std::uint32_t>(map.box[1] * map.box[2] * 128);
}
inline std::array<int, 5> coordinates(const int (&at)[5]) {
  return {at[0], at[1], at[2], at[3], at[4]};
}

}  // namespace twill::gpu::emulator
