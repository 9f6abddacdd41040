// Buffers of a replayed loop: who writes and who reads (see replayer.hpp).
#include <algorithm>
#include <set>

#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/replayer.hpp"

namespace twill::ttgir {

void Replayer::touch(int execution, std::size_t k, bool reads, bool writes) {
  Execution& e = out_.executions[static_cast<std::size_t>(execution)];
  const Datum& datum = e.reads[k];
  if (datum.buffer == kNone) return;  // a function's argument: nothing is in it of the loop
  if (datum.slot < 0) fail(e.op, "which buffer of the ring it means is not known");
  if (writes && !datum.whole) fail(e.op, "it writes a part of a buffer");
  const auto unknown_one = unknown_writer_.find(datum.buffer);
  int& writer = writers_
                    .try_emplace({datum.buffer, datum.slot},
                                 unknown_one == unknown_writer_.end() ? kNone : unknown_one->second)
                    .first->second;
  e.buffers.push_back({k, datum.buffer, datum.slot, writer, reads, writes});
  if (writes) writer = execution;
}

void Replayer::touch_buffers(int execution) {
  const int index = out_.executions[static_cast<std::size_t>(execution)].op;
  const Operation& op = m_.op(index);
  const auto tiles = operands_of(op, false);
  const OpClass c = class_of(op);
  for (std::size_t k = 0; k < tiles.size(); ++k) {
    switch (c) {
      case OpClass::mma: {
        const bool accumulates = is_tensor_memory_mma(op) && k == 2;
        const auto flags = flags_of(op);
        const Datum* use =
            flags.empty() ? nullptr
                          : &out_.executions[static_cast<std::size_t>(execution)].reads[flags[0]];
        const bool anew =
            accumulates && use != nullptr && is_constant(use->number) && use->number->constant == 0;
        touch(execution, tiles[k], !anew, accumulates);
        break;
      }
      case OpClass::tmem_store:
      case OpClass::local_store: touch(execution, tiles[k], false, true); break;
      case OpClass::copy:
        if ((op.name != "ttng.async_tma_copy_global_to_local" &&
             op.name != "ttg.async_copy_global_to_local" && op.name != "nvws.descriptor_load") ||
            k > 0)
          fail(index, "what this copy does is not undone");
        touch(execution, tiles[k], false, true);
        break;
      case OpClass::synchronise: break;
      case OpClass::unknown: fail(index, "what it does to a buffer is not known");
      default: touch(execution, tiles[k], true, false); break;
    }
  }
}

/// A view of a buffer: which, and where in its ring.
Datum Replayer::view(int index, const std::vector<Datum>& in) {
  const Operation& op = m_.op(index);
  Datum result = in[0];
  result.number.reset();
  const Type *from = type(op.operands[0]), *to = type(op.results[0]);
  if (from == nullptr || to == nullptr) fail(index, "its types are not known");
  if (op.name == "ttg.memdesc_index" || op.name == "ttg.memdesc_subview") {
    if (from->shape.size() != to->shape.size() + 1) fail(index, "it is no buffer of a ring");
    for (std::size_t k = 2; k < in.size(); ++k)
      if (!is_constant(in[k].number) || in[k].number->constant != 0)
        fail(index, "it is a part of a buffer");
    if (in.size() < 2) fail(index, "it has no index");
    result.slot = is_constant(in[1].number) && in[1].number->constant >= 0 &&
                          in[1].number->constant < from->shape[0]
                      ? in[1].number->constant
                      : -1;
  } else if (op.name == "ttg.memdesc_subslice" || op.name == "ttng.tmem_subslice" ||
             op.name == "ttg.memdesc_reinterpret") {
    result.whole = false;
  }
  return result;
}

Replayer::Use Replayer::use_within(int index, int value) const {
  if (is_barrier_buffer(m_, value)) return Use::signals;
  std::set<int> names = {value};  // and views of it
  bool writes = false;
  each_under(index, [&](int inner) {
    const Operation& op = m_.op(inner);
    const OpClass c = class_of(op);
    int tile = 0;
    for (const int operand : op.operands) {
      const bool memory = is_kind(operand, TypeKind::memdesc) && !is_barrier_buffer(m_, operand);
      if (memory) ++tile;
      if (names.count(operand) == 0) continue;
      if (c == OpClass::view)
        names.insert(op.results.begin(), op.results.end());
      else if (c == OpClass::mma)
        writes = writes || (memory && tile == 3);
      else
        writes = writes || !(c == OpClass::local_load || c == OpClass::tmem_load ||
                             c == OpClass::store || c == OpClass::synchronise);
    }
  });
  // (What is handed to it by name may become a variable of its regions.)
  const auto& own = m_.op(index).operands;
  return writes || std::find(own.begin(), own.end(), value) != own.end() ? Use::writes : Use::reads;
}

void Replayer::forget(int buffer, int execution, Use use) {
  if (buffer == kNone || use == Use::reads) return;
  if (use == Use::signals) {
    std::erase_if(barriers_, [&](const auto& one) { return one.first.first == buffer; });
    return;
  }
  unknown_writer_[buffer] = execution;
  for (auto& [place, writer] : writers_)
    if (place.first == buffer) writer = execution;
}

/// The ops of a body as one: an scf.if whose condition is not known, a loop that is not replayed.
int Replayer::opaque(int index, int t, std::vector<Datum> in) {
  std::vector<int> names = m_.op(index).operands;
  std::set<int> known(m_.op(index).operands.begin(), m_.op(index).operands.end());
  bool replaying = false;
  for (const Frame& frame : threads_[static_cast<std::size_t>(t)].frames)
    replaying = replaying || frame.iteration != kBefore;
  std::vector<std::pair<int, Use>> used;  // buffers from around it
  for (std::size_t k = 0; k < names.size(); ++k)
    if (is_kind(names[k], TypeKind::memdesc))
      used.emplace_back(in[k].buffer, use_within(index, names[k]));
  each_under(index, [&](int inner) {
    for (const int value : m_.op(inner).operands) {
      const Value& v = m_.value(value);
      const int home = v.op != kNone ? m_.op(v.op).block : v.block;
      const int around = m_.regions[static_cast<std::size_t>(m_.block(home).region)].op;
      if (around != kNone && is_under(around, index)) continue;
      if (!known.insert(value).second) continue;
      if (is_kind(value, TypeKind::memdesc)) {
        if (replaying)
          fail(inner,
               "it works on a buffer under a condition, or in a loop beside the one replayed");
        used.emplace_back(read(value, inner).buffer, use_within(index, value));
      }
      in.push_back(read(value, inner));
      names.push_back(value);
    }
  });
  const int execution = record(index, t, in);
  out_.executions.back().names = std::move(names);
  for (const auto& [buffer, use] : used) forget(buffer, execution, use);
  return execution;
}

void Replayer::results(int index, int execution, const std::vector<Datum>& in) {
  const Operation& op = m_.op(index);
  for (const int value : op.results) {
    Datum datum;
    datum.made = execution;
    datum.value = value;
    if (is_kind(value, TypeKind::memdesc)) {
      if (class_of(op) == OpClass::view && !in.empty()) {
        datum = view(index, in);
        datum.made = execution;
        datum.value = value;
        if (datum.slot >= 0 && datum.buffer != kNone) {
          const auto found = writers_.find({datum.buffer, datum.slot});
          out_.executions[static_cast<std::size_t>(execution)].buffers.push_back(
              {0, datum.buffer, datum.slot, found == writers_.end() ? kNone : found->second, false,
               false});
        }
      } else if (class_of(op) == OpClass::local_alloc || class_of(op) == OpClass::tmem_alloc) {
        datum.buffer = execution;
        const bool filled = std::any_of(op.operands.begin(), op.operands.end(),
                                        [&](int v) { return is_kind(v, TypeKind::tensor); });
        if (filled) writers_[{execution, 0}] = execution;
      } else {
        fail(index, "where its buffer comes from is not known");
      }
    }
    if (is_integer(value)) datum.number = evaluate(index, in);
    datum.assumed = datum.number && assumes(index, in);
    if (is_integer(value) && !datum.number) datum.number = fresh();
    define(value, datum);
  }
}

}  // namespace twill::ttgir
