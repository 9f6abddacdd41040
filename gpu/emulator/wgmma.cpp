// wgmma: its operands by descriptor (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"),
// its arithmetic, and the groups in which a warpgroup waits for it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gpu/emulator/machine.hpp"
#include "gpu/emulator/meeting.hpp"
#include "gpu/emulator/numbers.hpp"
#include "gpu/emulator/shared_memory.hpp"
#include "gpu/emulator/state.hpp"
#include "gpu/emulator/threads.hpp"

namespace twill::gpu::emulator {

namespace {

/// Address of element (row or column i, depth k) of an operand in shared memory, by descriptor.
std::uint32_t operand_at(std::uint64_t tile, bool transposed, int i, int k) {
  const auto start = static_cast<std::uint32_t>(tile & 0x3FFF) << 4;
  const auto leading = static_cast<std::uint32_t>(tile >> 16 & 0x3FFF) << 4;
  const auto stride = static_cast<std::uint32_t>(tile >> 32 & 0x3FFF) << 4;
  if (tile >> 62 != 1) fail("a descriptor that is not 128-byte swizzled");
  if ((tile >> 49 & 7) != (start >> 7 & 7))
    fail("a descriptor without the base offset of its address, which is not a multiple of 1024");
  const auto r = static_cast<std::uint32_t>(i), c = static_cast<std::uint32_t>(k);
  const std::uint32_t at =
      transposed ? start + r / 64 * leading + r % 64 * 2 + c % 8 * 128 + c / 8 * stride
                 : start + r % 8 * 128 + r / 8 * stride + c * 2;
  return swizzle(at);
}
std::uint16_t operand(Block& block, std::uint64_t tile, bool transposed, int i, int k) {
  return async_read(block, operand_at(tile, transposed, i, k));
}

/// The 16 bytes that hold 8 elements each of an operand of `count` rows or columns.
void add_lines(std::vector<std::uint32_t>& lines, std::uint64_t tile, bool transposed, int count) {
  for (int i = 0; i < count; i += transposed ? 8 : 1)
    for (int k = 0; k < 16; k += transposed ? 1 : 8)
      lines.push_back(operand_at(tile, transposed, i, k) / 16);
}
/// A wgmma is in flight from here, and reads these lines.
void find_lines(Block& block, Wgmma& op) {
  const Multiply& m = op.of;
  if (m.a == nullptr) add_lines(op.lines, m.a_tile, m.a_transposed, 64);
  add_lines(op.lines, m.b_tile, m.b_transposed, m.n);
  for (const std::uint32_t line : op.lines) {
    shared(block, line * 16, 16);
    ++block.reading[line];
  }
}

/// e4m3 (PTX ISA, "Alternate floating point data formats"): the exponent's bias is 7; of the
/// largest exponent only the largest fraction is no number.
float eight_bits(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  float x = exponent == 0 ? std::ldexp(static_cast<float>(fraction) / 8.F, -6)
                          : std::ldexp(1.F + static_cast<float>(fraction) / 8.F, exponent - 7);
  if (exponent == 15 && fraction == 7) x = std::numeric_limits<float>::quiet_NaN();
  return bits >= 128 ? -x : x;
}
/// m64nNk32 of 8-bit elements, which lie two by two where k16 has one. The sum is in fp32: that the
/// tensor core keeps fewer bits of it is not emulated.
void execute_bytes(Block& block, const Wgmma& op) {
  const Multiply& m = op.of;
  if (m.a != nullptr || m.a_transposed || m.b_transposed)
    fail("a wgmma of 8-bit elements that are in registers or not K-major");
  const auto row = [&](std::uint64_t tile, int i, float(&to)[32]) {
    for (int k = 0; k < 32; ++k)
      to[k] = eight_bits(
          static_cast<std::uint8_t>(operand(block, tile, false, i, k / 2) >> (8 * (k % 2))));
  };
  float a[64][32], b[32];
  for (int r = 0; r < 64; ++r) row(m.a_tile, r, a[r]);
  for (int n = 0; n < m.n; ++n) {
    row(m.b_tile, n, b);
    for (int r = 0; r < 64; ++r) {
      const int t = r / 16 * 32 + r % 8 * 4 + n % 8 / 2, i = n / 8 * 4 + r % 16 / 8 * 2 + n % 2;
      std::uint32_t& d = op.d[static_cast<std::size_t>(t)][i];
      float sum = m.accumulate ? std::bit_cast<float>(d) : 0.F;
      for (int k = 0; k < 32; ++k) sum += a[r][k] * b[k];
      d = std::bit_cast<std::uint32_t>(sum);
    }
  }
}

void execute(Block& block, const Wgmma& op) {
  const Multiply& m = op.of;
  if (m.element == Element::f8) {
    execute_bytes(block, op);
    return;
  }
  const std::vector<float>& value = table(m.element);
  std::vector<float> a(std::size_t{64} * 16), b(static_cast<std::size_t>(m.n) * 16);
  if (m.a == nullptr) {
    for (int r = 0; r < 64; ++r)
      for (int k = 0; k < 16; ++k)
        a[size(r * 16 + k)] = value[operand(block, m.a_tile, m.a_transposed, r, k)];
  } else {
    for (int t = 0; t < 128; ++t)
      for (int reg = 0; reg < 4; ++reg)
        for (int h = 0; h < 2; ++h) {
          const int r = t / 32 * 16 + t % 32 / 4 + 8 * (reg % 2), k = t % 4 * 2 + h + 8 * (reg / 2);
          a[size(r * 16 + k)] = value[op.a[static_cast<std::size_t>(t)][reg] >> (16 * h) & 0xFFFF];
        }
  }
  for (int n = 0; n < m.n; ++n)
    for (int k = 0; k < 16; ++k)
      b[size(n * 16 + k)] = value[operand(block, m.b_tile, m.b_transposed, n, k)];
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < m.n / 2; ++i) {
      const int r = t / 32 * 16 + t % 32 / 4 + 8 * (i / 2 % 2), n = i / 4 * 8 + t % 4 * 2 + i % 2;
      std::uint32_t& d = op.d[static_cast<std::size_t>(t)][i];
      float sum = m.accumulate ? std::bit_cast<float>(d) : 0.F;
      for (int k = 0; k < 16; ++k) sum += a[size(r * 16 + k)] * b[size(n * 16 + k)];
      d = std::bit_cast<std::uint32_t>(sum);
    }
}

void execute_until(Warpgroup& w, std::int64_t count) {
  while (w.executed < count) {
    execute(*self().block, w.ops.front());
    for (const std::uint32_t line : w.ops.front().lines) {
      --self().block->reading[line];
      // A warp's lanes meet when they have waited: the first stands for all.
      for (int warp = 0; warp < 4; ++warp)
        self().block->order.end_reading(
            line, now(fiber_of(*self().block, self().thread / 128 * 128 + warp * 32)));
    }
    w.ops.pop_front();
    ++w.executed;
    ++machine->progress;
  }
}

}  // namespace

void multiply(const Multiply& m) {
  aligned("wgmma.mma_async");
  Warpgroup& w = warpgroup();
  const auto t = static_cast<std::size_t>(self().thread % 128);
  const std::int64_t number = w.issued[t]++;
  if (number < w.executed) fail("a wgmma that the others have not issued");
  const auto at = static_cast<std::size_t>(number - w.executed);
  if (w.ops.size() <= at) {
    w.ops.emplace_back().of = m;
    find_lines(*self().block, w.ops.back());
  }
  Wgmma& op = w.ops[at];
  if (t % 32 == 0)
    for (const std::uint32_t line : op.lines)
      check(self().block->order.start_reading(line, self().known));
  if (op.of.a_tile != m.a_tile || op.of.b_tile != m.b_tile || op.of.n != m.n ||
      op.of.accumulate != m.accumulate || (op.of.a == nullptr) != (m.a == nullptr))
    fail("a wgmma that differs between the threads of a warpgroup");
  const auto lend = [&](const void* registers, std::size_t words) {
    std::uint32_t* kept = nullptr;
    auto* const words_at = static_cast<std::uint32_t*>(const_cast<void*>(registers));
    const std::string wrong = self().registers.lend(words_at, words, number + 1, kept);
    if (!wrong.empty()) fail(wrong);
    return kept;
  };
  op.d[t] = lend(m.d, size(m.n / 2));
  op.a[t] = m.a == nullptr ? nullptr : lend(m.a, 4);
  if (++op.threads == 128 && machine->launch->when == When::at_once) execute_until(w, number + 1);
}

void multiply_fence() {
  aligned("wgmma.fence");
  self().registers.fence();
}
void multiply_commit() {
  aligned("wgmma.commit_group");
  Warpgroup& w = warpgroup();
  const auto t = static_cast<std::size_t>(self().thread % 128);
  w.groups[t].push_back(w.issued[t]);
}
void multiply_wait(int pending) {
  aligned("wgmma.wait_group", pending);
  Warpgroup& w = warpgroup();
  const auto t = static_cast<std::size_t>(self().thread % 128);
  auto& groups = w.groups[t];
  if (groups.size() > static_cast<std::size_t>(pending)) {
    const std::size_t ended = groups.size() - static_cast<std::size_t>(pending);
    w.wanted[t] = groups[ended - 1];
    groups.erase(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(ended));
  }
  // As late as may be: when the last thread waits.
  const std::int64_t want = w.wanted[t];
  execute_until(w, *std::min_element(w.wanted.begin(), w.wanted.end()));
  wait_until([&] { return w.executed >= want; });
  check(self().registers.give_back(want));
  // What a warp's lanes have done before, all of them have when the warp goes on.
  meet(self().block->collective[size(self().thread / 32)], 32, true);
}
void use(std::uint32_t bits) {
  if (is_lent(bits)) fail("registers of a wgmma or a tcgen05.ld are read while it is in flight");
}

}  // namespace twill::gpu::emulator
