// What tests of the emulated tensor memory share: launches, steps that are left out, operands of a
// product and their right results.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "gpu/blackwell/tcgen05.cuh"
#include "gpu/tests/emulator_checks.hpp"

namespace twill::gpu::tests {

using emulator::When;

inline constexpr When kWhens[] = {When::late, When::at_once};
inline constexpr std::uint32_t kAddress = 0, kBarrier = 16, kSecond = 24, kThird = 32, kA = 1024,
                               kB = kA + 128 * 128;

inline emulator::Launch launch_of(int warps, When when) {
  emulator::Launch launch;
  launch.threads = warps * 32;
  launch.when = when;
  launch.shared_bytes = 65536;
  return launch;
}

// The kernels below are right with all of their steps; a rule is broken by leaving out the step of
// that number (0: none).
inline int missing = 0;
inline bool has(int step) {
  return missing != step;
}

inline bool warp_is(unsigned w) {
  return threadIdx.x / 32 == w;
}
inline void fence_before(int step = -1) {
  if (has(step)) tensor_fence_before();
}
inline void fence_after(int step = -1) {
  if (has(step)) tensor_fence_after();
}
inline void meet() {
  tensor_fence_before();
  __syncthreads();
  tensor_fence_after();
}

inline TensorAddress begin(std::uint32_t columns, std::uint32_t arrivals = 1) {
  if (threadIdx.x == 0) {
    barrier_init(kBarrier, arrivals);
    barrier_init(kSecond, 1);
    barrier_init(kThird, 1);
    barrier_init_fence();
  }
  if (warp_is(0)) {
    tensor_allocate(kAddress, columns);
    tensor_relinquish();
  }
  meet();
  return load_shared(kAddress);
}
inline void end(TensorAddress at, std::uint32_t columns) {
  meet();
  if (warp_is(0)) tensor_free(at, columns);
}
inline TensorAddress lanes(TensorAddress at) {
  return at + (threadIdx.x / 32 % 4 << 21);
}

// --- Operands: element (i, k) of A is a(i, k), of B b(i, k), 16 deep, 128-byte swizzled
// -----------

inline float a_of(int i, int k) {
  return static_cast<float>((i * 3 + k * 5) % 13 - 6) / 4;
}
inline float b_of(int i, int k) {
  return static_cast<float>((i * 7 + k * 2) % 11 - 5) / 4;
}
inline std::uint16_t bits_of_half(float x) {
  return emulator::from_float(x, Element::f16);
}

/// Offset in bytes of 16-bit element (row, column) of a tile [panel of 64 columns][rows][64], with
/// the swizzle of TMA: 16-byte chunk c of a row lies at c xor row mod 8.
inline std::uint32_t tile_offset(int rows, int row, int column) {
  const int chunk = column % 64 / 8;
  return static_cast<std::uint32_t>(column / 64 * rows * 128 + row * 128 + (chunk ^ row % 8) * 16 +
                                    column % 8 * 2);
}

/// By all threads: A as rows of 16 columns of 64, B too, or, with `b_rows`, B as 16 rows of 128.
inline void write_operands(bool b_rows, bool fence) {
  for (int i = static_cast<int>(threadIdx.x); i < 128; i += 128)
    for (int k = 0; k < 16; k += 2) {
      const std::uint32_t word =
          bits_of_half(a_of(i, k)) | static_cast<std::uint32_t>(bits_of_half(a_of(i, k + 1))) << 16;
      store_shared(kA + tile_offset(128, i, k), word);
      if (b_rows) continue;
      store_shared(kB + tile_offset(128, i, k),
                   bits_of_half(b_of(i, k)) |
                       static_cast<std::uint32_t>(bits_of_half(b_of(i, k + 1))) << 16);
    }
  if (b_rows && threadIdx.x < 64)
    for (int k = 0; k < 16; ++k) {
      const int i = static_cast<int>(threadIdx.x) * 2;
      store_shared(kB + tile_offset(16, k, i),
                   bits_of_half(b_of(i, k)) |
                       static_cast<std::uint32_t>(bits_of_half(b_of(i + 1, k))) << 16);
    }
  if (fence) fence_async_shared();
}
inline constexpr std::uint32_t kColumns = 128;
inline std::uint64_t a_tile() {
  return operand_descriptor(kA, 16, 1024);
}
inline std::uint64_t b_tile(bool b_rows = false) {
  return b_rows ? operand_descriptor(kB, 16 * 128, 1024) : operand_descriptor(kB, 16, 1024);
}
inline std::uint32_t how(bool b_rows = false) {
  return instruction_descriptor(Element::f16, 128, kColumns, false, b_rows);
}

/// The thread's row of D is times A B.
inline void check_row(const float* d, int times) {
  const int i = static_cast<int>(threadIdx.x % 128);
  for (int j = 0; j < static_cast<int>(kColumns); ++j) {
    float want = 0;
    for (int k = 0; k < 16; ++k) want += a_of(i, k) * b_of(j, k);
    if (std::fabs(d[j] - want * static_cast<float>(times)) > 1e-4F)
      throw emulator::Error("a product of wrong numbers");
  }
}
inline void load_row(float* d, TensorAddress at) {
  for (std::uint32_t c = 0; c < kColumns; c += 32) TensorColumns<32>::load(d + c, lanes(at) + c);
}

}  // namespace twill::gpu::tests
