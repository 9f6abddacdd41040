// The threads of a launch as fibers of one host thread: where they are switched, how they wait and
// fail, and what they know of each other.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gpu/emulator/state.hpp"

namespace twill::gpu::emulator {

/// Lets others run.
void yield();
/// In the name of the running thread.
[[noreturn]] void fail(const std::string& what);
/// Fails where a check has found something.
void check(const std::string& wrong);

/// The thread gets no turn before that is true. (The scheduler asks, as nine of ten turns would
/// find it false.) A condition must not fail.
template <class Condition>
void wait_until(const Condition& condition) {
  if (!condition()) {
    const std::function<bool()> goes_on = std::cref(condition);
    self().goes_on = &goes_on;
    yield();
    self().goes_on = nullptr;
  }
  ++machine->progress;
}
/// A warpgroup that is kept back goes no further than it must after it has told others something.
void step_back();
/// Behind an arrival. More often for lane 0, which in the kernels issues alone.
void switch_by_chance();

/// Where a thread is: it goes on to its next event whenever it has told others something.
Event now(const Fiber& fiber);
Event now();
/// The running thread tells what it knows.
void tell(Known& telling);

/// A thread that will run the launch's body.
std::unique_ptr<Fiber> make_fiber(Block* block, int thread);

}  // namespace twill::gpu::emulator
