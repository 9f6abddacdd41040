// What the emulated multiprocessor (gpu/emulator) refuses of wgmma: descriptors, registers that are
// the thread's or a product's, operands in shared memory; where ldmatrix and a wgmma of 8-bit
// elements find theirs. An error planted for each rule, and beside it the right order, which it
// accepts. No GPU is needed.
#include <array>
#include <cstdint>
#include <cstdio>

#include "gpu/emulator/hopper.hpp"
#include "gpu/hopper/wgmma.cuh"
#include "gpu/tests/emulator_checks.hpp"

using namespace twill::gpu;
using emulator::check_accepted;
using emulator::check_refused;
using emulator::When;

namespace {

constexpr When kWhens[] = {When::at_once, When::late};

emulator::Launch launch_of(int threads, When when = When::late) {
  emulator::Launch launch;
  launch.threads = threads;
  launch.when = when;
  return launch;
}

/// Thread 0 makes a barrier, and the block sees it.
void begin(BarrierAddress barrier, std::uint32_t arrivals) {
  if (threadIdx.x == 0) {
    barrier_init(barrier, arrivals);
    barrier_init_fence();
  }
  __syncthreads();
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
  check_refused("differs between", group, [] {
    float d[32];
    wgmma_fence();
    Product::ss<0, 0>(d, kTile + std::uint64_t{64} * (threadIdx.x / 32), kTile + 512, 0);
    wgmma_commit();
    wgmma_wait<0>();
  });
  check_refused("in flight", group, [] {
    static float d[128][32];
    wgmma_fence();
    issue(d[threadIdx.x], 0);
    wgmma_commit();
    __syncthreads();
  });
  check_refused("without the base offset", group, [] {
    float d[32];
    wgmma_fence();
    Product::ss<0, 0>(d, kTile + 8, kTile + 512, 0);  // 128 bytes into the swizzle's 1024
  });
  check_refused("not 16-byte aligned", group, [] { store_matrix_x4(threadIdx.x * 8, 0, 0, 0, 0); });
  check_refused("not 128-byte swizzled", launch_of(128, When::at_once), [] {
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
    half_in_flight,   ///< a wgmma on the upper half of an accumulator in flight
    shape_in_flight,  ///< a narrower wgmma on an accumulator in flight
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
      if (plant == Plant::shape_in_flight)
        Wgmma<Element::f16, 32>::rs<0>(reinterpret_cast<float(&)[16]>(d[0]), a, kTile, 1);
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
      check_refused(text, launch, [&] { thread(what); });
    };
    check_accepted("two rounds of products with fences", launch, [&] { thread(Plant::none); });
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
    plant("in another shape", Plant::shape_in_flight);
  }
}

/// The operands of a wgmma in flight are in shared memory: they stay until it has ended.
void operands() {
  static std::array<float, 4> source{};
  const auto thread = [](bool load, bool wait) {
    begin(20480, 1);
    ones();
    float d[32];
    wgmma_fence();
    issue(d, 0);
    wgmma_commit();
    if (wait) wgmma_wait<0>();
    if (wait) __syncthreads();
    if (threadIdx.x == 0 && load) {
      barrier_expect(20480, 16);
      bulk_load(8192, source.data(), 16, 20480);
      barrier_wait(20480, 0);
    }
    if (threadIdx.x == 0 && !load) store_shared(8192, 1);
    wgmma_wait<0>();
  };
  for (const bool load : {false, true}) {
    const emulator::Launch group = launch_of(128);
    check_accepted("an operand after its wgmma", group, [&] { thread(load, true); });
    check_refused("may still read", group, [&] { thread(load, false); });
  }
}

// --- layouts -------------------------------------------------------------------------------------

/// ldmatrix: lane 8 i + r gives row r of tile i; each lane gets two neighbours of each tile.
void matrices() {
  check_accepted("ldmatrix", launch_of(128), [] {
    const std::uint32_t lane = threadIdx.x % 32;
    const auto word = [](std::uint32_t row, std::uint32_t w) {
      return (8 * row + 2 * w + 1) << 16 | (8 * row + 2 * w);
    };
    // (Rows lie anywhere, in an order of their own.)
    const std::uint32_t at = threadIdx.x / 32 * 512 + lane * 5 % 32 * 16;
    for (std::uint32_t w = 0; w < 4; ++w) store_shared(at + 4 * w, word(lane, w));
    __syncwarp();
    std::uint32_t tiles[4];
    load_matrix_x4(at, tiles[0], tiles[1], tiles[2], tiles[3]);
    for (std::uint32_t i = 0; i < 4; ++i)
      if (tiles[i] != word(8 * i + lane / 4, lane % 4)) throw emulator::Error("wrong");
  });
  check_refused("not 16-byte aligned", launch_of(128), [] {
    std::uint32_t a, b, c, d;
    load_matrix_x4(threadIdx.x * 8, a, b, c, d);
  });
}

int left_number(int row, int k) {
  return (row + k) % 5 - 2;
}
int right_number(int column, int k) {
  return (3 * column + k) % 7 - 3;
}
/// e4m3 of -3 to 3.
std::uint32_t eight_bits_of(int x) {
  constexpr std::uint32_t kBits[] = {0x00, 0x38, 0x40, 0x44};
  return kBits[x < 0 ? -x : x] | (x < 0 ? 0x80 : 0);
}

/// A wgmma of 8-bit elements: 32 of a row lie in two chunks of 16 bytes, swizzled.
void bytes() {
  for (const When when : kWhens)
    check_accepted("e4m3", launch_of(128, when), [] {
      const int t = static_cast<int>(threadIdx.x), row = t % 64;
      for (int k = 0; k < 32; k += 4) {
        std::uint32_t word = 0;
        for (int e = 0; e < 4; ++e)
          word |= eight_bits_of(t < 64 ? left_number(row, k + e) : right_number(row, k + e))
                  << (8 * e);
        const int at =
            t / 64 * 8192 + row / 8 * 1024 + row % 8 * 128 + (k / 16 ^ row % 8) * 16 + k % 16;
        store_shared(static_cast<std::uint32_t>(at), word);
      }
      fence_async_shared();
      __syncthreads();
      float d[32];
      wgmma_fence();
      Wgmma<Element::f8, 64>::ss<0, 0>(d, kTile, kTile + 512, 0);
      wgmma_commit();
      wgmma_wait<0>();
      for (int i = 0; i < 32; ++i) {
        const int r = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, c = i / 4 * 8 + t % 4 * 2 + i % 2;
        int sum = 0;
        for (int k = 0; k < 32; ++k) sum += left_number(r, k) * right_number(c, k);
        if (d[i] != static_cast<float>(sum)) throw emulator::Error("wrong");
      }
    });
}

}  // namespace

int main() {
  products();
  registers();
  operands();
  matrices();
  bytes();
  std::printf("%d of %d checks failed\n", emulator::checks_failed, emulator::checks_ran);
  return emulator::checks_failed != 0;
}
