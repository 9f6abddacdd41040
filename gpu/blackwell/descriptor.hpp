// Descriptors of tcgen05.mma (PTX ISA 9.0, "Shared Memory Descriptor", "Instruction descriptor").
#pragma once

#include <cstdint>

#include "gpu/hopper/both.hpp"
#include "gpu/hopper/element.hpp"

namespace twill::gpu {

/// An operand in shared memory, 128-byte swizzled; the pattern begins at multiples of 1024 bytes.
/// K-major (the product sums along a row of 128 bytes): `leading` unused, `stride` = bytes between
/// groups of 8 rows. MN-major (it sums over rows): `leading` = bytes between panels of 64 elements,
/// `stride` = bytes between groups of 8 rows. A step of n bytes along a tile adds n / 16.
TWILL_GPU_BOTH std::uint64_t operand_descriptor(std::uint32_t address, std::uint32_t leading,
                                                std::uint32_t stride) {
  return static_cast<std::uint64_t>((address & 0x3FFFF) >> 4) |
         static_cast<std::uint64_t>(leading >> 4) << 16 |
         static_cast<std::uint64_t>(stride >> 4) << 32 | std::uint64_t{1} << 46 |
         std::uint64_t{2} << 61;
}

/// kind::f16, dense: D[m x n] in fp32 of 16-bit operands; a_rows, b_rows: the operand is MN-major.
TWILL_GPU_BOTH constexpr std::uint32_t instruction_descriptor(Element element, int m, int n,
                                                              bool a_rows, bool b_rows) {
  const std::uint32_t type = element == Element::bf16 ? 1 : 0;
  return 1u << 4 | type << 7 | type << 10 | (a_rows ? 1u << 15 : 0) | (b_rows ? 1u << 16 : 0) |
         static_cast<std::uint32_t>(n) >> 3 << 17 | static_cast<std::uint32_t>(m) >> 4 << 24;
}

}  // namespace twill::gpu
