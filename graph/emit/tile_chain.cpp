#include "graph/emit/tile_chain.hpp"

#include <algorithm>

#include "graph/index.hpp"

namespace twill::emit {

bool is_tile_chain(const program::Program& program, const meaning::Meaning& meaning,
                   const program::Links& links, int first) {
  const auto value = [&](int op) -> const meaning::Value& {
    return meaning.values[at(links.result[at(op)])];
  };
  const auto on_tmem = [&](int storage) {
    const program::Storage& s = program.storages[at(storage)];
    return s.kind == program::Storage::in_memory && program.memories[at(s.memory)].name == "tmem";
  };
  const program::Op &load = program.ops[at(first)], &middle = program.ops[at(first + 1)],
                    &store = program.ops[at(first + 2)];
  for (const int v : {first, first + 1, first + 2}) {
    const program::Op& op = program.ops[at(v)];
    if (op.slot != load.slot || op.stage != load.stage || op.ending != program::Ending::at_once ||
        op.writes.size() != 1 || links.values[at(v)].size() != 1 ||
        !meaning::is_elementwise(value(v).function) || value(v).shape != value(first).shape ||
        value(v).shape.size() != 2 || value(v).type != "f32")
      return false;
    const bool told = std::any_of(program.events.begin(), program.events.end(),
                                  [&](const program::Event& event) { return event.op == v; });
    if (told && v != first + 2) return false;
  }
  const auto read_once = [&](int storage, int reader) {
    int reads = 0;
    for (const program::Op& op : program.ops)
      for (const program::Read& read : op.reads)
        if (read.storage == storage) ++reads;
    const auto& by = program.ops[at(reader)].reads;
    return reads == 1 && std::any_of(by.begin(), by.end(), [&](const program::Read& read) {
             return read.storage == storage && read.distance == 0;
           });
  };
  const auto uses = [&](int op, int of) {
    const auto& in = value(op).operands;
    return std::any_of(in.begin(), in.end(), [&](const meaning::Operand& one) {
      return one.value == links.result[at(of)] && one.distance == 0 && !one.transposed &&
             one.columns == 0;
    });
  };
  return load.reads.size() == 1 && on_tmem(load.reads.front().storage) &&
         read_once(load.writes.front(), first + 1) && read_once(middle.writes.front(), first + 2) &&
         uses(first + 1, first) && uses(first + 2, first + 1) &&
         value(first).function == meaning::Function::copy &&
         value(first + 2).function == meaning::Function::copy && on_tmem(store.writes.front());
}

}  // namespace twill::emit
