#include "graph/ttgir/buffers.hpp"

#include <unordered_map>

#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/op_class.hpp"

namespace twill::ttgir {
namespace {

bool is_false(const Module& module, int value) {
  return constant_integer(module, value) == 0;
}

/// Does a product start anew? Its flag useD is the constant false, or an inner loop's variable that
/// begins as false.
bool starts_anew(const Module& module, const Operation& op, int loop) {
  for (const int value : op.operands) {
    const Type* type = module.type_of(value);
    if (type == nullptr || type->kind != TypeKind::scalar || type->element != "i1") continue;
    if (is_false(module, value)) return true;
    const Value& flag = module.value(value);
    if (flag.block == kNone || flag.index == 0) return false;
    const int around = module.regions[static_cast<std::size_t>(module.block(flag.block).region)].op;
    if (around == kNone || around == loop || module.op(around).name != "scf.for") return false;
    const std::size_t first = 3;  // lower bound, upper bound, step
    const std::size_t k = first + static_cast<std::size_t>(flag.index) - 1;
    const Operation& inner = module.op(around);
    return k < inner.operands.size() && is_false(module, inner.operands[k]);
  }
  return false;
}

class Collector {
 public:
  Collector(const Module& module, const Sources& sources, int loop)
      : m_(module), sources_(sources), loop_(loop) {}

  std::vector<Buffer> run() {
    for (const int op : sources_.ops()) visit(op, op);
    for (Buffer& buffer : buffers_) {
      const Access& first = buffer.accesses.front();
      for (const Access& access : buffer.accesses) buffer.written = buffer.written || access.writes;
      buffer.fresh = first.writes && !first.reads && !first.ring;
    }
    return std::move(buffers_);
  }

 private:
  void visit(int index, int top) {
    const Operation& op = m_.op(index);
    const OpClass c = class_of(op);
    if (c == OpClass::view || c == OpClass::terminator) return;
    if (c == OpClass::control) {
      for (const int region : op.regions)
        for (const int block : m_.regions[static_cast<std::size_t>(region)].blocks)
          for (const int inner : m_.block(block).ops) visit(inner, top);
      return;
    }
    int position = 0;
    for (const int value : op.operands) {
      const Type* type = m_.type_of(value);
      if (type == nullptr || type->kind != TypeKind::memdesc) continue;
      note(index, c, value, position++, top);
    }
  }

  void note(int index, OpClass c, int value, int position, int top) {
    const Operation& op = m_.op(index);
    bool single = false;
    Access access;
    access.op = top;
    access.ring = sources_.in_ring(value);
    access.inner = sources_.in_inner(top);
    switch (c) {
      case OpClass::mma:
        access.product = true;
        access.writes = is_tensor_memory_mma(op) && position == 2;
        access.reads = !access.writes || !starts_anew(m_, op, loop_);
        access.reads_on =
            access.writes && access.inner && !starts_anew(m_, op, sources_.inner_loop());
        if (position > 2) access.reads = access.writes = false;  // barriers, scales
        single = access.writes && disallows_second_accumulator(m_, index);
        break;
      case OpClass::tmem_store:
      case OpClass::local_store: access.writes = true; break;
      case OpClass::copy:
        // ttng.tmem_copy %from, %to writes its second buffer; the others their first.
        access.writes = op.name == "ttng.tmem_copy" ? position == 1 : position == 0;
        if (!access.writes && position > 0 && op.name != "ttng.tmem_copy") return;  // barriers
        access.reads = !access.writes;
        break;
      case OpClass::synchronise: return;
      default: access.reads = true; break;
    }
    if (!access.reads && !access.writes) return;
    const int root = sources_.root(value);
    const auto [found, fresh] = index_.emplace(root, buffers_.size());
    if (fresh) {
      Buffer buffer;
      buffer.root = root;
      const Value& v = m_.value(root);
      buffer.outside = v.op == kNone ? v.block != sources_.body() : !sources_.inside(v.op);
      buffer.outside_inner = v.op == kNone || !sources_.in_inner(v.op);
      buffers_.push_back(std::move(buffer));
    }
    if (single) buffers_[found->second].single = true;
    auto& list = buffers_[found->second].accesses;
    access.reads_on = access.inner && (access.reads_on || access.reads);
    if (!list.empty() && list.back().op == top) {
      list.back().reads_on = list.back().reads_on || access.reads_on;
      // Several uses by one op, or by the ops of an inner loop: read after write inside is its own.
      if (!list.back().writes || list.back().reads)
        list.back().reads = list.back().reads || (access.reads && !list.back().writes);
      list.back().writes = list.back().writes || access.writes;
      return;
    }
    list.push_back(access);
  }

  const Module& m_;
  const Sources& sources_;
  const int loop_;
  std::vector<Buffer> buffers_;
  std::unordered_map<int, std::size_t> index_;
};

}  // namespace

bool disallows_second_accumulator(const Module& module, int op) {
  for (int at = op; at != kNone; at = module.parent(at)) {
    bool found = false;
    module.attribute(module.op(at), "tt.disallow_acc_multi_buffer", &found);
    if (found) return true;
  }
  return false;
}

std::vector<Buffer> buffers_of(const Module& module, const Sources& sources, int loop) {
  return Collector(module, sources, loop).run();
}

}  // namespace twill::ttgir
