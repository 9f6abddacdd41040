// The registers of a multiprocessor, which warpgroups give and take by setmaxnreg.
#include "gpu/emulator/machine.hpp"
#include "gpu/emulator/meeting.hpp"
#include "gpu/emulator/state.hpp"
#include "gpu/emulator/threads.hpp"

namespace twill::gpu::emulator {

void set_registers(int count, bool raise) {
  aligned("setmaxnreg");
  Block& block = *self().block;
  if (machine->launch->threads % 128 != 0) fail("setmaxnreg in a block of no whole warpgroups");
  if (count % 8 != 0 || count < 24 || count > 256)
    fail("setmaxnreg of a number that is not allowed");
  Warpgroup& w = warpgroup();
  if (w.change.arrived == 0) w.asked = count;
  if (w.asked != count) fail("setmaxnreg of different numbers in a warpgroup");
  const unsigned changes = w.changes;
  meet(w.change, 128);
  if (self().thread % 128 != 0) {
    wait_until([&] { return w.changes != changes; });
    return;
  }
  const int more = 128 * (count - w.registers);
  if (raise != (more >= 0) && more != 0) fail("setmaxnreg in the wrong direction");
  wait_until([&] { return block.registers_left >= more; });
  block.registers_left -= more;
  w.registers = count;
  ++w.changes;
}

}  // namespace twill::gpu::emulator
