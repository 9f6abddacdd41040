// Other loops of the function that one is undone in (see folded_text.hpp). They are written as they
// stand, but what they read from around them has new names. A loop behind it may be pipelined, too:
// its buffers, and what is done to them, are written as they stand. A later turn undoes that loop
// (undo_schedule()).
#include <algorithm>

#include "graph/index.hpp"
#include "graph/ttgir/folded_text.hpp"
#include "graph/ttgir/op_text.hpp"

namespace twill::ttgir {
namespace {

/// Every op in an op's regions.
std::vector<int> ops_within(const Module& m, int index) {
  std::vector<int> ops = {index};
  for (std::size_t k = 0; k < ops.size(); ++k)
    for (const int region : m.op(ops[k]).regions)
      for (const int block : m.regions[twill::at(region)].blocks)
        ops.insert(ops.end(), m.block(block).ops.begin(), m.block(block).ops.end());
  return ops;
}

}  // namespace

std::vector<int> FoldedText::read_by(int index) const {
  std::set<int> made;
  std::vector<int> values;
  const std::vector<int> ops = ops_within(m_, index);
  for (const int op : ops) {
    made.insert(m_.op(op).results.begin(), m_.op(op).results.end());
    for (const int region : m_.op(op).regions)
      for (const int block : m_.regions[twill::at(region)].blocks)
        made.insert(m_.block(block).arguments.begin(), m_.block(block).arguments.end());
  }
  for (const int op : ops)
    for (const int value : m_.op(op).operands)
      if (made.count(value) == 0 && std::find(values.begin(), values.end(), value) == values.end())
        values.push_back(value);
  return values;
}

void FoldedText::reserve_names() {
  for (std::size_t k = 0; k < m_.ops.size(); ++k) {
    const int index = static_cast<int>(k);
    if (m_.ops[k].name != "scf.for" && m_.ops[k].name != "scf.if") continue;
    bool own = index == l_.specialised();
    for (const ReplayedLoop& loop : r_.loops)
      for (int op = loop.op; op != kNone; op = m_.parent(op)) own = own || op == index;
    for (int op = index; op != kNone && !own; op = m_.parent(op))
      for (const ReplayedLoop& loop : r_.loops) own = own || op == loop.op;
    if (own) continue;
    for (const int op : ops_within(m_, index)) {
      if (op != index)
        for (const int value : m_.op(op).results) used_.insert(name_of(value));
      for (const int region : m_.op(op).regions)
        for (const int block : m_.regions[twill::at(region)].blocks)
          for (const int value : m_.block(block).arguments) used_.insert(name_of(value));
    }
  }
}

int FoldedText::root_of(int value) const {
  for (int op = m_.value(value).op; op != kNone; op = m_.value(value).op) {
    if (class_of(m_.op(op)) != OpClass::view || m_.op(op).operands.empty()) break;
    value = m_.op(op).operands[0];
  }
  return value;
}

void FoldedText::find_kept(const std::vector<int>& behind) {
  const std::set<int> all(behind.begin(), behind.end());
  for (const int index : behind) {
    if (m_.op(index).name != "scf.for") continue;
    for (const int value : read_by(index)) {
      const int root = root_of(value);
      if (l_.is_kind(root, TypeKind::memdesc) && all.count(m_.value(root).op) != 0)
        kept_.insert(root);
    }
  }
}

bool FoldedText::is_kept(int index) const {
  const Operation& op = m_.op(index);
  if (op.name == "scf.for") return true;
  const auto kept = [&](int value) { return kept_.count(root_of(value)) != 0; };
  if (op.name == "scf.if") {  // of such a loop's last iteration
    const std::vector<int> values = read_by(index);
    return std::any_of(values.begin(), values.end(), [&](int value) {
      const int made = m_.value(value).op;
      return kept(value) ||
             (made != kNone && m_.op(made).name == "scf.for" && behind_.count(made) != 0);
    });
  }
  return std::any_of(op.results.begin(), op.results.end(), kept) ||
         std::any_of(op.operands.begin(), op.operands.end(), kept);
}

void FoldedText::write_kept(int index) {
  const Operation& op = m_.op(index);
  std::map<int, std::string> names;
  for (const int value : read_by(index)) names[value] = after_text(value, index);
  std::string results;
  for (const int value : op.results) {
    left_[value] = "%" + unique(name_of(value));
    results += (results.empty() ? "" : ", ") + left_[value];
  }
  statement(Where::after, results, op_text(m_, index, names), index);
}

void FoldedText::write_loop_before(int execution) {
  if (!loops_written_.insert(execution).second) return;
  const int index = l_.at(execution).op;
  const Operation& op = m_.op(index);
  for (const int inner : ops_within(m_, index)) {
    const OpClass c = class_of(m_.op(inner));
    if (c == OpClass::synchronise || c == OpClass::copy || m_.op(inner).name == "scf.while")
      cannot_undo(index, "what it comes to is read in the loop or behind it");
  }
  std::map<int, std::string> names;
  for (const int value : read_by(index)) names[value] = before_text(value, index);
  std::string results;
  for (const int value : op.results) {
    std::string& name = made_[{execution, value}];
    name = "%" + unique(name_of(value));
    results += (results.empty() ? "" : ", ") + name;
  }
  statement(Where::before, results, op_text(m_, index, names), index);
}

void FoldedText::write_stores_before() {
  if (peeled_->stores.empty()) return;
  for (std::size_t e = 0; e < r_.executions.size(); ++e) {
    const Execution& x = r_.executions[e];
    const int index = static_cast<int>(e);
    const Operation& op = m_.op(x.op);
    const auto written = executed_.find(x.op);  // (none: it is executed several times, in a loop)
    if (of_loop(x) || written == executed_.end() || written->second != index ||
        peeled_->executions.count(index) != 0)
      continue;
    if (class_of(op) == OpClass::load && !op.results.empty()) {
      before(index, op.results[0]);
    } else if (class_of(op) == OpClass::copy && is_filler(op)) {
      for (const BufferUse& use : x.buffers) {
        const int buffer = m_.op(l_.at(use.buffer).op).results.at(0);
        if (use.writes && !l_.is_ring(use.buffer) &&
            l_.type(buffer)->text == l_.type(filled(op))->text)
          before(use.buffer, buffer);
      }
    } else if (peeled_->stores.count(x.op) == 0) {
      continue;
    } else if (!op.regions.empty()) {
      std::set<int> buffers;  // what it works on is written with it, in its order
      for (int inner = 0; inner < static_cast<int>(r_.executions.size()); ++inner)
        if (passed_loop(inner) == x.op)
          for (const BufferUse& use : l_.at(inner).buffers)
            if (passed_loop(use.buffer) == kNone) buffers.insert(use.buffer);
      if (!buffers.empty()) write_memory(index, buffers);
      write_loop_before(index);
    } else if (!is_tile_store(op)) {
      std::map<int, std::string> names;
      for (std::size_t k = 0; k < x.reads.size(); ++k)
        names[x.names[k]] = text_of(x.reads[k], x.names[k], x.op);
      std::string results;
      for (const int value : op.results) {
        std::string& name = made_[{index, value}];
        name = "%" + unique(name_of(value));
        results += (results.empty() ? "" : ", ") + name;
      }
      statement(Where::before, results, op_text(m_, x.op, names), x.op);
    } else {
      int writer = kNone;
      for (const BufferUse& use : x.buffers)
        if (use.reads) writer = use.before;
      const int tile = writer == kNone ? kNone : operand_tile(m_.op(l_.at(writer).op));
      if (tile == kNone) cannot_undo(x.op, "the tile that it copies before the loop is not known");
      const Execution& store = l_.at(writer);
      const auto k = std::find(store.names.begin(), store.names.end(), tile) - store.names.begin();
      const Datum& stored = store.reads.at(static_cast<std::size_t>(k));
      const std::string text = text_of(stored, tile, store.op);
      line(Where::before,
           "    " +
               descriptor_store(x.op, names_before(index), text, std::string(l_.type(tile)->text)),
           x.op);
    }
  }
}

}  // namespace twill::ttgir
