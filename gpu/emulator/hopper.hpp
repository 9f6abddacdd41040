// gpu/hopper/ptx.cuh and wgmma.cuh for the emulator: the same functions, and what CUDA's language
// adds to C++, on emulator/machine.hpp.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <vector_types.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "gpu/emulator/machine.hpp"
#include "gpu/hopper/both.hpp"
#include "gpu/hopper/element.hpp"

#undef __device__
#undef __host__
#undef __forceinline__
#define __device__
#define __host__
#define __forceinline__ inline
#define threadIdx (::twill::gpu::emulator::thread_index())
#define blockIdx (::twill::gpu::emulator::block_index())
#define gridDim (::twill::gpu::emulator::grid_size())

namespace twill::gpu {

using BarrierAddress = std::uint32_t;

/// The value, which must not be of a register that a wgmma in flight has.
template <class T>
T used(T x) {
  emulator::use(std::bit_cast<std::uint32_t>(x));
  return x;
}

// NOLINTBEGIN(readability-identifier-naming): CUDA's names
inline void __syncthreads() {
  emulator::sync_threads();
}
inline void __syncwarp() {
  emulator::sync_warp();
}
/// The kernels' maximum: the C library's would lose a number that there is not yet.
inline float fmaxf(float a, float b) {
  used(a), used(b);
  return std::fmax(a, b);
}
template <class T>
T __shfl_sync(unsigned /*mask*/, T value, int lane) {
  used(value);
  return std::bit_cast<T>(emulator::shuffle(std::bit_cast<std::uint32_t>(value), lane));
}
template <class T>
T __shfl_xor_sync(unsigned /*mask*/, T value, int flip) {
  return __shfl_sync(~0U, value, static_cast<int>(threadIdx.x % 32) ^ flip);
}
// NOLINTEND(readability-identifier-naming)

inline void barrier_init(BarrierAddress barrier, std::uint32_t arrivals) {
  emulator::barrier_init(barrier, arrivals);
}
inline void barrier_init_fence() {
  emulator::barrier_init_fence();
}
inline void barrier_arrive(BarrierAddress barrier) {
  emulator::barrier_arrive(barrier, -1);
}
/// As on the device, in the scope of the block (ptx.cuh): it orders no ordinary write of this block
/// before what the other block does.
inline void barrier_arrive_remote(BarrierAddress barrier, std::uint32_t rank) {
  emulator::barrier_arrive(barrier, static_cast<int>(rank));
}
inline void barrier_arrive_if(bool arrives, BarrierAddress barrier) {
  if (arrives) barrier_arrive(barrier);
}
inline void barrier_arrive_remote_if(bool arrives, BarrierAddress barrier, std::uint32_t rank) {
  if (arrives) barrier_arrive_remote(barrier, rank);
}
inline void barrier_expect(BarrierAddress barrier, std::uint32_t bytes) {
  emulator::barrier_expect(barrier, bytes);
}
inline void barrier_wait(BarrierAddress barrier, std::uint32_t parity) {
  emulator::barrier_wait(barrier, parity);
}

inline void named_sync(int id, int threads) {
  emulator::named(id, threads, true);
}
inline void named_arrive(int id, int threads) {
  emulator::named(id, threads, false);
}
inline void cluster_sync() {
  emulator::sync_cluster();
}

inline bool elect_one() {
  return emulator::elect();
}
template <int kRegisters>
void raise_registers() {
  emulator::set_registers(kRegisters, true);
}
template <int kRegisters>
void lower_registers() {
  emulator::set_registers(kRegisters, false);
}

inline emulator::Map map_of(const CUtensorMap* map) {
  emulator::Map m;
  static_assert(sizeof m <= sizeof *map);
  std::memcpy(&m, map, sizeof m);
  return m;
}
inline void tma_load(std::uint32_t to, const CUtensorMap* map, int row, int panel, int head,
                     int batch, BarrierAddress barrier) {
  emulator::tma_load(to, map_of(map), {0, row, panel, head, batch}, barrier, 0);
}
inline void tma_load_multicast(std::uint32_t to, const CUtensorMap* map, int row, int panel,
                               int head, int batch, BarrierAddress barrier, std::uint16_t blocks) {
  emulator::tma_load(to, map_of(map), {0, row, panel, head, batch}, barrier, blocks);
}
inline void tma_store_start(const CUtensorMap* map, std::uint32_t from, int row, int panel,
                            int head, int batch) {
  emulator::tma_store(map_of(map), from, {0, row, panel, head, batch});
}
inline void tma_add_start(const CUtensorMap* map, std::uint32_t from, int row, int panel, int head,
                          int batch) {
  emulator::tma_add(map_of(map), from, {0, row, panel, head, batch});
}
template <int kPending = 0>
void bulk_wait_read() {
  emulator::bulk_wait_read(kPending);
}
inline void bulk_load(std::uint32_t to, const void* from, std::uint32_t bytes,
                      BarrierAddress barrier) {
  emulator::bulk_load(to, from, bytes, barrier);
}
inline void bulk_add(float* to, std::uint32_t from, std::uint32_t bytes) {
  emulator::bulk_add(to, from, bytes);
}
inline void bulk_wait_done() {
  emulator::bulk_wait_done();
}
inline void fence_async_shared() {
  emulator::fence_async();
}
inline void fence_async_global() {
  emulator::fence_async_global();
}
inline unsigned load_acquire(const unsigned* counter) {
  return emulator::load_acquire(counter, emulator::Scope::gpu);
}
inline void back_off() {
  emulator::pause();
}
inline void add_release(unsigned* counter, unsigned value) {
  emulator::add_release(counter, value, emulator::Scope::gpu);
}
inline unsigned fetch_add(unsigned* counter, unsigned value) {
  return emulator::fetch_add(counter, value);
}

template <class T>
T fresh(T x) {
  return x;
}
inline float exp2_approx(float x) {
  return std::exp2(used(x));
}

inline std::uint32_t load_shared(std::uint32_t address) {
  std::uint32_t x;
  emulator::load_shared(&x, address, sizeof x);
  return x;
}
inline void touch_shared(std::uint32_t address) {
  load_shared(address);
}
inline void store_shared(std::uint32_t address, std::uint32_t x) {
  used(x);
  emulator::store_shared(address, &x, sizeof x);
}
inline float2 load_shared_2(std::uint32_t address) {
  float2 x;
  emulator::load_shared(&x, address, sizeof x);
  return x;
}
inline float4 load_shared_4(std::uint32_t address) {
  float4 x;
  emulator::load_shared(&x, address, sizeof x);
  return x;
}
inline void store_shared_2(std::uint32_t address, float a, float b) {
  const float2 x{used(a), used(b)};
  emulator::store_shared(address, &x, sizeof x);
}
inline void store_shared_4(std::uint32_t address, float a, float b, float c, float d) {
  const float4 x{used(a), used(b), used(c), used(d)};
  emulator::store_shared(address, &x, sizeof x);
}
inline void store_matrix_x4(std::uint32_t address, std::uint32_t a, std::uint32_t b,
                            std::uint32_t c, std::uint32_t d) {
  emulator::store_matrices(address, {used(a), used(b), used(c), used(d)}, false);
}
inline void load_matrix_x4(std::uint32_t address, std::uint32_t& a, std::uint32_t& b,
                           std::uint32_t& c, std::uint32_t& d) {
  std::uint32_t tiles[4];
  emulator::load_matrices(tiles, address);
  a = tiles[0], b = tiles[1], c = tiles[2], d = tiles[3];
}
inline void store_matrix_x4_transposed(std::uint32_t address, std::uint32_t a, std::uint32_t b,
                                       std::uint32_t c, std::uint32_t d) {
  emulator::store_matrices(address, {used(a), used(b), used(c), used(d)}, true);
}

inline void wgmma_fence() {
  emulator::multiply_fence();
}
inline void wgmma_commit() {
  emulator::multiply_commit();
}
template <int kPending>
void wgmma_wait() {
  emulator::multiply_wait(kPending);
}
template <class T, int kCount>
void pin(T (&)[kCount]) {}
template <int kCount>
void forget(float (&r)[kCount]) {
  for (float& x : r) x = std::numeric_limits<float>::quiet_NaN();
}

template <Element kElement, int kN>
struct Wgmma {
  template <int kTransA, int kTransB>
  static void ss(float (&d)[kN / 2], std::uint64_t a, std::uint64_t b, int accumulate) {
    emulator::multiply(
        {kElement, kN, d, nullptr, a, b, kTransA != 0, kTransB != 0, accumulate != 0});
  }
  template <int kTransB>
  static void rs(float (&d)[kN / 2], const std::uint32_t* a, std::uint64_t b, int accumulate) {
    emulator::multiply({kElement, kN, d, a, 0, b, false, kTransB != 0, accumulate != 0});
  }
};

/// Two 16-bit elements of a word.
template <Element kElement>
float2 unpack(std::uint32_t word) {
  return {emulator::to_float(static_cast<std::uint16_t>(word), kElement),
          emulator::to_float(static_cast<std::uint16_t>(word >> 16), kElement)};
}
template <Element kElement>
std::uint32_t pack(float low, float high) {
  return emulator::from_float(used(low), kElement) |
         static_cast<std::uint32_t>(emulator::from_float(used(high), kElement)) << 16;
}

}  // namespace twill::gpu
