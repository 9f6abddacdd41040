// Who wrote what is read from a buffer (meaning_builder.hpp).
#include <algorithm>

#include "graph/index.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {

/// The allocation behind a buffer, through transpositions and names.
int MeaningBuilder::buffer(int user, int value) const {
  for (int steps = 0; steps < 1'000; ++steps) {
    const Value& v = m_.value(value);
    if (v.op == kNone) refuse(user, "its buffer goes through a loop variable");
    const Operation& op = m_.op(v.op);
    const OpClass c = class_of(op);
    if (c == OpClass::local_alloc || c == OpClass::tmem_alloc) return value;
    if (c != OpClass::view || op.operands.empty())
      refuse(user, "it is not known which buffer it uses");
    value = op.operands[0];
  }
  refuse(user, "it is not known which buffer it uses");
}

/// What an op writes into this buffer (kNone: into any).
std::optional<MeaningBuilder::Write> MeaningBuilder::write_by(int index, int wanted) const {
  const Operation& op = m_.op(index);
  const OpClass c = class_of(op);
  int to = kNone;
  Write write{index, kNone};
  if (c == OpClass::tmem_store || c == OpClass::local_store) {
    for (const int operand : op.operands) {
      if (is_tile(operand, TypeKind::memdesc) && to == kNone) to = operand;
      if (is_tile(operand, TypeKind::tensor) && write.tile == kNone) write.tile = operand;
    }
    if (write.tile == kNone) return std::nullopt;
  } else if (c == OpClass::mma && is_tensor_memory_mma(op)) {
    int tiles = 0;
    for (const int operand : op.operands)
      if (is_tile(operand, TypeKind::memdesc) && ++tiles == 3) to = operand;
  } else if (c == OpClass::copy) {
    int tiles = 0;
    const int which = op.name == "ttng.tmem_copy" ? 2 : 1;
    for (const int operand : op.operands)
      if (is_tile(operand, TypeKind::memdesc) && ++tiles == which) to = operand;
  } else if (c == OpClass::local_alloc || c == OpClass::tmem_alloc) {
    if (op.operands.empty() || op.results.empty()) return std::nullopt;
    to = op.results[0];
    write.tile = op.operands[0];
  }
  if (to == kNone) return std::nullopt;
  if (wanted == kNone) return write;
  // (A buffer under another name is not followed beyond this function's ops: see buffer().)
  int root = to;
  bool whole = true;
  for (int steps = 0; steps < 1'000; ++steps) {
    const Value& v = m_.value(root);
    if (v.op == kNone) break;
    const Operation& made = m_.op(v.op);
    if (class_of(made) != OpClass::view || made.operands.empty()) break;
    whole = whole && made.name == "ttg.memdesc_trans";
    root = made.operands[0];
  }
  if (root != wanted) return std::nullopt;
  if (to != wanted)
    refuse(index,
           whole ? "it writes a buffer through a transposition" : "it writes a part of a buffer");
  if (c == OpClass::tmem_store && op.operands.size() > 2)
    for (const int operand : op.operands)
      if (is_tile(operand, TypeKind::scalar) && constant_integer(m_, operand) != 1)
        refuse(index, "it is not always executed");
  return write;
}

bool MeaningBuilder::written_within(int op, int root) const {
  if (m_.op(op).regions.empty()) return false;
  for (int inner = 0; inner < static_cast<int>(m_.ops.size()); ++inner)
    for (int around = m_.parent(inner); around != kNone; around = m_.parent(around))
      if (around == op && write_by(inner, root)) return true;
  return false;
}

bool MeaningBuilder::written_behind(int user, int root) const {
  const auto& ops = m_.block(m_.op(loop_).block).ops;
  const auto loop = std::find(ops.begin(), ops.end(), loop_);
  bool found = false;
  for (auto op = loop; op != ops.end() && *op != user; ++op) {
    if (op != loop) found = found || written_within(*op, root);
    if (write_by(*op, root)) found = false;
  }
  return found;
}

MeaningBuilder::Seen MeaningBuilder::written(int user, const Write& write, Where where, int copy,
                                             int dimension, int distance) {
  const Operation& op = m_.op(write.op);
  const OpClass c = class_of(op);
  if (in_loop(write.op)) {
    const int made = node(write.op, copy);
    if (made == kNone) refuse(user, "it reads a buffer that nobody is known to write");
    if (!k_.kernel.ops[at(made)].alias_of) {
      Seen seen;
      seen.operand.value = kLoop + made;
      seen.operand.distance = distance;
      const int tile = c == OpClass::mma ? kNone : write.tile;
      if (tile != kNone) {
        seen.vector = shape(write.op, tile, split_.of(tile)).size() == 1;
        if (seen.vector && type(tile).shape.size() == 2)
          seen.axis = type(tile).shape[0] == 1 ? 1 : 0;
      }
      return seen;
    }
    const Seen seen = source(user, write.tile, Where::loop, copy, split_.of(write.tile), distance);
    return c == OpClass::local_store ? in_its_buffer(seen) : seen;
  }
  if (write.tile == kNone) {  // a product
    if (where == Where::loop) refuse(user, "it reads what is computed outside the loop");
    const auto& ops = m_.block(m_.op(loop_).block).ops;
    const bool behind =
        std::find(std::find(ops.begin(), ops.end(), loop_), ops.end(), write.op) != ops.end();
    Seen seen;
    seen.operand.value =
        behind ? kAfter + after(write.op, copy, dimension) : before(write.op, copy, dimension);
    return seen;
  }
  return source(user, write.tile, where, copy, dimension);
}

/// What `user` finds in a buffer that it reads through views: each of them is on the way.
MeaningBuilder::Seen MeaningBuilder::shown(int user, int value, Where where, int copy,
                                           int dimension) {
  const int made = m_.value(value).op, root = buffer(user, value);
  if (value == root) return contents(user, root, where, copy, dimension, 0);
  const Operation& op = m_.op(made);
  return view(op, shown(user, op.operands[0], where, copy, dimension_before_view(made, dimension)));
}

/// What the loop finds in a buffer; or `user`, where that stands before the loop.
MeaningBuilder::Seen MeaningBuilder::at_entry(int user, int root, int copy, int dimension) {
  if (zero_at_entry_) return number(user, 0);
  const auto& ops = m_.block(m_.op(loop_).block).ops;
  std::optional<Write> last;
  bool region = false, early = false;
  for (const int op : ops) {
    early = op == user;
    if (op == loop_ || early) break;
    region = region || written_within(op, root);
    if (const auto write = write_by(op, root)) {
      last = write;
      region = false;
    }
  }
  if (region) {
    // (What an op before the loop reads there is what it makes.)
    const Operation& reads = m_.op(user);
    if (early &&
        ((class_of(reads) != OpClass::tmem_load && class_of(reads) != OpClass::local_load) ||
         reads.operands.at(0) != root))
      refuse(user, "it reads a buffer that is written in a region before the loop");
    Seen seen;
    seen.operand.value = early ? handed(user, reads.results.at(0), copy, dimension)
                               : handed_memory(user, root, copy, dimension);
    seen.vector = out_.tensors[at(before_[at(seen.operand.value)].tensor)].shape.size() == 1;
    if (seen.vector && type(root).shape.size() == 2) seen.axis = type(root).shape[0] == 1 ? 1 : 0;
    return seen;
  }
  if (!last) refuse(user, "it reads a buffer that nothing is written into before the loop");
  return written(user, *last, Where::before, copy, dimension, 0);
}

/// What `user` finds in a buffer.
MeaningBuilder::Seen MeaningBuilder::contents(int user, int root, Where where, int copy,
                                              int dimension, int distance) {
  std::vector<Write> writes;  // of the loop's body, in its order
  for (const int op : m_.block(body_).ops) {
    if (const auto write = write_by(op, root)) writes.push_back(*write);
    if (written_within(op, root))
      refuse(user, "it reads a buffer that is written in a branch or an inner loop");
  }
  if (where == Where::after && written_behind(user, root))
    refuse(user, "it reads a buffer that another loop or a branch behind the loop writes into");
  if (where == Where::before || writes.empty()) {
    // Nobody writes into it in the loop: it has what it had before, or behind the loop since.
    if (where == Where::after) {
      std::optional<Write> last;
      for (const int op : m_.block(m_.op(loop_).block).ops) {
        if (op == user) break;
        if (const auto write = write_by(op, root)) last = write;
      }
      if (last) return written(user, *last, where, copy, dimension, 0);
    }
    return at_entry(user, root, copy, dimension);
  }
  if (where == Where::after) {
    const auto& ops = m_.block(m_.op(loop_).block).ops;
    const auto loop = std::find(ops.begin(), ops.end(), loop_);
    std::optional<Write> since;
    for (auto op = loop + 1; op != ops.end() && *op != user; ++op)
      if (const auto write = write_by(*op, root)) since = write;
    if (since) return written(user, *since, where, copy, dimension, 0);
    Seen last = written(user, writes.back(), Where::loop, copy, dimension, 0);
    const bool was = zero_at_entry_;
    // Products that begin anew by a flag add to 0 in the first iteration, and so it is here.
    const auto known = initial_.find(last.operand.value);
    if (known == initial_.end())
      note_initial(user, last, at_entry(user, root, copy, dimension), user);
    zero_at_entry_ = was;
    return last;
  }
  // Ops of a branch read where the branch stands.
  int here = user;
  while (here != kNone && order_.find(here) == order_.end()) here = m_.parent(here);
  if (here == kNone) refuse(user, "it reads a buffer, and it is not known when");
  const Write* before = nullptr;
  for (const Write& write : writes)
    if (order_.at(write.op) < order_.at(here)) before = &write;
  if (before != nullptr) return written(user, *before, Where::loop, copy, dimension, distance);
  const int root_op = m_.value(root).op;
  if (in_loop(root_op)) refuse(user, "it reads a buffer before it is written");
  Seen last = written(user, writes.back(), Where::loop, copy, dimension, distance + 1);
  note_initial(user, last, at_entry(user, root, copy, dimension), user);
  return last;
}

}  // namespace twill::ttgir
