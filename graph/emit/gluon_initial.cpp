// What the loop carries in memory and begins with a tile that is computed: the kernel writes it
// before its slots begin (gluon_slot_printer.hpp).
#include <algorithm>

#include "graph/emit/gluon_slot_printer.hpp"

namespace twill::emit {

std::string SlotPrinter::initial_tiles() {
  for (int op = 0; op < static_cast<int>(p_.ops.size()); ++op) {
    if (!plan_.begins_in_kernel(op)) continue;
    const int result = plan_.links.result[at(op)];
    const Value& value = m_.values[at(result)];
    if (warps_ < kWarpgroup)
      refuse("operand", value.id + " begins with a tile, and no slot has four warps for it");
    const int what = m_.initial_of(result)->what.value;
    std::set<int> open = plan_.used_behind(what);
    open.insert(what);
    for (const int v : open)
      if (plan_.resident.contains(v))
        refuse("operand", value.id + " begins with what a slot loads for its loop, too");
    const Expression first = early(what);
    if (first.layout != values_.layout_of(result) || first.type != value.type ||
        value.shape.empty())
      refuse("operand", value.id + " begins with another tile than it goes on with");
    for (const int s : p_.ops[at(op)].writes) {
      const program::Storage& storage = p_.storages[at(s)];
      if (storage.kind != program::Storage::in_memory) continue;
      for (int d = 1; d <= plan_.carried(s); ++d)
        line(1, copy_of(s, {Iteration::begin, -d}) + ".store(" + first.text + ")");
      if (plan_.on_tmem(storage) || value.shape.size() != 2) continue;
      needs_.fence = true;
      line(1, "fence_async_shared()  # ordinary writes, perhaps read by the asynchronous proxy");
    }
  }
  return std::move(text_);
}

std::string initial_tiles(const Plan& plan, int slot, ModuleNeeds& needs) {
  return SlotPrinter(plan, slot, needs).initial_tiles();
}

}  // namespace twill::emit
