// What the emulated multiprocessor gives to other parts of the emulator (tensor memory). Private to
// gpu/emulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace twill::gpu::emulator {

/// State of a block that runs, which another part of the emulator keeps.
class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;
  /// Checks, with core::fail(), what must have ended where the running thread does.
  virtual void end_thread() = 0;
  /// What is wrong where all threads have ended, "" if nothing.
  virtual std::string end_block() = 0;
};

/// What a thread or a barrier knows to be done: per agent a count, empty where there is nothing.
/// It goes with arrivals, waits and meetings, as the memory of the block does.
/// Agents below kTensorAgents are tensor memory's; then the threads of a cluster and its mbarriers.
/// `launch`: of the threads of the launch, the writes of TMA that have taken effect.
struct Known : std::vector<std::uint32_t> {
  std::vector<std::uint32_t> launch;
};
inline constexpr std::uint32_t kTensorAgents = 64;
inline void learn(std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (std::size_t k = 0; k < from.size(); ++k)
    if (to[k] < from[k]) to[k] = from[k];
}
inline void learn(Known& to, const Known& from) {
  learn(static_cast<std::vector<std::uint32_t>&>(to), from);
  learn(to.launch, from.launch);
}

namespace core {

/// Fails in the name of the running thread, or of none where asynchronous work takes effect.
[[noreturn]] void fail(const std::string& what);
int thread();   ///< of the running thread
int threads();  ///< of its block
int rank();     ///< its block's in the cluster
bool late();    ///< asynchronous work takes effect as late as it may
unsigned chance();
std::unique_ptr<Part>& part(int rank);
/// What the running thread knows by the barriers that it has waited at, and tells by its arrivals.
Known& known();
/// The same without what it has done itself, of which only its arrivals tell.
Known known_of_others();
/// How often the running thread has waited at barriers and met the block.
std::uint64_t waits();
void progress();
void wait_until(const std::function<bool()>& condition);
/// All lanes of the running thread's warp; it orders nothing.
void meet_warp();

/// A line of 16 bytes in shared memory may be read by the tensor core, which the running thread
/// asks for: in bounds, written before for all that it knows, and with fence.proxy.async.
void check_async_read(int rank, std::uint32_t line);
/// It is not being written by TMA now.
void check_written(int rank, std::uint32_t line);
/// The tensor core reads a line from here; until the `count`th event of `agent`.
void start_reading(int rank, std::uint32_t line);
void end_reading(int rank, std::uint32_t line, std::uint32_t agent, std::uint32_t count);
std::uint16_t read(int rank, std::uint32_t address);
void write(int rank, std::uint32_t address, std::uint32_t word);

/// The running thread may name the barrier to an asynchronous unit.
void check_barrier(std::uint32_t barrier);
/// An arrival of an asynchronous unit, which tells `what`.
void arrive(int rank, std::uint32_t barrier, const Known& what);
/// Happens at once, or when threads have nothing else to do, in any order.
void in_flight(std::function<void()> effect);

}  // namespace core
}  // namespace twill::gpu::emulator
