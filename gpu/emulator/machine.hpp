// A small emulator of a Hopper multiprocessor: runs the kernels' own source on the CPU, compiled
// with TWILL_GPU_EMULATED, so that their index arithmetic, descriptors, masks, barriers and order
// are tested without a GPU. Threads of a block (or of a cluster of two) are fibers of one host
// thread, switched where they wait and, by chance, where they arrive.
//
// Emulated: shared memory, mbarriers with transaction counts, named barriers, TMA loads (with
// multicast), stores and additions, warp shuffles, stmatrix, ldmatrix, and wgmma through its
// descriptors of 128-byte swizzled tiles (PTX ISA, "Asynchronous Warpgroup Level Matrix
// Instructions"). What is asynchronous happens at once or as late as its wait allows, by choice.
// Blocks run one cluster after the other, or some at once.
//
// Errors: an access of shared memory that nothing orders before or after what TMA or wgmma does
// there, or no fence.proxy.async where one side is ordinary (order.hpp); an ordinary write that the
// TMA of another block of the cluster overwrites before the cluster has met; two writes of TMA to
// one place in global memory that nothing orders (grid.hpp); registers of a wgmma that are touched
// without wgmma.fence or before its wait; a barrier used without fence.mbarrier_init and a meeting;
// a result in global memory that is told of before the full bulk wait; a named barrier by a part of
// a warp; lanes of a warp at different aligned instructions; setmaxnreg by a part of a warpgroup,
// or of more registers than others have left; a deadlock, too many arrivals, a block that ends with
// work in flight. Not emulated: time, spills, whether lanes that have diverged come together again,
// ordinary accesses of global memory, and what ordinary accesses of shared memory do to each other.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "gpu/hopper/element.hpp"

namespace twill::gpu::emulator {

struct Dim {
  unsigned x = 0, y = 0, z = 0;
};

/// Of the memory model (PTX ISA, "Scope"): who sees what an access orders.
enum class Scope : unsigned char { block, cluster, gpu };

/// When asynchronous work takes effect.
enum class When : unsigned char { at_once, late };

struct Launch {
  int blocks = 1;
  int threads = 384;
  int cluster = 1;  ///< 1 or 2 blocks, which run together
  int shared_bytes = 232448;
  When when = When::late;
  unsigned seed = 1;  ///< of the order in which threads run
  /// A warpgroup that runs only where no other thread and no load can go on; -1: none.
  int held = -1;
  /// Loads to shared addresses from .. to - 1 take effect only where no others are in flight.
  std::uint32_t held_from = 0, held_to = 0;
  /// Bulk stores read only when nothing else can go on, whatever `when` says.
  bool late_stores = false;
  /// Behind some of its arrivals at barriers a thread stops until no other can go on: what it does
  /// only then comes after what they do. (Else it goes on until it waits.)
  bool switches = true;
  int at_once = 1;  ///< clusters that run at the same time
  /// Additions of TMA to one place in global memory must come in a known order.
  bool ordered_sums = false;
};

/// What the emulated kernel did wrong.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs `thread` as every thread of the grid. Throws Error.
void run(const Launch& launch, const std::function<void()>& thread);

/// A tensor for TMA as tensor_map.hpp makes one: (64 elements, sequence, panel, head, batch). Kept
/// in the bytes of a CUtensorMap.
struct Map {
  std::uint16_t* data;
  std::int64_t strides[5];  ///< elements
  int dims[5], box[5];
};

// What the kernels' instructions become; of the running thread.
const Dim& thread_index();
const Dim& block_index();
const Dim& grid_size();
void barrier_init(std::uint32_t barrier, std::uint32_t arrivals);
void barrier_init_fence();  ///< of the barriers that the thread has initialised
void barrier_arrive(std::uint32_t barrier, int rank);  ///< rank -1: this block
void barrier_expect(std::uint32_t barrier, std::uint32_t bytes);
void barrier_wait(std::uint32_t barrier, std::uint32_t parity);
void named(int id, int threads, bool wait);
void sync_threads();
void sync_cluster();
void sync_warp();
bool elect();
std::uint32_t shuffle(std::uint32_t value, int lane);
void tma_load(std::uint32_t to, const Map& map, const int (&at)[5], std::uint32_t barrier,
              unsigned blocks);  ///< blocks 0: this one
void bulk_load(std::uint32_t to, const void* from, std::uint32_t bytes, std::uint32_t barrier);
void tma_store(const Map& map, std::uint32_t from, const int (&at)[5]);
/// Of fp32 values: a map has them as two halves each, 32 columns a panel.
void tma_add(const Map& map, std::uint32_t from, const int (&at)[5]);
void bulk_add(float* to, std::uint32_t from, std::uint32_t bytes);
void bulk_wait_read(int pending);
void bulk_wait_done();
void fence_async_global();
// Counters in global memory, for all blocks of the grid; fetch_add orders nothing.
unsigned load_acquire(const unsigned* counter, Scope scope);
void add_release(unsigned* counter, unsigned value, Scope scope);
unsigned fetch_add(unsigned* counter, unsigned value);
void fence_async();
void store_shared(std::uint32_t address, const void* from, std::uint32_t bytes);
void load_shared(void* to, std::uint32_t address, std::uint32_t bytes);
void store_matrices(std::uint32_t address, const std::uint32_t (&tiles)[4], bool transposed);
void load_matrices(std::uint32_t (&tiles)[4], std::uint32_t address);
/// Lets other threads run.
void pause();

/// wgmma.m64nNk16, of 8-bit elements k32, of the warpgroup; a: of registers, null = by descriptor.
struct Multiply {
  Element element;
  int n;
  float* d;
  const std::uint32_t* a;
  std::uint64_t a_tile, b_tile;
  bool a_transposed, b_transposed, accumulate;
};
void multiply(const Multiply& m);
void multiply_fence();
void multiply_commit();
void multiply_wait(int pending);
/// setmaxnreg of the thread's warpgroup, all of which must ask for the same. A launch begins with
/// as many registers a thread as the file has for its threads, in eights; who raises waits for
/// them.
void set_registers(int count, bool raise);
/// A value that arithmetic uses must not be of a multiplication in flight.
void use(std::uint32_t bits);

/// 16-bit conversions, rounded to nearest even.
float to_float(std::uint16_t bits, Element element);
std::uint16_t from_float(float value, Element element);

}  // namespace twill::gpu::emulator
