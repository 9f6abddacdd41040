// What the kernel itself computes before its slots begin (gluon_slot_printer.hpp): what the loop
// carries in memory and begins with, and factors of products that lie in no memory else.
#include <algorithm>

#include "graph/emit/gluon_slot_printer.hpp"

namespace twill::emit {

Expression SlotPrinter::first_of_all(int v) {
  const std::string& id = m_.values[at(v)].id;
  if (warps_ < kWarpgroup)
    refuse("operand", id + " is computed, and no slot has four warps for it");
  std::set<int> needed = plan_.used_behind(v);
  needed.insert(v);
  for (const int one : needed)
    if (plan_.resident.contains(one))
      refuse("operand", id + " is made of what a slot loads for its loop, too");
  return early(v);
}

std::string SlotPrinter::initial_tiles() {
  const auto fence = [&] {
    needs_.fence = true;
    line(1, "fence_async_shared()  # ordinary writes, perhaps read by the asynchronous proxy");
  };
  for (int op = 0; op < static_cast<int>(p_.ops.size()); ++op) {
    if (!plan_.begins_in_kernel(op)) continue;
    const int result = plan_.links.result[at(op)];
    const Value& value = m_.values[at(result)];
    const Expression first = first_of_all(m_.initial_of(result)->what.value);
    if (value.shape.empty())
      refuse("operand", value.id + " begins with another tile than it goes on with");
    const std::string begun = values_.begun(result, first);
    for (const int s : p_.ops[at(op)].writes) {
      const program::Storage& storage = p_.storages[at(s)];
      if (storage.kind != program::Storage::in_memory) continue;
      for (int d = 1; d <= plan_.carried(s); ++d)
        line(1, copy_of(s, {Iteration::begin, -d}) + ".store(" + begun + ")");
      if (!plan_.on_tmem(storage) && value.shape.size() == 2) fence();
    }
  }
  for (const auto& [v, buffer] : plan_.made) {
    const Expression one = first_of_all(v);
    if (one.layout.kind != Layout::matrix || one.layout.turned)
      refuse("operand", m_.values[at(v)].id + " is a factor and no tile");
    line(1, buffer.name + ".store(" + one.text + ")");
    fence();
  }
  return std::move(text_);
}

std::string initial_tiles(const Plan& plan, int slot, ModuleNeeds& needs) {
  return SlotPrinter(plan, slot, needs).initial_tiles();
}

}  // namespace twill::emit
