// What the emulated multiprocessor (gpu/emulator) refuses: an error planted for each of its rules,
// and beside it the right order, which it accepts. No GPU is needed.
#include <array>
#include <cstdio>
#include <string>

#include "gpu/emulator/hopper.hpp"

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

/// Thread 0 makes a barrier, and the block sees it.
void begin(BarrierAddress barrier, std::uint32_t arrivals) {
  if (threadIdx.x == 0) {
    barrier_init(barrier, arrivals);
    barrier_init_fence();
  }
  __syncthreads();
}

/// At least one order of the threads of `thread` finds it.
void refused_in_some_order(const char* text, emulator::Launch launch,
                           const std::function<void()>& thread) {
  ++ran;
  for (launch.seed = 1; launch.seed <= 32; ++launch.seed) {
    try {
      emulator::run(launch, thread);
    } catch (const emulator::Error& error) {
      if (std::string(error.what()).find(text) != std::string::npos) return;
      std::printf("FAILED: expected \"%s\", got \"%s\"\n", text, error.what());
      ++failed;
      return;
    }
  }
  std::printf("FAILED: expected \"%s\", nothing was found in any order\n", text);
  ++failed;
}

// --- Barriers ------------------------------------------------------------------------------------

void barriers() {
  const emulator::Launch warp = launch_of(32);
  refused("deadlock", warp, [] {
    begin(0, 1);
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
  refused("not 8-byte aligned", warp, [] { barrier_init(4 + 8 * threadIdx.x, 1); });
  refused("two sizes", launch_of(64), [] { named_arrive(1, threadIdx.x < 32 ? 96 : 128); });
}

/// An initialisation must be fenced, and then known to the block, before other threads and TMA use
/// the barrier; known to the cluster before its other block does.
void initialisations() {
  static std::array<float, 4> source{};
  const auto arrivals = [](bool fence, bool meet) {
    if (threadIdx.x == 0) {
      barrier_init(0, 32);
      if (fence) barrier_init_fence();
    }
    meet ? __syncthreads() : __syncwarp();
    barrier_arrive(0);
    barrier_wait(0, 0);
  };
  const auto load = [](bool fence) {
    if (threadIdx.x != 0) return;
    barrier_init(0, 1);
    if (fence) barrier_init_fence();
    barrier_expect(0, 16);
    bulk_load(1024, source.data(), 16, 0);
    barrier_wait(0, 0);
  };
  const auto remote = [](bool first) {
    if (threadIdx.x == 0) barrier_init(0, 1);
    if (threadIdx.x == 0 && first) barrier_init_fence();
    cluster_sync();
    if (threadIdx.x == 0 && !first) barrier_init_fence();
    __syncthreads();
    if (threadIdx.x == 0) barrier_arrive_remote(0, blockIdx.x ^ 1);
    barrier_wait(0, 0);
    cluster_sync();
  };
  for (const When when : kWhens) {
    const emulator::Launch warp = launch_of(32, when), pair = launch_of(32, when, 2);
    accepted("a barrier of the block", warp, [&] { arrivals(true, true); });
    refused("without fence.mbarrier_init", warp, [&] { arrivals(false, true); });
    refused("before the block has met", warp, [&] { arrivals(true, false); });
    accepted("a load on a barrier", warp, [&] { load(true); });
    refused("without fence.mbarrier_init", warp, [&] { load(false); });
    accepted("a barrier of the cluster", pair, [&] { remote(true); });
    refused("before the cluster has met", pair, [&] { remote(false); });
  }
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
      barrier_init_fence();
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
  refused("ends while TMA may read", launch_of(32), [] {
    if (threadIdx.x == 0) bulk_add(sum.data(), 1024, 16);
  });
  refused("ends while TMA writes", launch_of(32), [] {
    begin(0, 1);
    if (threadIdx.x != 0) return;
    barrier_expect(0, 16);
    bulk_load(1024, sum.data(), 16, 0);
  });
  refused("a misaligned store", launch_of(32), [] { store_shared(2 + 4 * threadIdx.x, 1); });
  refused("a misaligned load", launch_of(32), [] { load_shared_2(4); });
  refused("beyond shared memory", launch_of(32), [] {
    if (threadIdx.x == 0) store_shared_4(232448, 1, 2, 3, 4);
  });
}

/// Tiles of a tensor map begin at multiples of 1024 bytes, contiguous copies at multiples of 16.
void alignments() {
  alignas(16) static std::array<float, 256> numbers{};
  static const emulator::Map map{reinterpret_cast<std::uint16_t*>(numbers.data()),
                                 {1, 64, 512, 512, 512},
                                 {64, 8, 1, 1, 1},
                                 {64, 8, 1, 1, 1}};
  const auto copies = [](std::uint32_t beside) {
    begin(0, 1);
    if (threadIdx.x != 0) return;
    CUtensorMap bytes{};
    std::memcpy(&bytes, &map, sizeof map);
    barrier_expect(0, 1024);
    tma_load(2048 + beside, &bytes, 0, 0, 0, 0, 0);
    barrier_wait(0, 0);
  };
  const auto stores = [](std::uint32_t beside, bool adds) {
    if (threadIdx.x != 0) return;
    CUtensorMap bytes{};
    std::memcpy(&bytes, &map, sizeof map);
    adds ? tma_add_start(&bytes, 2048 + beside, 0, 0, 0, 0)
         : tma_store_start(&bytes, 2048 + beside, 0, 0, 0, 0);
    bulk_wait_read();
  };
  const auto bulk = [](std::uint32_t beside, std::uint32_t bytes, std::size_t from) {
    begin(0, 1);
    if (threadIdx.x != 0) return;
    barrier_expect(0, bytes);
    bulk_load(1024 + beside, numbers.data() + from, bytes, 0);
    barrier_wait(0, 0);
  };
  const auto sums = [](std::uint32_t beside, std::uint32_t bytes, std::size_t to) {
    if (threadIdx.x != 0) return;
    bulk_add(numbers.data() + to, 1024 + beside, bytes);
    bulk_wait_read();
  };
  const emulator::Launch warp = launch_of(32);
  accepted("an aligned tile", warp, [&] { copies(0); });
  refused("not 1024-byte aligned", warp, [&] { copies(512); });
  for (const bool adds : {false, true}) {
    accepted("an aligned tile that goes out", warp, [&] { stores(0, adds); });
    refused("not 1024-byte aligned", warp, [&] { stores(512, adds); });
  }
  accepted("an aligned copy", warp, [&] { bulk(0, 32, 4); });
  refused("not 16-byte aligned", warp, [&] { bulk(8, 32, 4); });
  refused("not 16-byte aligned", warp, [&] { bulk(0, 24, 4); });
  refused("not 16-byte aligned", warp, [&] { bulk(0, 32, 2); });
  accepted("an aligned addition", warp, [&] { sums(0, 32, 4); });
  refused("not 16-byte aligned", warp, [&] { sums(8, 32, 4); });
  refused("not 16-byte aligned", warp, [&] { sums(0, 24, 4); });
  refused("not 16-byte aligned", warp, [&] { sums(0, 32, 2); });
}

/// After .read the source may be written again, the result is there only after the full wait; and
/// both hold for the thread only, until it has fenced, which counters must come after.
void bulk_waits() {
  static float sum[4];
  static unsigned counter;
  enum class Wait : unsigned char { none, read, done, done_and_fence };
  const auto store = [](Wait wait) {
    if (threadIdx.x != 0) return;
    store_shared_4(1024, 1, 1, 1, 1);
    fence_async_shared();
    bulk_add(sum, 1024, 16);
    if (wait == Wait::read) bulk_wait_read();
    if (wait == Wait::done) bulk_wait_done();
    store_shared_4(1024, 2, 2, 2, 2);
    bulk_wait_read();
  };
  const auto release = [](Wait wait) {
    if (threadIdx.x != 0) return;
    store_shared_4(1024, 1, 1, 1, 1);
    fence_async_shared();
    bulk_add(sum, 1024, 16);
    bulk_wait_read();
    if (wait >= Wait::done) bulk_wait_done();
    if (wait == Wait::done_and_fence) fence_async_global();
    add_release(&counter, 1);
  };
  const auto acquire = [](bool fence) {
    if (threadIdx.x != 0) return;
    store_shared_4(1024, 1, 1, 1, 1);
    fence_async_shared();
    while (load_acquire(&counter) == 0) back_off();
    if (fence) fence_async_global();
    bulk_add(sum, 1024, 16);
    bulk_wait_read();
  };
  for (const When when : kWhens) {
    const emulator::Launch warp = launch_of(32, when);
    accepted("a source that has been read", warp, [&] { store(Wait::read); });
    accepted("a source that has been added", warp, [&] { store(Wait::done); });
    refused("may still read it", warp, [&] { store(Wait::none); });
    accepted("a release after all", warp, [&] { release(Wait::done_and_fence); });
    refused("before the thread's bulk writes", warp, [&] { release(Wait::read); });
    refused("after bulk writes without fence.proxy.async", warp, [&] { release(Wait::done); });
    accepted("a fence after an acquire", warp, [&] { acquire(true); });
    refused("after an acquired counter", warp, [&] { acquire(false); });
  }
  // As late as may be: at the full wait, or at the end of the launch.
  for (const bool done : {false, true}) {
    sum[0] = 0;
    accepted("a late result", launch_of(32), [&] {
      if (threadIdx.x != 0) return;
      store_shared_4(1024, 1, 1, 1, 1);
      fence_async_shared();
      bulk_add(sum, 1024, 16);
      bulk_wait_read();
      if (sum[0] != 0) barrier_wait(0, 0);  // "no mbarrier there"
      if (done) bulk_wait_done();
      if (sum[0] != (done ? 1.F : 0.F)) barrier_wait(0, 0);
    });
    ++ran;
    if (sum[0] != 1)
      std::printf("FAILED: a result is %g after the launch\n", double{sum[0]}), ++failed;
  }
}

/// What TMA writes, and who else has the place.
void loads() {
  static std::array<float, 4> source{5, 6, 7, 8};
  enum class Plant : unsigned char { none, early_read, early_write, early_add, twice, unfenced };
  const auto thread = [](Plant plant) {
    static float sum[4];
    begin(0, 1);
    if (threadIdx.x != 0) return;
    store_shared_4(1024, 1, 1, 1, 1);
    if (plant != Plant::unfenced) fence_async_shared();
    barrier_expect(0, plant == Plant::twice ? 32 : 16);
    bulk_load(1024, source.data(), 16, 0);
    if (plant == Plant::twice) bulk_load(1024, source.data(), 16, 0);
    if (plant == Plant::early_read) load_shared(1028);
    if (plant == Plant::early_write) store_shared(1028, 1);
    if (plant == Plant::early_add) {
      bulk_add(sum, 1024, 16);
      bulk_wait_read();
    }
    barrier_wait(0, 0);
    if (load_shared_2(1024).y != 6) barrier_wait(64, 0);  // "no mbarrier there"
  };
  const emulator::Launch warp = launch_of(32);
  accepted("a load", warp, [&] { thread(Plant::none); });
  refused("read while TMA writes it", warp, [&] { thread(Plant::early_read); });
  refused("written while TMA writes it", warp, [&] { thread(Plant::early_write); });
  refused("read by TMA or wgmma before a wait", warp, [&] { thread(Plant::early_add); });
  refused("what another load of TMA writes", warp, [&] { thread(Plant::twice); });
  for (const When when : kWhens)
    refused("overwrites what thread 0 wrote without", launch_of(32, when),
            [&] { thread(Plant::unfenced); });
}

// --- Whole warps ---------------------------------------------------------------------------------

void whole_warps() {
  const emulator::Launch two = launch_of(64);
  refused("part of a warp", two, [] {
    if (threadIdx.x % 32 < 16) named_sync(1, 32);
  });
  accepted("a warp that arrives twice", two, [] {
    if (threadIdx.x < 32) {
      named_arrive(1, 64);
      named_arrive(1, 64);
    }
  });
  accepted("two warps", two, [] { named_sync(1, 64); });
}

// --- setmaxnreg ----------------------------------------------------------------------------------

void register_counts() {
  const emulator::Launch three = launch_of(384);
  accepted("one warpgroup's registers for two", three, [] {
    if (threadIdx.x < 128)
      lower_registers<24>();
    else
      raise_registers<240>();
  });
  refused("deadlock", three, [] {  // 40 + 2 * 240 are more than 65,536 / 128 = 512
    if (threadIdx.x < 128)
      lower_registers<40>();
    else
      raise_registers<240>();
  });
  refused("different numbers", three, [] {
    if (threadIdx.x < 64)
      lower_registers<24>();
    else
      lower_registers<32>();
  });
  refused("deadlock", three, [] {
    if (threadIdx.x < 96) lower_registers<24>();
  });
  refused("wrong direction", three, [] { lower_registers<240>(); });
  refused("not allowed", three, [] { lower_registers<100>(); });
  refused("no whole warpgroups", launch_of(160), [] { lower_registers<24>(); });
}

// --- Order of threads ----------------------------------------------------------------------------

/// Warp 0 adds what warp 1 has written to global memory and hands the buffer back: having waited
/// until it has been read, or waiting only behind the arrival, when it may be written already.
void hand_back(bool waits_before) {
  static float sum[128];
  const bool leader = threadIdx.x % 32 == 0;
  if (threadIdx.x < 32) {
    named_sync(1, 64);
    if (leader) bulk_add(sum, 0, 512);
    if (waits_before && leader) bulk_wait_read<0>();
    __syncwarp();
    named_arrive(2, 64);
    if (leader) bulk_wait_done();
  } else {
    store_shared_4(threadIdx.x % 32 * 16, 1, 1, 1, 1);
    fence_async_shared();
    named_arrive(1, 64);
    named_sync(2, 64);
    store_shared_4(threadIdx.x % 32 * 16, 2, 2, 2, 2);
    fence_async_shared();
  }
}

void order_of_threads() {
  emulator::Launch launch = launch_of(64);
  refused_in_some_order("may still read", launch, [] { hand_back(false); });
  for (launch.seed = 1; launch.seed <= 32; ++launch.seed)
    accepted("a buffer handed back when it has been read", launch, [] { hand_back(true); });
  // Found also where the thread that arrives has waited before any other runs.
  launch.switches = false;
  for (launch.seed = 1; launch.seed <= 32; ++launch.seed)
    refused("may still read", launch, [] { hand_back(false); });
}

}  // namespace

int main() {
  barriers();
  initialisations();
  remote_arrivals();
  bulk_copies();
  alignments();
  bulk_waits();
  loads();
  whole_warps();
  register_counts();
  order_of_threads();
  std::printf("%d of %d planted launches failed\n", failed, ran);
  return failed != 0;
}
