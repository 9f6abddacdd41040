#include "gpu/emulator/tensor_descriptors.hpp"

#include "gpu/emulator/core.hpp"

namespace twill::gpu::emulator {

namespace {

std::uint64_t field(std::uint64_t word, int low, int high) {
  return word >> low & ((std::uint64_t{1} << (high - low + 1)) - 1);
}

std::uint32_t short_field(std::uint32_t word, int low, int high) {
  return static_cast<std::uint32_t>(field(word, low, high));
}

}  // namespace

Instruction decode(std::uint32_t word) {
  if (field(word, 0, 2) != 0) core::fail("an instruction descriptor for sparse operands");
  if (field(word, 3, 3) != 0) core::fail("an instruction descriptor that saturates");
  if (field(word, 4, 5) != 1) core::fail("an instruction descriptor with results other than fp32");
  const std::uint64_t a = field(word, 7, 9), b = field(word, 10, 12);
  if (a > 1 || a != b)
    core::fail("an instruction descriptor with operands of types other than two f16 or two bf16");
  if (field(word, 13, 14) != 0) core::fail("an instruction descriptor that negates");
  if (field(word, 6, 6) != 0 || field(word, 23, 23) != 0 || field(word, 29, 29) != 0)
    core::fail("an instruction descriptor with reserved bits");
  if (field(word, 30, 31) != 0) core::fail("an instruction descriptor with a shift");
  Instruction how;
  how.element = a == 1 ? Element::bf16 : Element::f16;
  how.a_rows = field(word, 15, 15) != 0;
  how.b_rows = field(word, 16, 16) != 0;
  how.n = static_cast<std::uint32_t>(field(word, 17, 22) * 8);
  how.m = static_cast<std::uint32_t>(field(word, 24, 28) * 16);
  if (how.m != kLanes && how.m != kLanes / 2)
    core::fail("a tcgen05.mma of other than 128 or 64 rows is not emulated");
  const std::uint32_t step = how.m == kLanes ? 16 : 8;
  if (how.n < step || how.n > 256 || how.n % step != 0)
    core::fail("a tcgen05.mma has 16 to 256 columns by 16, of 64 rows 8 to 256 by 8");
  return how;
}

Operand::Operand(std::uint64_t word, bool rows) : rows_(rows) {
  start_ = static_cast<std::uint32_t>(field(word, 0, 13) * 16);
  leading_ = static_cast<std::uint32_t>(field(word, 16, 29) * 16);
  stride_ = static_cast<std::uint32_t>(field(word, 32, 45) * 16);
  if (field(word, 46, 48) != 1)
    core::fail("a shared memory descriptor without 0b001 in bits 46 to 48");
  if (field(word, 14, 15) != 0 || field(word, 30, 31) != 0 || field(word, 53, 60) != 0)
    core::fail("a shared memory descriptor with reserved bits");
  if (field(word, 52, 52) != 0)
    core::fail("a shared memory descriptor of absolute strides is sm_103a's");
  if (field(word, 49, 51) != 0)
    core::fail("a shared memory descriptor with a base offset is not emulated");
  if (field(word, 61, 63) != 2)
    core::fail("a shared memory descriptor that is not 128-byte swizzled");
  if (!rows && start_ % 128 > 128 - 2 * kDepth)
    core::fail("an operand that leaves its row of 128 bytes");
}

// The canonical layouts Swizzle<3,4,3> of 16-bit elements, K-major ((8, m), (8, 2)) : ((64,
// stride), (1, 8)), MN-major ((8, 8, m), (8, k)) : ((1, 8, leading), (64, stride)); the swizzle is
// one of addresses.
std::uint32_t Operand::at(std::uint32_t i, std::uint32_t k) const {
  const std::uint32_t offset = rows_
                                   ? i % 64 * 2 + i / 64 * leading_ + k % 8 * 128 + k / 8 * stride_
                                   : i % 8 * 128 + i / 8 * stride_ + k * 2;
  const std::uint32_t plain = start_ + offset;
  const std::uint32_t bits = short_field(plain, 7, 9);
  return plain ^ bits << 4;
}

void Operand::lines(std::uint32_t count, std::vector<std::uint32_t>& all) const {
  for (std::uint32_t i = 0; i < count; i += rows_ ? 8 : 1)
    for (std::uint32_t k = 0; k < kDepth; k += rows_ ? 1 : 8) all.push_back(at(i, k) / 16);
}

}  // namespace twill::gpu::emulator
