// Input check: does a layout's gross register allocation exist on the SM?
#include "graph/io/json_text.hpp"
#include "graph/lowering/machine.hpp"

namespace twill {
namespace {

/// A warpgroup that narrow slots share.
struct Pack {
  int free = 0;           ///< warps not taken yet
  std::size_t first = 0;  ///< slot that opened it
};

}  // namespace

void check_register_file(const RegisterFile& file, const Layout& layout, const std::string& source,
                         const std::string& place) {
  const int warps = file.threads_per_warpgroup / kThreadsPerWarp;
  Amount used = 0;
  std::string sum;
  const auto take = [&](Amount registers) {
    used += file.threads_per_warpgroup * registers;
    sum += (sum.empty() ? "" : " + ") + std::to_string(registers);
  };
  Pack pack;
  for (std::size_t w = 0; w < layout.slots.size(); ++w) {
    const WarpSlot& slot = layout.slots[w];
    const std::string here = place + "/slots/" + std::to_string(w);
    const auto fail = [&](const char* key, Amount value, const std::string& rule) {
      throw InputError(source, here + key, std::to_string(value), rule);
    };
    if (slot.registers % file.granule != 0 || slot.registers < file.min ||
        slot.registers > file.max)
      fail("/registers", slot.registers,
           "gross registers must be a multiple of " + std::to_string(file.granule) + " from " +
               std::to_string(file.min) + " to " + std::to_string(file.max));
    if (slot.width >= warps) {
      if (slot.width % warps != 0)
        fail("/width", slot.width,
             "a slot must be whole warpgroups of " + std::to_string(warps) +
                 " warps, or narrower than one");
      for (int group = 0; group < slot.width / warps; ++group) take(slot.registers);
      continue;
    }
    if (pack.free < slot.width) {
      pack = {warps, w};
      take(slot.registers);
    }
    pack.free -= slot.width;
    const WarpSlot& first = layout.slots[pack.first];
    if (slot.registers != first.registers)
      fail("/registers", slot.registers,
           "must be " + std::to_string(first.registers) + " as slot " + quote(first.name) +
               ": they are packed into one warpgroup");
  }
  if (used > file.registers)
    throw InputError(source, place, quote(layout.name),
                     "needs " + std::to_string(file.threads_per_warpgroup) + " x (" + sum +
                         ") = " + std::to_string(used) + " registers, the register file has " +
                         std::to_string(file.registers));
}

}  // namespace twill
