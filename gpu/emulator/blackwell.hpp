// gpu/blackwell/tcgen05.cuh for the emulator, on emulator/tensor_memory.hpp.
#pragma once

#include <cstdint>

#include "gpu/emulator/hopper.hpp"
#include "gpu/emulator/tensor_memory.hpp"

namespace twill::gpu {

using TensorAddress = std::uint32_t;

inline void tensor_allocate(std::uint32_t to, std::uint32_t columns) {
  emulator::tensor_allocate(to, columns);
}
inline void tensor_relinquish() {
  emulator::tensor_relinquish();
}
inline void tensor_free(TensorAddress at, std::uint32_t columns) {
  emulator::tensor_free(at, columns);
}
inline void tensor_fence_before() {
  emulator::tensor_fence_before();
}
inline void tensor_fence_after() {
  emulator::tensor_fence_after();
}
inline void tensor_wait_loads() {
  emulator::tensor_wait_loads();
}
inline void tensor_wait_stores() {
  emulator::tensor_wait_stores();
}
inline void tensor_commit(BarrierAddress barrier) {
  emulator::tensor_commit(barrier);
}
inline void tensor_multiply(TensorAddress d, std::uint64_t a, std::uint64_t b, std::uint32_t how,
                            std::uint32_t accumulate) {
  emulator::tensor_multiply({d, false, a, b, how, accumulate != 0});
}
inline void tensor_multiply_lanes(TensorAddress d, TensorAddress a, std::uint64_t b,
                                  std::uint32_t how, std::uint32_t accumulate) {
  emulator::tensor_multiply({d, true, a, b, how, accumulate != 0});
}

template <int kCount>
struct TensorColumns {
  static_assert(kCount >= 1 && kCount <= 32 && (kCount & (kCount - 1)) == 0);
  static void load(float* d, TensorAddress at) {
    emulator::tensor_load(reinterpret_cast<std::uint32_t*>(d), kCount, at);
  }
  static void store(TensorAddress at, const float* d) {
    for (int i = 0; i < kCount; ++i) used(d[i]);
    emulator::tensor_store(at, reinterpret_cast<const std::uint32_t*>(d), kCount);
  }
  static void store(TensorAddress at, const std::uint32_t* d) {
    for (int i = 0; i < kCount; ++i) used(d[i]);
    emulator::tensor_store(at, d, kCount);
  }
};

template <int kCount>
struct HalfLanes {
  static_assert(kCount == 8 || kCount == 16 || kCount == 32);
  static void load(float* d, TensorAddress at) {
    emulator::tensor_load_half(reinterpret_cast<std::uint32_t*>(d), kCount, at);
  }
};

}  // namespace twill::gpu
