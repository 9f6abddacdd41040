// Barriers of a replayed loop: phases, arrivals, bytes (see replayer.hpp).
#include <algorithm>

#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/replayer.hpp"

namespace twill::ttgir {

Replayer::Barrier& Replayer::barrier(int op, const Datum& datum) {
  const auto found = barriers_.find({datum.buffer, datum.slot});
  if (datum.buffer == kNone || found == barriers_.end()) fail(op, "its barrier is not known");
  return found->second;
}

void Replayer::complete(Barrier& b) {
  if (b.pending > 0 || b.bytes != 0) return;
  b.phase ^= 1;
  b.pending = b.count;
}

void Replayer::arrive(int op, const Datum& datum, std::int64_t count) {
  Barrier& b = barrier(op, datum);
  b.pending -= count;
  if (b.pending < 0) fail(op, "more arrive at its barrier than it counts");
  complete(b);
}

/// Is a flag set? One that is not known decides what is executed.
bool Replayer::flag(int op, const Datum& datum) {
  if (!is_constant(datum.number)) fail(op, "whether it is executed is not known");
  return datum.number->constant != 0;
}

/// The number behind the `nth` operand of a custom op, or an attribute of a generic one.
std::int64_t Replayer::number_in(int index, std::string_view attribute) const {
  const Operation& op = m_.op(index);
  std::string_view text = m_.attribute(op, attribute);
  if (text.empty()) {
    text = std::string_view(*m_.text).substr(op.begin, op.end - op.begin);
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) fail(index, "its count is not read");
    text.remove_prefix(comma + 1);
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  }
  std::int64_t number = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9') fail(index, "its count is not read");
  for (const char c : text) {
    if (c < '0' || c > '9' || number > kMaxFactor) break;
    number = 10 * number + (c - '0');
  }
  return number;
}

std::vector<std::size_t> Replayer::operands_of(const Operation& op, bool barriers) const {
  std::vector<std::size_t> found;
  for (std::size_t k = 0; k < op.operands.size(); ++k)
    if (is_kind(op.operands[k], TypeKind::memdesc) &&
        is_barrier_buffer(m_, op.operands[k]) == barriers)
      found.push_back(k);
  return found;
}

std::vector<std::size_t> Replayer::flags_of(const Operation& op) const {
  std::vector<std::size_t> found;
  for (std::size_t k = 0; k < op.operands.size(); ++k)
    if (const Type* t = type(op.operands[k]);
        t != nullptr && t->kind == TypeKind::scalar && t->element == "i1")
      found.push_back(k);
  return found;
}

/// An op on barriers alone. False where it has to wait.
bool Replayer::synchronise(int index, const std::vector<Datum>& in) {
  const Operation& op = m_.op(index);
  const auto barriers = operands_of(op, true);
  const auto flags = flags_of(op);
  if (op.name == "ttng.init_barrier" && barriers.size() == 1) {
    const std::int64_t count = number_in(index, "count");
    barriers_[{in[barriers[0]].buffer, in[barriers[0]].slot}] = {count, count, 0, 0};
    return true;
  }
  if (op.name == "ttng.wait_barrier" && barriers.size() == 1 && op.operands.size() > 1) {
    if (!flags.empty() && !flag(index, in[flags[0]])) return true;
    const auto& phase = in[barriers[0] + 1].number;
    if (!is_constant(phase)) fail(index, "the phase that it waits for is not known");
    return barrier(index, in[barriers[0]]).phase != phase->constant;
  }
  if (op.name == "ttng.barrier_expect" && barriers.size() == 1) {
    if (!flags.empty() && !flag(index, in[flags[0]])) return true;
    barrier(index, in[barriers[0]]).bytes += number_in(index, "size");
    arrive(index, in[barriers[0]], 1);
    return true;
  }
  if (op.name == "ttng.arrive_barrier" && barriers.size() == 1) {
    if (flags.empty() || flag(index, in[flags[0]]))
      arrive(index, in[barriers[0]], number_in(index, "count"));
    return true;
  }
  if (op.name == "ttng.tc_gen5_commit" && barriers.size() == 1) {
    if (flags.empty() || flag(index, in[flags[0]])) arrive(index, in[barriers[0]], 1);
    return true;
  }
  // What orders the accesses of one thread, or is of no account.
  constexpr std::string_view kIdle[] = {"ttng.inval_barrier", "ttng.fence_async_shared",
                                        "ttng.fence",         "ttng.tensormap_create",
                                        "ttg.local_dealloc",  "ttng.tensormap_fenceproxy_acquire",
                                        "ttg.barrier",        "gpu.barrier",
                                        "tt.print",           "tt.assert",
                                        "llvm.intr.assume",   "rocdl.sched.barrier"};
  if (std::find(std::begin(kIdle), std::end(kIdle), op.name) != std::end(kIdle)) return true;
  fail(index, "what it does to a barrier is not known");
}

/// A product or a copy with a flag that is not set does nothing.
bool Replayer::executes(int index, const std::vector<Datum>& in) {
  const Operation& op = m_.op(index);
  const auto flags = flags_of(op);
  if (is_tensor_memory_mma(op)) return flags.size() < 2 || flag(index, in[flags[1]]);
  if (op.name == "ttng.async_tma_copy_global_to_local")
    return flags.empty() || flag(index, in[flags.back()]);
  return true;
}

void Replayer::signal(int index, const std::vector<Datum>& in) {
  const Operation& op = m_.op(index);
  const auto barriers = operands_of(op, true);
  if (barriers.empty()) return;
  const auto flags = flags_of(op);
  if (is_tensor_memory_mma(op)) {
    for (std::size_t k = 0; k < barriers.size(); ++k)
      if (flags.size() <= 2 + k || flag(index, in[flags[2 + k]])) arrive(index, in[barriers[k]], 1);
    return;
  }
  const auto tiles = operands_of(op, false);
  const Type* tile = tiles.empty() ? nullptr : type(op.operands[tiles[0]]);
  if (tile == nullptr || tile->bits <= 0 || barriers.size() != 1)
    fail(index, "what it does to a barrier is not known");
  Barrier& b = barrier(index, in[barriers[0]]);
  b.bytes -= tile->elements() * tile->bits / 8;
  complete(b);
}

}  // namespace twill::ttgir
