// What the emulated multiprocessor (gpu/emulator) refuses: an error planted for each of its rules,
// and beside it the right order, which it accepts. No GPU is needed.
#include <array>
#include <cstdio>
#include <string>

#include "gpu/emulator/hopper.hpp"
#include "gpu/hopper/wgmma.cuh"

using namespace twill::gpu;
using emulator::When;

namespace {

int failed = 0, ran = 0;

emulator::Launch launch_of(int threads, When when = When::late, int cluster = 1) {
  emulator::Launch launch;
  launch.blocks = launch.cluster = cluster;
  launch.threads = threads;
  launch.when = when;
  return launch;
}

/// `text` must be in the error of `thread`.
void refused(const char* text, const emulator::Launch& launch,
             const std::function<void()>& thread) {
  ++ran;
  try {
    emulator::run(launch, thread);
  } catch (const emulator::Error& error) {
    if (std::string(error.what()).find(text) != std::string::npos) return;
    std::printf("FAILED: expected \"%s\", got \"%s\"\n", text, error.what());
    ++failed;
    return;
  }
  std::printf("FAILED: expected \"%s\", nothing was found\n", text);
  ++failed;
}

void accepted(const char* what, const emulator::Launch& launch,
              const std::function<void()>& thread) {
  ++ran;
  try {
    emulator::run(launch, thread);
  } catch (const emulator::Error& error) {
    std::printf("FAILED: %s is refused: %s\n", what, error.what());
    ++failed;
  }
}

constexpr When kWhens[] = {When::at_once, When::late};

// --- Barriers ------------------------------------------------------------------------------------

void barriers() {
  const emulator::Launch warp = launch_of(32);
  refused("deadlock", warp, [] {
    if (threadIdx.x == 0) barrier_init(0, 1);
    __syncthreads();
    barrier_wait(0, 0);
  });
  refused("more arrivals", warp, [] {
    if (threadIdx.x == 0) {
      barrier_init(0, 2);
      barrier_expect(0, 16);
      barrier_arrive(0);
      barrier_arrive(0);
    }
  });
  refused("half full", warp, [] { named_arrive(1, 64); });
  refused("two sizes", launch_of(64), [] { named_arrive(1, threadIdx.x < 32 ? 96 : 128); });
}

/// Block 1 tells block 0 by a remote arrival that its buffer is free, and block 0 loads into both.
/// Right where block 1 has only read the buffer or the cluster has met since it wrote there.
void remote_arrivals() {
  static std::array<std::uint16_t, std::size_t{8} * 64> rows{};
  static const emulator::Map map{
      rows.data(), {1, 64, 512, 512, 512}, {64, 8, 1, 1, 1}, {64, 8, 1, 1, 1}};
  constexpr std::uint32_t free = 0, full = 8, buffer = 1024;
  const auto thread = [](bool write, bool meet) {
    if (threadIdx.x == 0) {
      barrier_init(free, 1);
      barrier_init(full, 1);
    }
    __syncthreads();
    cluster_sync();
    if (blockIdx.x == 1 && threadIdx.x == 0) {
      write ? store_shared(buffer + 512, 1) : static_cast<void>(load_shared(buffer + 512));
      fence_async_shared();
    }
    if (meet) cluster_sync();
    if (threadIdx.x == 0) {
      barrier_expect(full, sizeof rows);
      if (blockIdx.x == 1) {
        barrier_arrive_remote(free, 0);
      } else {
        CUtensorMap bytes{};
        std::memcpy(&bytes, &map, sizeof map);
        barrier_wait(free, 0);
        tma_load_multicast(buffer, &bytes, 0, 0, 0, 0, full, 0b11);
      }
      barrier_wait(full, 0);
    }
    cluster_sync();
  };
  for (const When when : kWhens) {
    const emulator::Launch launch = launch_of(32, when, 2);
    refused("another block's TMA overwrites", launch, [&] { thread(true, false); });
    accepted("a hand-over of what was read", launch, [&] { thread(false, false); });
    accepted("a hand-over after a meeting", launch, [&] { thread(true, true); });
  }
}

// --- TMA -----------------------------------------------------------------------------------------

void bulk_copies() {
  static std::array<float, 4> sum;
  refused("fence.proxy.async", launch_of(32), [] {
    if (threadIdx.x != 0) return;
    store_shared_4(1024, 1, 2, 3, 4);
    bulk_add(sum.data(), 1024, 16);
    bulk_wait_read();
  });
  refused("ends while TMA", launch_of(32), [] {
    if (threadIdx.x == 0) bulk_add(sum.data(), 1024, 16);
  });
}

// --- wgmma ---------------------------------------------------------------------------------------

using Product = Wgmma<Element::f16, 64>;
constexpr std::uint64_t kTile = std::uint64_t{1} << 62 | std::uint64_t{64} << 32;

/// d += A B, both in shared memory; A in registers.
void issue(float (&d)[32], int accumulate = 1) {
  Product::ss<0, 0>(d, kTile, kTile + 512, accumulate);
}
void issue(float (&d)[32], const std::uint32_t (&a)[4]) {
  Product::rs<0>(d, a, kTile + 512, 1);
}
/// Tiles of ones, in shared memory as in the proxy that wgmma reads by.
void ones() {
  for (std::uint32_t at = 16 * threadIdx.x; at < 16384; at += 16 * 128)
    for (std::uint32_t i = 0; i < 16; i += 4) store_shared(at + i, 0x3C003C00);
  fence_async_shared();
  __syncthreads();
}

void products() {
  const emulator::Launch group = launch_of(128);
  refused("differs between", group, [] {
    float d[32];
    wgmma_fence();
    Product::ss<0, 0>(d, kTile + 64 * (threadIdx.x / 32), kTile + 512, 0);
    wgmma_commit();
    wgmma_wait<0>();
  });
  refused("in flight", group, [] {
    static float d[128][32];
    wgmma_fence();
    issue(d[threadIdx.x], 0);
    wgmma_commit();
    __syncthreads();
  });
  refused("not 128-byte swizzled", launch_of(128, When::at_once), [] {
    float d[32];
    wgmma_fence();
    Product::ss<0, 0>(d, 0, 0, 0);
    __syncthreads();
  });
}

/// Registers of the thread's or of a wgmma's, and the fence between.
void registers() {
  enum class Plant : unsigned char {
    none,
    no_fence,         ///< at all
    no_second_fence,  ///< after the registers came back
    write_after,      ///< the accumulator, between fence and wgmma
    write_a_after,
    read_in_flight,
    maximum_in_flight,
    write_in_flight,
    read_a_in_flight,
    write_a_in_flight,
    half_in_flight,  ///< a wgmma on the upper half of an accumulator in flight
  };
  const auto thread = [](Plant plant) {
    ones();
    float d[32], e = 0;
    std::uint32_t a[4];
    for (float& x : d) x = 1;
    const auto sum_a = [&](std::uint32_t one) {
      for (std::uint32_t& x : a) x = one;
    };
    sum_a(0x3C003C00);
    for (int round = 0; round < 2; ++round) {
      if (round == 1) d[3] += 1;
      if (plant != Plant::no_fence && (plant != Plant::no_second_fence || round == 0))
        wgmma_fence();
      if (plant == Plant::write_after) d[5] += 1;
      if (plant == Plant::write_a_after) sum_a(0x40004000);
      issue(d);  // a product of depth 16: 16
      if (plant == Plant::half_in_flight)
        Wgmma<Element::f16, 32>::rs<0>(reinterpret_cast<float(&)[16]>(d[16]), a, kTile, 1);
      issue(d, a);  // the same accumulator again: needs no fence
      wgmma_commit();
      if (plant == Plant::read_in_flight) e = exp2_approx(d[7] - 1);
      if (plant == Plant::maximum_in_flight) e = twill::gpu::fmaxf(3, d[7]);
      if (plant == Plant::write_in_flight) d[7] = -INFINITY;
      if (plant == Plant::read_a_in_flight) store_shared(32768, a[0]);
      if (plant == Plant::write_a_in_flight) a[2] = 0;
      wgmma_wait<0>();
      store_shared_4(65536 + 16 * threadIdx.x, d[0], d[3], d[31], e);
    }
    // 1, and 16 of each of four products, and 1 added between.
    if (d[0] != 65 || d[3] != 66) barrier_wait(0, 0);  // "no mbarrier there"
  };
  for (const When when : kWhens) {
    const emulator::Launch launch = launch_of(128, when);
    const auto plant = [&](const char* text, Plant what) {
      refused(text, launch, [&] { thread(what); });
    };
    accepted("two rounds of products with fences", launch, [&] { thread(Plant::none); });
    plant("without wgmma.fence", Plant::no_fence);
    plant("without wgmma.fence", Plant::no_second_fence);
    plant("written after wgmma.fence", Plant::write_after);
    plant("written after wgmma.fence", Plant::write_a_after);
    plant("read while it is in flight", Plant::read_in_flight);
    plant("read while it is in flight", Plant::maximum_in_flight);
    plant("written while it is in flight", Plant::write_in_flight);
    plant("read while it is in flight", Plant::read_a_in_flight);
    plant("written while it is in flight", Plant::write_a_in_flight);
    plant("a part of registers", Plant::half_in_flight);
  }
}

}  // namespace

int main() {
  barriers();
  remote_arrivals();
  bulk_copies();
  products();
  registers();
  std::printf("%d of %d planted launches failed\n", failed, ran);
  return failed != 0;
}
