// Shared memory: its bytes, who may access them when, and ordinary loads and stores.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/emulator/state.hpp"

namespace twill::gpu::emulator {

/// The address that the 128-byte swizzle makes of this one.
inline std::uint32_t swizzle(std::uint32_t address) {
  return address ^ (((address >> 7) & 7) << 4);
}
/// The bytes there; fails beyond the end.
std::uint8_t* shared(Block& block, std::uint32_t address, std::uint32_t bytes);
/// A 16-bit element that TMA or wgmma reads.
std::uint16_t async_read(Block& block, std::uint32_t address);

/// Each line of [address, address + bytes).
template <class What>
void for_lines(std::uint32_t address, std::uint32_t bytes, const What& what) {
  for (std::uint32_t line = address / 16; line * 16 < address + bytes; ++line) what(line);
}
/// Adds to the count of each of them.
inline void count_lines(std::vector<int>& lines, std::uint32_t address, std::uint32_t bytes,
                        int add) {
  for_lines(address, bytes, [&](std::uint32_t line) { lines[line] += add; });
}

}  // namespace twill::gpu::emulator
