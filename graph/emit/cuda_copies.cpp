// A slot's bulk copies from and to global memory, which one thread issues (cuda_slot_printer.hpp).
#include "graph/emit/cuda_slot_printer.hpp"

namespace twill::emit {

using program::Ending;
using program::Storage;

void CudaSlotPrinter::load(int depth, int op, const Value& value, Iteration it) {
  int storage = -1, event = -1, events = 0;
  for (const int s : p_.ops[at(op)].writes)
    if (p_.storages[at(s)].kind == Storage::in_memory) storage = s;
  if (p_.ops[at(op)].ending != Ending::transaction || storage < 0 || value.shape.empty())
    refuse("op", harmless(value.id) + " is no bulk load of a tile to shared memory");
  const auto& all = legal_.program.events;
  for (int e = 0; e < static_cast<int>(all.size()); ++e)
    if (!all[at(e)].pending && all[at(e)].op == legal_op(op)) event = e, ++events;
  if (events != 1) refuse("op", "not one barrier is waited on for the load " + harmless(value.id));
  const std::string& buffer = plan_.buffer[at(storage)];
  const CudaCoordinates where = cuda_coordinates(c_, value.tensor, cuda_iteration(it));
  if (value.shape.size() == 1) {
    const std::string& host = plan_.host_name[at(plan_.axes.tensor_of[at(value.tensor)])];
    const bool steps = plan_.axes.tensors[at(plan_.axes.tensor_of[at(value.tensor)])].steps >= 0;
    const std::string of_batch = "std::int64_t{place.batch}";
    line(depth, "load_vector(" + barrier_at(event, it) + ", " + buffer + "Bytes, " +
                    copy_at(storage, it) + ", g." + host + "_data + " +
                    (steps ? "(" + of_batch + " * n + " + cuda_iteration(it) + ")" : of_batch) +
                    " * g." + host + "_rows + " + where.row + ");");
    return;
  }
  line(depth, std::string(value.type == "f32"  ? "load_floats("
                          : value.type == "f8" ? "load_bytes("
                                               : "load_tile(") +
                  barrier_at(event, it) + ", " + buffer + "Bytes, " + copy_at(storage, it) +
                  ", &g." + plan_.host_name[at(plan_.axes.tensor_of[at(value.tensor)])] + "_map, " +
                  where.row + ", " + where.column + ", place.batch);");
}

void CudaSlotPrinter::store_registers(int depth, int op, const Value& value, Iteration it) {
  for (const program::Event& event : legal_.program.events)
    if (!event.pending && event.op == legal_op(op))
      refuse("release", "the store " + harmless(value.id) +
                            " from registers was to tell a barrier of its end");
  const int v = plan_.links.result[at(op)];
  read_.clear();
  const std::string what =
      evaluate(v, {operand(depth, op, value.operands[0], it, v)}, cuda_iteration(it)).text;
  line(depth, "if (threadIdx.x % 128 == 0) bulk_wait_read();",
       "WAR: the store of the iteration before has read the buffer");
  send(depth, value, staged(v), what, cuda_coordinates(c_, value.tensor, cuda_iteration(it)),
       false);
}

void CudaSlotPrinter::store(int depth, int op, const Value& value, Iteration it) {
  if (!blackwell() && !narrow() && value.shape.size() == 2 &&
      plan_.staging.contains(plan_.links.result[at(op)]) &&
      plan_.links.values[at(op)].size() == 1 && !plan_.adds(value.tensor)) {
    store_registers(depth, op, value, it);
    return;
  }
  if (!narrow() || p_.ops[at(op)].ending != Ending::transaction || value.shape.size() != 2 ||
      plan_.links.values[at(op)].size() != 1)
    refuse("op", harmless(value.id) + " stores a tile otherwise than in bulk: not emitted yet");
  const Source source = values_.resolve(op, value.operands[0]);
  if (source.kind != Source::memory || on_tmem(source))
    refuse("operand", "what " + harmless(value.id) + " stores does not lie in shared memory");
  const Value& tile = plan_.value_of(source.storage);
  const bool adds = plan_.adds(value.tensor);
  if (source.transposed || source.columns > 0 || tile.shape != value.shape ||
      tile.type != value.type || adds != (value.type == "f32"))
    refuse("operand", harmless(value.id) +
                          " stores a part, the transpose or another type of a tile, or f32 that is "
                          "not added");
  const std::string& host = plan_.host_name[at(plan_.axes.tensor_of[at(value.tensor)])];
  const CudaCoordinates where = cuda_coordinates(c_, value.tensor, cuda_iteration(it));
  line(depth, std::string(adds ? "tma_add_start" : "tma_store_start") + "(&g." + host + "_map, " +
                  copy_at(source.storage, it + -source.distance) + ", " + where.row + ", (" +
                  where.column + ") / " + (adds ? "32" : "64") + ", 0, place.batch);");
  flights_.push_back({op, it.offset, "", ""});
}

bool CudaSlotPrinter::stored_in_bulk(int storage) const {
  for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
    for (const program::Read& read : p_.ops[at(v)].reads)
      if (read.storage == storage &&
          m_.values[at(plan_.links.result[at(v)])].function == Function::store)
        return true;
  return false;
}

}  // namespace twill::emit
