#include "gpu/emulator/counters.hpp"

#include "gpu/emulator/machine.hpp"
#include "gpu/emulator/threads.hpp"

namespace twill::gpu::emulator {

void check_acquired() {
  if (self().acquired) fail("TMA after an acquired counter without fence.proxy.async");
}

void fence_async_global() {
  self().bulk_written = self().acquired = false;
}

unsigned load_acquire(const unsigned* counter, Scope scope) {
  self().acquired = true;
  check(machine->counters[counter].acquire(place(), scope, self().known));
  return *counter;
}
void add_release(unsigned* counter, unsigned value, Scope scope) {
  if (!self().bulk.empty())
    fail("a counter is released before the thread's bulk writes have taken effect");
  if (self().bulk_written)
    fail("a counter is released after bulk writes without fence.proxy.async");
  machine->counters[counter].release(place(), scope, self().known);
  *counter += value;
  ++machine->progress;
}
unsigned fetch_add(unsigned* counter, unsigned value) {
  const unsigned before = *counter;
  *counter += value;
  ++machine->progress;
  return before;
}

}  // namespace twill::gpu::emulator
