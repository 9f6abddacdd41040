// What stands in tensor memory before a loop that is undone (see folded_text.hpp): what the loop
// begins with, and what is read before it, written in the order in which it was.
#include <algorithm>

#include "graph/ttgir/folded_text.hpp"
#include "graph/ttgir/op_text.hpp"

namespace twill::ttgir {

int FoldedText::passed_loop(int execution) const {
  const Execution& x = l_.at(execution);
  int found = kNone;
  if (of_loop(x)) return found;
  for (int op = m_.parent(x.op); op != kNone; op = m_.parent(op)) {
    if (std::find(l_.around().begin(), l_.around().end(), op) != l_.around().end()) break;
    if (m_.op(op).name == "scf.for" || m_.op(op).name == "scf.while") found = op;
  }
  return found;
}

void FoldedText::fill_tensor_memory(int buffer, const std::string& name, int value) {
  if (buffer < kNone) return;  // made in the loop
  int writer = kNone;
  bool in_turn = false;  // another loop has a part in it
  for (std::size_t e = 0; e < r_.executions.size(); ++e)
    for (const BufferUse& use : r_.executions[e].buffers)
      if (use.buffer == buffer && use.writes && !of_loop(r_.executions[e]) &&
          peeled_->executions.count(static_cast<int>(e)) == 0) {
        writer = static_cast<int>(e);
        in_turn = in_turn || passed_loop(writer) != kNone || memory_written_.count(writer) != 0;
      }
  if (in_turn) return write_memory(static_cast<int>(r_.executions.size()), {buffer});
  const Execution& x = l_.at(writer == kNone ? buffer : writer);
  const int tile = operand_tile(m_.op(x.op));
  if (writer == kNone && tile == kNone) return;  // nothing is in it
  const OpClass c = class_of(m_.op(x.op));
  if (tile == kNone || (c != OpClass::tmem_store && c != OpClass::tmem_alloc))
    cannot_undo(x.op, "what it leaves in tensor memory before the loop is not known");
  const std::string text = names_before(writer == kNone ? buffer : writer).at(tile);
  line(Where::before,
       "    ttng.tmem_store " + text + ", " + name + ", " + constant(1, 1) + " : " +
           std::string(l_.type(tile)->text) + " -> " + std::string(l_.type(value)->text),
       x.op);
}

void FoldedText::write_before_reading(int execution) {
  const Execution& x = l_.at(execution);
  std::set<int> buffers;
  for (const BufferUse& use : x.buffers) {
    if (!use.reads) continue;
    if (l_.is_ring(use.buffer))
      cannot_undo(x.op, "it reads a buffer before the loop that the loop uses, too");
    buffers.insert(use.buffer);
  }
  if (!buffers.empty()) write_memory(execution, buffers);
}

void FoldedText::write_memory(int until, std::set<int> buffers) {
  const auto touches = [&](int execution, bool writes) {
    const auto& uses = l_.at(execution).buffers;
    return std::any_of(uses.begin(), uses.end(), [&](const BufferUse& use) {
      return (use.writes || (!writes && use.reads)) && buffers.count(use.buffer) != 0;
    });
  };
  const auto ours = [&](int e) { return !of_loop(l_.at(e)) && peeled_->executions.count(e) == 0; };
  const int all = static_cast<int>(r_.executions.size());
  // A loop that works on one of them is written as a whole, with all that it works on.
  std::set<int> loops;
  for (std::size_t before = 1; before != 0;) {
    before = 0;
    for (int e = 0; e < all; ++e) {
      const int loop = passed_loop(e);
      if (loop == kNone || (loops.count(loop) == 0 && (e >= until || !touches(e, false)))) continue;
      before += loops.insert(loop).second ? 1 : 0;
      for (const BufferUse& use : l_.at(e).buffers)
        if (passed_loop(use.buffer) == kNone) before += buffers.insert(use.buffer).second ? 1 : 0;
    }
  }
  for (int e = until; e < all; ++e)
    if (memory_written_.count(e) != 0 && touches(e, true))
      cannot_undo(l_.at(e).op, "it is written before what it takes the place of is read");
  for (int e = 0; e < until; ++e) {
    if (!ours(e) || !touches(e, true) || memory_written_.count(e) != 0) continue;
    const int loop = passed_loop(e);
    if (loop == kNone) {
      write_to_memory(e);
      memory_written_.insert(e);
      continue;
    }
    for (int other = 0; other < all; ++other)
      if (passed_loop(other) == loop) memory_written_.insert(other);
    for (const int buffer : buffers) {  // (It is written with what it works on in them.)
      const int value = m_.op(l_.at(buffer).op).results.at(0);
      if (l_.type(value) == nullptr || !l_.type(value)->tensor_memory) continue;
      if (l_.type(value)->shape.size() != 2)
        cannot_undo(loop, "a loop before it works on a ring in tensor memory");
      named_memory(buffer, value);
    }
    const auto executed = executed_.find(loop);
    if (executed == executed_.end() || executed->second == kNone)
      cannot_undo(loop, "another loop is not executed as one");
    write_loop_before(executed->second);
  }
}

void FoldedText::write_to_memory(int execution) {
  const Execution& x = l_.at(execution);
  const Operation& op = m_.op(x.op);
  const bool product = is_tensor_memory_mma(op);
  if (!product && class_of(op) != OpClass::tmem_store)
    cannot_undo(x.op, "what it leaves for what is read before the loop is not known");
  if (product) write_before_reading(execution);  // its operands
  std::map<int, std::string> names;
  for (std::size_t k = 0; k < x.reads.size(); ++k)
    if (!l_.drops(x.names[k])) names[x.names[k]] = text_of(x.reads[k], x.names[k], x.op);
  std::string text = product ? this->product(op, names) : op_text(m_, x.op, names);
  for (const int value : op.operands)
    if (!product && l_.is_kind(value, TypeKind::token)) text = without_token(text, name_of(value));
  line(Where::before, "    " + text, x.op);
}

}  // namespace twill::ttgir
