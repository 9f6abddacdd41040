// Numbers, not tiles, that a function stores: in the loop and behind it (meaning_builder.hpp).
#include <algorithm>
#include <string>

#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {

using meaning::Function;

/// The number that an op stores or adds to what is there; kNone = it does something else.
int MeaningBuilder::number_stored(const Operation& op) const {
  const std::size_t given = op.operands.size();
  const bool adds = op.name == "tt.atomic_rmw" && (given == 2 || given == 3);
  if (!adds && (op.name != "tt.store" || given < 2)) return kNone;
  return is_tile(op.operands[1], TypeKind::scalar) ? op.operands[1] : kNone;
}

/// A number that is stored behind the loop. One that is not read is left out of the meaning, which
/// is then not all of the function.
void MeaningBuilder::store_number(int index) {
  const Operation& op = m_.op(index);
  const bool read = tried([&] {
    const int number = number_stored(op);
    if (number == kNone) refuse(index, "only a plain store of a number is read");
    meaning::Value value;
    value.function = Function::store;
    value.type = type_name(index, number);
    value.operands = {source(index, number, Where::after, 0, -1).operand};
    if (value.operands[0].value < 0 && meaning::number_type(value.type)->precision == 0)
      refuse(index, "it stores an integer of the launch");
    value.id = unique(wished_name(m_, op));
    if (!masked_move(index, value, Where::after, 0, -1)) flagged_number(index, value, Where::after);
    if (branch_behind(index) != kNone) add_conditions(index, value, Where::after);
    value.tensor = tensor(index, 0, 1, -1, value.type, value.shape);
    after_.push_back(std::move(value));
  });
  if (!read)
    kernel_.incomplete =
        "a number is stored in line " + std::to_string(op.line) + " (" + not_read_ + ")";
}

/// Whether a number is stored is known at run time alone: its flag is an operand.
void MeaningBuilder::flagged_number(int index, meaning::Value& value, Where where) {
  const int mask = mask_of(m_.op(index)).first;
  if (mask == kNone || !is_flags(mask) || !is_tile(mask, TypeKind::scalar) ||
      value.operands.size() != 1)
    refuse(index, "whether it stores is known at run time alone");
  const Seen flag = scalar(index, mask, where, 0);
  if (flag.operand.value < 0) refuse(index, "whether it stores is known at run time alone");
  value.operands.push_back(flag.operand);
}

/// The op of the loop's body that the problem has and that a number is made by last; kNone = by
/// none.
int MeaningBuilder::maker_of(int value) const {
  std::set<int> known;
  std::vector<int> open = {value};
  int last = kNone;
  while (!open.empty()) {
    const int made = m_.value(open.back()).op;
    open.pop_back();
    if (made == kNone || !order_.contains(made) || !known.insert(made).second) continue;
    if (node(made, 0) == kNone) {
      const auto& operands = m_.op(made).operands;
      open.insert(open.end(), operands.begin(), operands.end());
    } else if (last == kNone || order_.at(made) > order_.at(last)) {
      last = made;
    }
  }
  return last;
}

/// An op of the loop's body that can do one more thing: of those that compute in registers the
/// last. kNone = there is none.
int MeaningBuilder::op_that_computes() const {
  const auto& ops = m_.block(body_).ops;
  const auto found = std::find_if(ops.rbegin(), ops.rend(), [&](int op) {
    const OpClass c = class_of(m_.op(op));
    return (c == OpClass::elementwise || c == OpClass::reduction) && node(op, 0) != kNone;
  });
  return found == ops.rend() ? kNone : *found;
}

/// Numbers that the loop stores. The problem has no op for it: each is a step of the op that its
/// number is made by last, or of another one where it is made of what is loaded alone. One that is
/// not read is left out; the meaning is not all of the function.
void MeaningBuilder::stores_of_numbers() {
  for (const int index : m_.block(body_).ops) {
    const Operation& op = m_.op(index);
    if (class_of(op) != OpClass::store || node(index, 0) != kNone) continue;
    const bool read = tried([&] {
      const int number = number_stored(op);
      if (number == kNone) refuse(index, "only a plain store of a number is read");
      int maker = maker_of(number);
      // (What is stored under a flag is stored when that is there, too.)
      const int flag = mask_of(op).first;
      const int of_flag = flag == kNone ? kNone : maker_of(flag);
      if (of_flag != kNone && (maker == kNone || order_.at(of_flag) > order_.at(maker)))
        maker = of_flag;
      if (maker == kNone) maker = op_that_computes();
      const int made = maker == kNone ? kNone : node(maker, 0);
      const OpClass c = made == kNone ? OpClass::unknown : class_of(m_.op(maker));
      if ((c != OpClass::elementwise && c != OpClass::reduction) || copies_of(maker) > 1 ||
          loop_value_[at(made)] < 0)
        refuse(index, "no op of the loop makes what it stores");
      for (const Chunk& chunk : k_.kernel.chunks)
        if (std::find(chunk.ops.begin(), chunk.ops.end(), at(made)) != chunk.ops.end())
          refuse(index, "a chunk makes what it stores");
      meaning::Value value;
      value.function = Function::store;
      value.type = type_name(index, number);
      value.operands = {source(index, number, Where::loop, 0, -1).operand};
      value.id = unique(wished_name(m_, op));
      value.part_of = loop_values_[at(made)].id;
      if (!masked_move(index, value, Where::loop, 0, -1)) flagged_number(index, value, Where::loop);
      value.tensor = tensor(index, 0, 1, -1, value.type, value.shape);
      scalars_.push_back(std::move(value));
    });
    if (!read && kernel_.incomplete.empty())
      kernel_.incomplete =
          "a number is stored in line " + std::to_string(op.line) + " (" + not_read_ + ")";
  }
}

}  // namespace twill::ttgir
