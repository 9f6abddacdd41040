// A slot's copies between global and shared memory in the loop (gluon_slot_printer.hpp).
//
// A bulk store tells nobody of its end: its slot counts the groups of stores in flight, which end
// in order (PTX ISA, cp.async.bulk.wait_group), and a release (legal.hpp) tells a barrier.
#include <algorithm>

#include "graph/emit/gluon_slot_printer.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {

using program::Ending;
using program::Storage;

namespace {

/// An iteration as a factor.
std::string factor(Iteration it) {
  const std::string text = iteration_text(it);
  return text.find(' ') == std::string::npos ? text : "(" + text + ")";
}

}  // namespace

void SlotPrinter::load(int depth, int op, const Value& value, Iteration it) {
  int storage = -1;
  for (const int s : p_.ops[at(op)].writes)
    if (p_.storages[at(s)].kind == Storage::in_memory && !plan_.on_tmem(p_.storages[at(s)]))
      storage = s;
  if (p_.ops[at(op)].ending != Ending::transaction || storage < 0 || value.shape.empty())
    refuse("op", value.id + " is no bulk load of a tile to shared memory");
  const std::string bars = barriers_of(legal_op(op), it);
  if (bars.empty() || bars.find(", ") != std::string::npos)
    refuse("op", "nobody waits for the load " + value.id);
  if (it.from == Iteration::end) use("n");
  if (plan_.by_elements(value.tensor)) {
    load_elements(depth, value, iteration_text(it), copy_of(storage, it), bars);
    return;
  }
  if (value.shape.size() == 1) {
    load_vector(depth, value, it, copy_of(storage, it), bars);
    return;
  }
  const std::string desc = use(host(value.tensor) + "_desc");
  line(depth, "mbarrier.expect(" + bars + ", " + desc + ".nbytes_per_cta)");
  line(depth, "tma.async_load(" + desc + ", " + coordinates(value.tensor, factor(it)) + ", " +
                  bars + ", " + copy_of(storage, it) + ")");
}

void SlotPrinter::load_vector(int depth, const Value& value, Iteration it, const std::string& to,
                              const std::string& barrier) {
  if (gluon_type(value.type).empty() || meaning::number_type(value.type)->bytes != 4)
    refuse("type", "a vector of " + value.type + " is loaded: cp.async copies 4 bytes at least");
  // (Of fewer elements than threads some threads have none: Triton leaves their copies out.)
  const std::int64_t threads = 32 * std::int64_t{warps_};
  if (value.shape[0] % threads != 0 && threads % value.shape[0] != 0)
    refuse("op", value.id + " has no power of two of elements");
  needs_.async_copy = true;
  const std::string where = coordinates(value.tensor, factor(it));
  const std::string layout = "gl.BlockedLayout([" +
                             std::to_string(std::max<std::int64_t>(value.shape[0] / threads, 1)) +
                             "], [32], [" + std::to_string(warps_) + "], [0])";
  line(depth, "async_copy.async_load(" + to + ", " + use(host(value.tensor) + "_ptr") + " + " +
                  where.substr(1, where.size() - 2) + " + gl.arange(0, " +
                  std::to_string(value.shape[0]) + ", layout=" + layout + "))");
  line(depth, "async_copy.mbarrier_arrive(" + barrier +
                  ", increment_count=False)  # every thread, when its copies are there");
}

void SlotPrinter::store(int depth, int op, const Value& value, Iteration it) {
  if (plan_.by_elements(value.tensor)) {
    store_in_loop(depth, op, value, it);
    return;
  }
  if (value.shape.empty()) {
    if (plan_.links.values[at(op)].size() != 1)
      refuse("op", "the store " + value.id + " is part of a chain");
    if (!barriers_of(legal_op(op), it).empty())
      refuse("release", "the store " + value.id + " was to tell a barrier of its end");
    store_number(depth, op, plan_.links.result[at(op)], it);
    return;
  }
  if (value.shape.size() != 2)
    refuse("op", value.id + " stores a vector in every iteration: not emitted yet");
  if (plan_.links.values[at(op)].size() != 1)
    refuse("op", "the store " + value.id + " is part of a chain");
  if (plan_.staging.contains(plan_.links.result[at(op)])) {
    store_registers(depth, op, value, it);
    return;
  }
  const Source source = values_.resolve(op, value.operands[0]);
  if (source.kind != Source::memory || plan_.on_tmem(p_.storages[at(source.storage)]))
    refuse("operand", "what " + value.id + " stores does not lie in shared memory");
  const Value& tile = m_.values[at(plan_.links.result[at(source.op)])];
  if (source.transposed || source.columns > 0 || tile.shape != value.shape ||
      tile.type != m_.tensors[at(value.tensor)].type || tile.type != value.type)
    refuse("operand", value.id + " stores a part, the transpose or another type of a tile");
  issue_store(depth, op, value, it, copy_of(source.storage, it + -source.distance));
}

void SlotPrinter::issue_store(int depth, int op, const Value& value, Iteration it,
                              const std::string& from) {
  if (!barriers_of(legal_op(op), it).empty())
    refuse("release", "the store " + value.id + " was to tell a barrier of its end");
  if (it.from == Iteration::end) use("n");
  needs_.bulk_add |= plan_.adds(value.tensor);
  line(depth, std::string(plan_.adds(value.tensor) ? "tma.async_atomic_add(" : "tma.async_store(") +
                  use(host(value.tensor) + "_desc") + ", " + coordinates(value.tensor, factor(it)) +
                  ", " + from + ")");
  state_.stores.push_back({op, it.offset});
}

void SlotPrinter::store_registers(int depth, int op, const Value& value, Iteration it) {
  const int v = plan_.links.result[at(op)];
  const std::string buffer = use(plan_.staging.at(v).name);
  ensure_ended(depth, op, value, it);
  const Expression tile = values_.evaluate(v, {operand(op, value.operands[0], it)},
                                           values_.layout_of(v), iteration_text(it));
  wait_store(depth, op, it.offset - 1, "  # WAR of " + buffer);
  line(depth, buffer + ".store(" + tile.text + ")");
  needs_.fence = true;
  line(depth, "fence_async_shared()  # ordinary writes, read by the bulk store");
  issue_store(depth, op, value, it, buffer);
}

void SlotPrinter::wait_store(int depth, int op, int iteration, const std::string& comment) {
  auto& all = state_.stores;
  const auto found = std::find_if(all.begin(), all.end(), [&](const StoreInFlight& store) {
    return store.op == op && store.iteration == iteration;
  });
  if (found == all.end()) return;  // another wait was for it, too
  const EndOfFlights end = end_of_flights(all, static_cast<std::size_t>(found - all.begin()));
  line(depth, "tma.store_wait(" + std::to_string(end.left) + ")" + comment);
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(end.ended));
}

}  // namespace twill::emit
