// What a loop finds there and keeps: buffers and register tiles from before it (see builder.hpp).
#include <algorithm>
#include <set>

#include "graph/ttgir/builder.hpp"
#include "graph/ttgir/index_ops.hpp"
#include "graph/ttgir/type.hpp"

namespace twill::ttgir {

/// Can a slot make the value itself: a constant, a splat, index arithmetic on these?
bool Builder::is_cheap(int value, int depth) {
  if (cheap_.count(value) != 0) return true;
  const int made = m_.value(value).op;
  if (made == kNone) return false;
  const Operation& op = m_.op(made);
  const OpClass c = class_of(op);
  if (c == OpClass::replicated) return true;
  if (depth == 0 || (c != OpClass::view && c != OpClass::elementwise && c != OpClass::layout))
    return false;
  const bool cheap = std::all_of(op.operands.begin(), op.operands.end(), [&](int operand) {
    return is_tile(operand, TypeKind::scalar) || is_cheap(operand, depth - 1);
  });
  if (cheap) cheap_.insert(value);  // what is not ends the question for all that use it
  return cheap;
}

/// What is held for a value from before the loop: of a vector repeated over a tile, the vector.
int Builder::repeated(int value) const {
  for (int made = m_.value(value).op; made != kNone; made = m_.value(value).op) {
    const Operation& op = m_.op(made);
    if (op.name != "tt.broadcast" && op.name != "tt.expand_dims") break;
    value = op.operands[0];
  }
  return value;
}

void Builder::add_residents() {
  Amount registers = options_.resident_registers, shared = 0, columns = 0;
  std::set<int> known;
  const auto visit = [&](const auto& self, int index) -> void {
    const Operation& op = m_.op(index);
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      const int value = op.operands[k];
      if (is_tile(value, TypeKind::memdesc)) {
        const int root = sources_.root(value);
        const Value& v = m_.value(root);
        const bool outside = v.op == kNone ? v.block != sources_.body() : !sources_.inside(v.op);
        if (!outside || !is_tile(root, TypeKind::memdesc) || !known.insert(root).second) continue;
        const bool fresh = std::any_of(buffers_.begin(), buffers_.end(),
                                       [&](const Buffer& b) { return b.root == root && b.fresh; });
        if (fresh) continue;
        out_.residents.emplace_back(
            type(root).tensor_memory ? "tmem" : "smem",
            "%" + std::string(v.name) +
                (v.op == kNone ? "" : " of line " + std::to_string(m_.op(v.op).line)),
            type(root).tensor_memory ? buffer_columns(type(root)) : buffer_bytes(type(root)));
        if (type(root).tensor_memory)
          columns = std::min(columns + buffer_columns(type(root)), kMaxAmount);
        else
          shared = std::min(shared + buffer_bytes(type(root)), kMaxAmount);
      } else if (is_tile(value, TypeKind::tensor)) {
        const Value& v = m_.value(value);
        const bool outside = v.op == kNone ? false : !sources_.inside(v.op);
        if (!outside || replicated_[static_cast<std::size_t>(index)] ||
            is_address_operand(m_, op, k) || is_cheap(value, 8))
          continue;
        const int tile = repeated(value);
        if (!is_tile(tile, TypeKind::tensor) || !known.insert(tile).second) continue;
        const std::int64_t held = registers_per_thread(type(tile), out_.warps, m_);
        registers = std::min(registers + held, kMaxAmount);
        warn("%" + std::string(m_.value(tile).name) + " from before the loop is held in " +
             std::to_string(held) + " registers a thread on every slot");
      }
    }
    for (const int region : op.regions)
      for (const int block : m_.regions[static_cast<std::size_t>(region)].blocks)
        for (const int inner : m_.block(block).ops) self(self, inner);
  };
  for (const int index : sources_.ops()) visit(visit, index);
  out_.kernel.resident_registers += registers;
  if (has_memory("smem") && shared > 0) out_.kernel.resident_memory.emplace_back("smem", shared);
  if (has_memory("tmem") && columns > 0) out_.kernel.resident_memory.emplace_back("tmem", columns);
}

}  // namespace twill::ttgir
