// The state of a launch: blocks with their shared memory and barriers, threads, loads in flight.
// Private to gpu/emulator, as all headers here that neither kernels nor tests include.
#pragma once

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gpu/emulator/core.hpp"
#include "gpu/emulator/grid.hpp"
#include "gpu/emulator/machine.hpp"
#include "gpu/emulator/order.hpp"
#include "gpu/emulator/registers.hpp"

namespace twill::gpu::emulator {

struct Mbarrier {
  int arrivals = 0, pending = 0;
  std::int64_t transfers = 0;
  std::uint32_t phase = 0;
  int owner = 0;  ///< thread that initialised it
  /// Since then the owner has fenced the initialisation; after that the block, the cluster has met.
  bool fenced = false, met = false, cluster_met = false;
  Known telling, told;  ///< by the arrivals of the phase that runs, of those that have ended
  Event ended;          ///< of its own: phases that have ended
};

/// A store or addition of TMA: `read` takes its source out of shared memory and gives what is left
/// to do, the write to global memory.
struct Bulk {
  std::uint32_t from = 0, bytes = 0;            ///< 0 bytes: the thread knows that they are read
  std::function<std::function<void()>()> read;  ///< empty: has been read
  std::function<void()> write;                  ///< empty: not read yet, or has been written
};

struct Named {
  int arrived = 0, threads = 0;
  unsigned generation = 0;
  Known telling, told;
  std::map<int, int> warps;  ///< threads of each that have come since it was last full
};

/// A meeting of a fixed number of threads, with a word of each.
struct Meeting {
  int arrived = 0;
  unsigned generation = 0;
  std::array<std::array<std::uint32_t, 32>, 2> words{};
  Known telling, told;
};

/// An aligned instruction of a warp, and how many of its lanes have executed it.
struct Aligned {
  const char* what;
  int operand, lanes;
  std::string text() const { return what + (operand < 0 ? "" : " " + std::to_string(operand)); }
};

/// One wgmma of a warpgroup, from all its threads; the contents of its registers.
struct Wgmma {
  Multiply of;
  std::vector<std::uint32_t> lines;  ///< of 16 bytes in shared memory that it reads
  int threads = 0;
  std::array<std::uint32_t*, 128> d{};
  std::array<const std::uint32_t*, 128> a{};
};

struct Warpgroup {
  std::deque<Wgmma> ops;      ///< not yet executed
  std::int64_t executed = 0;  ///< number of the first in `ops`
  std::array<std::int64_t, 128> issued{}, wanted{};
  std::array<std::vector<std::int64_t>, 128> groups;  ///< ops issued up to each commit
  int registers = 0, asked = 0;                       ///< of a thread: it has, setmaxnreg asks for
  unsigned changes = 0;
  Meeting change;
};

struct Cluster;

struct Block {
  Cluster* cluster = nullptr;
  int index = 0, rank = 0;
  bool sleeps = false;  ///< lets other blocks run first
  std::vector<std::uint8_t> shared;
  Order order;                  ///< of the accesses of each 16 bytes
  std::vector<int> reading;     ///< per 16 bytes: wgmmas and bulk groups in flight that read them
  std::vector<int> arriving;    ///< per 16 bytes: TMA loads in flight that write them
  std::vector<int> unreleased;  ///< per 16 bytes: thread + 1 that wrote them since the cluster met
  std::map<std::uint32_t, Mbarrier> mbarriers;
  std::array<Named, 16> named;
  std::vector<Meeting> warps;
  std::vector<Warpgroup> warpgroups;
  int registers_left = 0;
  Meeting all;
  std::vector<Meeting> collective;  ///< of each warp
  std::vector<std::deque<Aligned>>
      aligned;  ///< of each warp, those that not all lanes have executed
  std::unique_ptr<Part> part;

  explicit Block(std::size_t bytes) : shared(bytes, 0xFF), order(bytes / 16 + 1) {}  // NaN
};

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  Block* block = nullptr;
  int thread = 0;
  bool done = false;
  bool stopped = false;                            ///< until no other thread can go on
  std::string waits;                               ///< for which barrier
  const std::function<bool()>* goes_on = nullptr;  ///< where it waits, for what
  Registers registers;
  std::size_t aligned = 0;             ///< instructions of the warp's list that it has executed
  std::vector<std::uint32_t> touched;  ///< 16-byte lines, not fenced
  std::deque<Bulk> bulk;               ///< groups that this thread has not waited for in full
  bool bulk_written = false;           ///< waited for, and no fence.proxy.async since
  bool acquired = false;               ///< a counter, and no fence.proxy.async since
  Known known;
  std::uint64_t waited = 0;  ///< at barriers and for the block
  std::uint32_t writer = 0;  ///< agent of the launch, 0: none yet
  std::uint32_t writes = 0;  ///< of TMA to global memory, so far
};

/// Blocks that run together and reach each other's shared memory.
struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<std::unique_ptr<Fiber>> fibers;
  Meeting all;
  std::uint32_t agents = 0;  ///< of Known, so far
};

/// A load of TMA in flight, to a shared address.
struct Load {
  Cluster* cluster = nullptr;
  std::uint32_t to = 0;
  std::function<void()> effect;
};

struct Machine {
  const Launch* launch = nullptr;
  const std::function<void()>* body = nullptr;
  std::vector<std::unique_ptr<Cluster>> clusters;  ///< that run
  Cluster* current = nullptr;                      ///< of the thread or the load that runs
  GridOrder written;
  std::uint32_t writers = 1;
  std::map<const void*, Counter> counters;
  std::vector<Load> loads;                       ///< in flight
  std::vector<std::function<void()>> unwritten;  ///< bulk writes that no thread has waited for
  LentPlaces lent;
  ucontext_t scheduler;
  Fiber* running = nullptr;
  std::string error;
  std::uint64_t progress = 0;
  Dim thread, block, grid;
  std::mt19937 random;
};

/// Of the launch that runs.
extern Machine* machine;

inline std::size_t size(int n) {
  return static_cast<std::size_t>(n);
}
inline Fiber& self() {
  return *machine->running;
}
inline Fiber& fiber_of(const Block& block, int thread) {
  return *block.cluster->fibers[size(block.rank * machine->launch->threads + thread)];
}
inline Warpgroup& warpgroup() {
  return self().block->warpgroups[static_cast<std::size_t>(self().thread / 128)];
}
inline Place place() {
  const int block = self().block->index;
  return {block, block / machine->launch->cluster};
}

}  // namespace twill::gpu::emulator
