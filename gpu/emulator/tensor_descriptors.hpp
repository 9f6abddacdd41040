// The descriptors of tcgen05.mma, as PTX ISA 9.0 lays them out: decoded, and refused where a field
// is not allowed or not emulated.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/hopper/element.hpp"

namespace twill::gpu::emulator {

/// Rows of a product, lanes of tensor memory; depth of an instruction.
inline constexpr std::uint32_t kLanes = 128, kDepth = 16;

/// What an instruction descriptor says.
struct Instruction {
  Element element = Element::f16;
  std::uint32_t m = 0, n = 0;
  bool a_rows = false, b_rows = false;  ///< the operand is MN-major
};

/// "Instruction descriptor", the column of kind::f16.
Instruction decode(std::uint32_t word);

/// "Shared Memory Descriptor": where elements of a 128-byte swizzled operand lie.
class Operand {
 public:
  Operand(std::uint64_t word, bool rows);
  /// Of row or column `i`, `k` deep.
  std::uint32_t at(std::uint32_t i, std::uint32_t k) const;
  /// Adds the lines of 16 bytes that `count` rows or columns have.
  void lines(std::uint32_t count, std::vector<std::uint32_t>& all) const;

 private:
  std::uint32_t start_, leading_, stride_;
  bool rows_;
};

}  // namespace twill::gpu::emulator
