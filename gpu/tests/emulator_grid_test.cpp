// Blocks that run at once on the emulated multiprocessors, and what orders their writes of global
// memory: counters that are released and acquired in scopes that have both blocks. Each rule has a
// planted error and, beside it, the right order. No GPU is needed.
#include <array>
#include <cstdint>

#include "gpu/emulator/hopper.hpp"
#include "gpu/tests/emulator_checks.hpp"

using namespace twill::gpu;
using emulator::check_accepted;
using emulator::check_refused;
using emulator::Launch;
using emulator::Scope;
using emulator::When;

namespace {

constexpr int kBlocks = 4;

template <class What>
void in_every_order(int cluster, int at_once, const What& what) {
  for (const When when : {When::at_once, When::late})
    for (unsigned seed = 1; seed <= 8; ++seed) {
      Launch launch;
      launch.blocks = kBlocks;
      launch.cluster = cluster;
      launch.at_once = at_once;
      launch.threads = 32;
      launch.when = when;
      launch.seed = seed;
      launch.ordered_sums = true;
      what(launch);
    }
}

struct Turns {
  bool waits = true, acquires = true, fences = true, done = true;
  Scope released = Scope::gpu, acquired = Scope::gpu;
  int step = 1;  ///< block b waits for b - step; the first, and the last where it is -1, for nobody
};

/// Every block adds to the same place, one after the other.
void add(const Turns& how, unsigned (&counters)[kBlocks], float (&sum)[4]) {
  if (threadIdx.x != 0) return;
  const int block = static_cast<int>(blockIdx.x), before = block - how.step;
  store_shared_4(1024, 1, 1, 1, 1);
  fence_async_shared();
  if (how.waits && before >= 0 && before < kBlocks) {
    unsigned& counter = counters[before];
    if (how.acquires)
      while (emulator::load_acquire(&counter, how.acquired) == 0) back_off();
    else
      while (fetch_add(&counter, 0) == 0) back_off();
    if (how.fences) fence_async_global();
  }
  bulk_add(sum, 1024, 16);
  bulk_wait_read();
  if (how.done) bulk_wait_done();
  fence_async_global();
  emulator::add_release(&counters[block], 1, how.released);
}

struct Run {
  unsigned counters[kBlocks] = {};
  float sum[4] = {};
};
void accepted(const char* what, const Launch& launch, const Turns& how) {
  Run run;
  check_accepted(what, launch, [&] { add(how, run.counters, run.sum); });
  ++emulator::checks_ran;
  if (run.sum[0] == kBlocks) return;
  std::printf("FAILED: %s: the sum is %g\n", what, double{run.sum[0]});
  ++emulator::checks_failed;
}
void refused(const char* text, const Launch& launch, const Turns& how) {
  Run run;
  check_refused(text, launch, [&] { add(how, run.counters, run.sum); });
}

/// Both blocks store the same rows.
void store(int rows_apart) {
  static std::array<std::uint16_t, std::size_t{64} * 64> rows{};
  static const emulator::Map map{
      rows.data(), {1, 64, 4096, 4096, 4096}, {64, 64, 1, 1, 1}, {64, 8, 1, 1, 1}};
  if (threadIdx.x != 0) return;
  CUtensorMap bytes{};
  std::memcpy(&bytes, &map, sizeof map);
  for (std::uint32_t at = 0; at < 1024; at += 16) store_shared_4(1024 + at, 0, 0, 0, 0);
  fence_async_shared();
  tma_store_start(&bytes, 1024, static_cast<int>(blockIdx.x) * rows_apart, 0, 0, 0);
  bulk_wait_read();
}

}  // namespace

int main() {
  for (const int at_once : {1, 2, 3, kBlocks})
    in_every_order(1, at_once, [&](const Launch& launch) {
      accepted("additions in turn", launch, {});
      Launch any = launch;
      any.ordered_sums = false;
      accepted("additions in any order", any, {.waits = false});
      refused("additions in no known order", launch, {.waits = false});
      refused("additions in no known order", launch, {.acquires = false});
      refused("after an acquired counter", launch, {.fences = false});
      refused("before the thread's bulk writes", launch, {.done = false});
      for (const Scope narrow : {Scope::block, Scope::cluster}) {
        refused("in the scope of both", launch, {.released = narrow});
        refused("in the scope of both", launch, {.acquired = narrow});
      }
      check_accepted("stores to different rows", launch, [] { store(8); });
      check_refused("two writes of TMA to one place", launch, [] { store(7); });
      // Each waits for the next one: right only where all run at once.
      const Turns backwards{.step = -1};
      if (at_once == kBlocks)
        accepted("additions in turn, the last block first", launch, backwards);
      else
        refused("deadlock", launch, backwards);
    });
  // A cluster of two is in its own scope, and no other block.
  in_every_order(2, 2, [](const Launch& launch) {
    accepted("additions in turn of clusters", launch, {});
    refused("in the scope of both", launch, {.released = Scope::cluster});
    Launch one = launch;
    one.blocks = 2;
    Run run;
    check_accepted("additions in turn of one cluster", one, [&] {
      add({.released = Scope::cluster, .acquired = Scope::cluster}, run.counters, run.sum);
    });
    run = {};
    check_refused("in the scope of both", one, [&] {
      add({.released = Scope::block, .acquired = Scope::cluster}, run.counters, run.sum);
    });
  });
  std::printf("%d of %d checks failed\n", emulator::checks_failed, emulator::checks_ran);
  return emulator::checks_failed != 0;
}
