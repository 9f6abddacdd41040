// What orders accesses of shared memory on the emulated multiprocessor (gpu/emulator/order.hpp): a
// wait, a fence or a barrier left out is found in every order of the threads, also in those where
// nothing goes wrong; and aligned instructions are a whole warp's. Each has a planted error and,
// beside it, the right order. No GPU is needed.
#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "gpu/emulator/hopper.hpp"
#include "gpu/hopper/wgmma.cuh"
#include "gpu/tests/emulator_checks.hpp"

using namespace twill::gpu;
using emulator::check_accepted;
using emulator::check_refused;
using emulator::Launch;
using emulator::When;

namespace {

constexpr std::uint32_t kFull = 0, kFree = 8, kAgain = 16, kBuffer = 1024;

template <class What>
void in_every_order(int threads, const What& what) {
  for (const When when : {When::at_once, When::late})
    for (const bool switches : {false, true})
      for (unsigned seed = 1; seed <= 4; ++seed) {
        Launch launch;
        launch.threads = threads;
        launch.when = when;
        launch.switches = switches;
        launch.seed = seed;
        what(launch);
      }
}

/// Which of two rules finds it depends on who comes first.
void refused_by_either(const char* one, const char* other, const Launch& launch,
                       const std::function<void()>& thread) {
  const bool is_other = emulator::error_of(launch, thread).find(other) != std::string::npos;
  check_refused(is_other ? other : one, launch, thread);
}

void begin(std::uint32_t free_arrivals) {
  if (threadIdx.x == 0) {
    barrier_init(kFull, 1);
    barrier_init(kFree, free_arrivals);
    barrier_init_fence();
  }
  __syncthreads();
}

/// Warp 0 loads a buffer twice, the lanes of warp 1 read it with ordinary loads in between.
enum class Reads : unsigned char {
  right,
  no_wait,    ///< for the load
  no_fence,   ///< fence.proxy.async behind the reads
  no_meeting  ///< of the lanes, before one of them arrives
};
void reads(Reads plant) {
  static std::array<float, 128> source{};
  begin(1);
  if (threadIdx.x == 0)
    for (int round = 0; round < 2; ++round) {
      barrier_wait(kFree, static_cast<std::uint32_t>(round ^ 1));
      barrier_expect(kFull, sizeof source);
      bulk_load(kBuffer, source.data(), sizeof source, kFull);
    }
  if (threadIdx.x >= 32)
    for (int round = 0; round < 2; ++round) {
      if (plant != Reads::no_wait) barrier_wait(kFull, static_cast<std::uint32_t>(round));
      load_shared_4(kBuffer + threadIdx.x % 32 * 16);
      if (plant != Reads::no_fence) fence_async_shared();
      if (plant != Reads::no_meeting) __syncwarp();
      if (threadIdx.x == 32) barrier_arrive(kFree);
    }
  __syncthreads();
}

/// Who loads again waits until the buffer has been read, or does not.
void loads_again(bool wait) {
  static std::array<float, 4> source{};
  begin(1);
  if (threadIdx.x == 32) {
    barrier_wait(kFull, 0);
    load_shared(kBuffer);
    fence_async_shared();
    barrier_arrive(kFree);
  }
  if (threadIdx.x == 0) {
    barrier_init(kAgain, 1);
    barrier_init_fence();
    for (const BarrierAddress full : {kFull, kAgain}) {
      if (wait && full == kAgain) barrier_wait(kFree, 0);
      barrier_expect(full, 16);
      bulk_load(kBuffer, source.data(), 16, full);
    }
    barrier_wait(kAgain, 0);
  }
  __syncthreads();
}

/// Of two loads on one barrier the bytes of one are expected: the phase ends with the first.
void too_few_bytes(std::uint32_t expected) {
  static std::array<float, 4> source{};
  begin(1);
  if (threadIdx.x == 0) {
    barrier_expect(kFull, expected);
    bulk_load(kBuffer, source.data(), 16, kFull);
    bulk_load(kBuffer + 16, source.data(), 16, kFull);
  }
  if (threadIdx.x == 32) {
    barrier_wait(kFull, 0);
    load_shared(kBuffer);
    load_shared(kBuffer + 16);
  }
  __syncthreads();
}

// --- Products ------------------------------------------------------------------------------------

using Product = Wgmma<Element::f16, 64>;
constexpr std::uint64_t kTile = std::uint64_t{1} << 62 | std::uint64_t{64} << 32;
constexpr std::uint32_t kTileBytes = 2048 * 4, kBarriers = 32768;

/// Warpgroup 0 multiplies tiles that warpgroup 1 has written, or that TMA has loaded; then
/// warpgroup 1 writes there again.
enum class Operands : unsigned char {
  right,
  no_fence,
  no_barrier,    ///< between the writes and the product
  writes_first,  ///< the same, and they come in the right order all the same
  no_load_wait   ///< nobody waits for the load
};
void operands(Operands plant, bool loaded) {
  static std::array<float, 4096> source{};
  static int written;  // of which the emulator knows nothing
  const bool no_barrier = plant == Operands::no_barrier || plant == Operands::writes_first;
  const BarrierAddress full = kBarriers;
  if (threadIdx.x == 0) {
    written = 0;
    barrier_init(full, 1);
    barrier_init_fence();
  }
  __syncthreads();
  if (loaded) {
    if (threadIdx.x == 128) {
      barrier_expect(full, sizeof source);
      bulk_load(0, source.data(), sizeof source, full);
    }
  } else if (threadIdx.x >= 128) {
    for (std::uint32_t at = threadIdx.x % 128 * 16; at < 2 * kTileBytes; at += 128 * 16)
      store_shared_4(at, 0, 0, 0, 0);
    if (plant != Operands::no_fence) fence_async_shared();
    ++written;
    named_arrive(1, 256);
  }
  if (threadIdx.x < 128) {
    if (loaded && plant != Operands::no_load_wait) barrier_wait(full, 0);
    if (!loaded && !no_barrier) named_sync(1, 256);
    while (plant == Operands::writes_first && written < 128) back_off();
    float d[32];
    wgmma_fence();
    Product::ss<0, 0>(d, kTile, kTile + kTileBytes / 16, 0);
    wgmma_commit();
    wgmma_wait<0>();
    if (!loaded && no_barrier) named_sync(1, 256);
  }
  __syncthreads();
}

/// Warp 4 writes into an operand of warpgroup 0 when all four warps, or three, have told it that
/// they have waited for the product.
void overwrites(int warps) {
  const BarrierAddress free = kBarriers;
  if (threadIdx.x == 0) {
    barrier_init(free, static_cast<std::uint32_t>(warps));
    barrier_init_fence();
  }
  for (std::uint32_t at = threadIdx.x * 16; at < 2 * kTileBytes; at += 160 * 16)
    store_shared_4(at, 0, 0, 0, 0);
  fence_async_shared();
  __syncthreads();
  if (threadIdx.x < 128) {
    float d[32];
    wgmma_fence();
    Product::ss<0, 0>(d, kTile, kTile + kTileBytes / 16, 0);
    wgmma_commit();
    wgmma_wait<0>();
    if (threadIdx.x % 32 == 0 && static_cast<int>(threadIdx.x / 32) < warps) barrier_arrive(free);
  } else {
    barrier_wait(free, 0);
    store_shared(threadIdx.x % 32 * 16, 1);
  }
}

// --- Aligned instructions ------------------------------------------------------------------------

void aligned_instructions() {
  const auto half = [] { return threadIdx.x % 32 < 16; };
  in_every_order(128, [&](const Launch& group) {
    check_accepted("a whole warp", group, [] {
      __syncwarp();
      static_cast<void>(elect_one());
      store_matrix_x4(threadIdx.x * 16, 0, 0, 0, 0);
      wgmma_fence();
      wgmma_commit();
      wgmma_wait<0>();
      named_sync(1, 128);
    });
    check_refused("diverged: one is at", group, [&] {
      if (half())
        __syncwarp();
      else
        static_cast<void>(__shfl_sync(~0U, 1, 0));
    });
    check_refused("diverged: one is at", group, [&] {
      if (half())
        store_matrix_x4(threadIdx.x * 16, 0, 0, 0, 0);
      else
        __syncwarp();
    });
    check_refused("diverged: one is at", group, [&] { named_arrive(half() ? 1 : 2, 64); });
    check_refused("diverged: one is at", group, [&] {
      if (half()) wgmma_fence();
      wgmma_commit();
    });
    check_refused("only a part of a warp has executed wgmma.fence", group, [&] {
      if (half()) wgmma_fence();
    });
    check_refused("only a part of a warp has executed elect.sync", group, [&] {
      if (threadIdx.x % 32 == 0) static_cast<void>(elect_one());
    });
    check_refused("diverged: one is at", group, [&] {
      if (half())
        wgmma_wait<0>();
      else
        wgmma_wait<1>();
    });
  });
}

}  // namespace

int main() {
  in_every_order(64, [](const Launch& launch) {
    check_accepted("reads", launch, [] { reads(Reads::right); });
    refused_by_either("without a wait for it", "TMA overwrites", launch,
                      [] { reads(Reads::no_wait); });
    check_refused("has read without fence.proxy.async", launch, [] { reads(Reads::no_fence); });
    check_refused("has read, and no barrier lies between", launch,
                  [] { reads(Reads::no_meeting); });
    check_accepted("a buffer that is free", launch, [] { loads_again(true); });
    check_refused("TMA overwrites what", launch, [] { loads_again(false); });
    check_accepted("all bytes", launch, [] { too_few_bytes(32); });
  });
  bool seen = false;
  for (unsigned seed = 1; seed <= 32; ++seed) {
    Launch launch;
    launch.threads = 64;
    launch.seed = seed;
    const std::string wrong = emulator::error_of(launch, [] { too_few_bytes(16); });
    seen = seen || wrong.find("read while TMA writes it") != std::string::npos;
  }
  ++emulator::checks_ran;
  if (!seen) std::printf("FAILED: too few bytes are not noticed\n"), ++emulator::checks_failed;
  in_every_order(256, [](const Launch& launch) {
    for (const bool loaded : {false, true})
      check_accepted("operands", launch, [&] { operands(Operands::right, loaded); });
    check_refused("without fence.proxy.async", launch, [] { operands(Operands::no_fence, false); });
    refused_by_either("no barrier lies between", "written while", launch,
                      [] { operands(Operands::no_barrier, false); });
    refused_by_either("before a wait for the load", "TMA overwrites", launch,
                      [] { operands(Operands::no_load_wait, true); });
    check_refused("no barrier lies between", launch,
                  [] { operands(Operands::writes_first, false); });
  });
  in_every_order(160, [](const Launch& launch) {
    check_accepted("an operand that four warps have given up", launch, [] { overwrites(4); });
    check_refused("its end is not known", launch, [] { overwrites(3); });
  });
  aligned_instructions();
  std::printf("%d of %d checks failed\n", emulator::checks_failed, emulator::checks_ran);
  return emulator::checks_failed != 0;
}
