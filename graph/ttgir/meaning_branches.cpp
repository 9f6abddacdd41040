// A branch of the loop's body whose condition is known at run time alone: both sides are computed,
// and the result is chosen (meaning_builder.hpp). No side may do anything but compute.
#include <algorithm>

#include "graph/index.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {

using meaning::Function;
using meaning::Operand;

/// What the sides make are steps of the branch's node.
void MeaningBuilder::branch(int index, const std::string& id, meaning::Value& value) {
  const Operation& op = m_.op(index);
  if (std::all_of(op.results.begin(), op.results.end(),
                  [&](int result) { return is_tile(result, TypeKind::token); }))
    return storing_branch(index, id, value);
  if (op.results.size() == 1 && chooses_numbers(index) && !is_flags(op.results[0]))
    return choose_number(op.results[0], value);
  if (op.results.size() != 1 || op.regions.size() != 2 || op.operands.size() != 1)
    refuse(index, "a branch is read that makes one result, on either side");
  if (split_.factor != 1) refuse(index, "a branch is not cut into sub-tiles");
  const int result = op.results[0];
  if (!is_tile(result, TypeKind::tensor)) refuse(index, "it is not known what it makes");
  value.type = is_flags(result) ? "i32" : type_name(index, result);
  value.shape = shape(index, result, -1);
  const std::size_t first = scalars_.size();
  std::vector<Operand> sides;
  for (const int region : op.regions) {
    const auto& blocks = m_.regions[at(region)].blocks;
    if (blocks.size() != 1 || m_.block(blocks[0]).ops.empty())
      refuse(index, "it branches from block to block");
    const auto& ops = m_.block(blocks[0]).ops;
    const Operation& yield = m_.op(ops.back());
    if (yield.name != "scf.yield" || yield.operands.size() != 1)
      refuse(index, "it is not known what it makes");
    in_branch_.insert(ops.begin(), ops.end());
    for (const int inner : ops)
      if (inner != ops.back()) branch_op(inner);
    sides.push_back(beside(index, value, source(index, yield.operands[0], Where::loop, 0, -1)));
  }
  for (std::size_t k = first; k < scalars_.size(); ++k)
    if (!scalars_[k].part_of.empty()) scalars_[k].part_of = id;
  const int condition = op.operands[0];
  // (Of what does not grow by a number in every iteration, as its rest, each slot makes a flag.)
  const bool of_places = half_planes(condition) && tried([&] {
                           value.function = Function::within;
                           value.operands = sides;
                           if (!add_bounds(index, condition, value, Where::loop, 0, -1))
                             refuse(index, "it has too many conditions");
                         });
  if (of_places) {
    if (value.operands.size() > 2) return;
    value.function = Function::copy;  // (always so)
    value.operands.pop_back();
    return;
  }
  const Seen flag = scalar(index, condition, Where::loop, 0);
  value.function = Function::select;
  value.operands = {flag.operand, sides[0], sides[1]};
}

/// A branch that stores one tile, and on its other side does nothing: the tile is always computed,
/// and stored where the condition says so.
void MeaningBuilder::storing_branch(int index, const std::string& id, meaning::Value& value) {
  const Operation& op = m_.op(index);
  if (op.regions.empty() || op.regions.size() > 2 || op.operands.size() != 1 || split_.factor != 1)
    refuse(index, "it is not known what it makes");
  const auto ops_of = [&](std::size_t side) -> const std::vector<int>& {
    const auto& blocks = m_.regions[at(op.regions[side])].blocks;
    if (blocks.size() != 1) refuse(index, "it branches from block to block");
    return m_.block(blocks[0]).ops;
  };
  if (op.regions.size() == 2)
    for (const int other : ops_of(1))
      if (class_of(m_.op(other)) != OpClass::terminator)
        refuse(other, "in a branch beside one that stores it is not read");
  const std::vector<int>& ops = ops_of(0);
  in_branch_.insert(ops.begin(), ops.end());
  const std::size_t first = scalars_.size();
  int store = kNone;
  for (const int inner : ops) {
    const OpClass c = class_of(m_.op(inner));
    if (c == OpClass::terminator) continue;
    if (c != OpClass::store) {
      branch_op(inner);
      continue;
    }
    const bool plain = m_.op(inner).name == "tt.descriptor_store";
    if (!plain || store != kNone) refuse(inner, "in a branch it is not read");
    store = inner;
  }
  if (store == kNone) refuse(index, "it is not known what it makes");
  const int tile = m_.op(store).operands.back();
  value.function = Function::store;
  if (!is_tile(tile, TypeKind::tensor)) refuse(store, "it is not known what it stores");
  value.type = type_name(store, tile);
  value.shape = shape(store, tile, -1);
  value.operands = {beside(store, value, source(store, tile, Where::loop, 0, -1)),
                    scalar(index, op.operands[0], Where::loop, 0).operand};
  if (value.operands[0].value < 0) refuse(store, "it stores a repeated number");
  value.tensor = tensor(store, 0, 1, -1, value.type, value.shape);
  for (std::size_t k = first; k < scalars_.size(); ++k)
    if (!scalars_[k].part_of.empty()) scalars_[k].part_of = id;
}

void MeaningBuilder::branch_op(int index) {
  const Operation& op = m_.op(index);
  const OpClass c = class_of(op);
  const auto is_number = [&](int result) { return is_tile(result, TypeKind::scalar); };
  switch (c) {
    case OpClass::replicated:
    case OpClass::transparent:
    case OpClass::view: return;  // users look through them
    case OpClass::elementwise:
      if (std::all_of(op.results.begin(), op.results.end(), is_number)) return;
      break;
    case OpClass::layout:
    case OpClass::reduction:
    case OpClass::mma: break;
    case OpClass::local_alloc:
    case OpClass::tmem_alloc:
      if (op.operands.empty()) return;
      for (int other = 0; other < static_cast<int>(m_.ops.size()); ++other)
        if (other != index && write_by(other, op.results.at(0)))
          refuse(index, "it is written into in a branch");
      branch_at_[op.results.at(0)] = source(index, op.operands[0], Where::loop, 0, -1);
      return;
    case OpClass::tmem_store: {
      const auto write = write_by(index, kNone);
      if (!write || write->tile == kNone || op.operands.size() < 2)
        refuse(index, "it is not known what it writes");
      for (const int operand : op.operands)
        if (is_flags(operand) && constant_integer(m_, operand) != 1)
          refuse(index, "it is not always executed");
      for (const int operand : op.operands)
        if (is_tile(operand, TypeKind::memdesc)) {
          branch_holds_[branch_buffer(index, operand)] =
              source(index, write->tile, Where::loop, 0, -1);
          return;
        }
      refuse(index, "it is not known what it writes");
    }
    case OpClass::tmem_load:
      // (Of a buffer that is not the branch's, what the branch finds there.)
      if (const int made = m_.value(op.operands.at(0)).op; in_branch_.contains(made))
        branch_at_[op.results.at(0)] = held_in_branch(index, op.operands.at(0));
      else
        branch_at_[op.results.at(0)] = shown(index, op.operands.at(0), Where::loop, 0, -1);
      return;
    default: refuse(index, "in a branch it is not read");
  }
  if (op.results.empty() && !is_tensor_memory_mma(op))
    refuse(index, "it is not known what it computes");
  const std::string name = is_tensor_memory_mma(op) || m_.value(op.results[0]).name.empty()
                               ? std::string(op.name.substr(op.name.find('.') + 1))
                               : std::string(m_.value(op.results[0]).name);
  meaning::Value value = computed(index, unique(name), Where::loop, 0, -1);
  value.part_of = value.id;  // (the branch's, at its end)
  scalars_.push_back(std::move(value));
  Seen seen;
  seen.operand.value = kScalar + static_cast<int>(scalars_.size()) - 1;
  if (is_tensor_memory_mma(op)) {
    int sum = kNone;
    for (const int operand : op.operands)
      if (is_tile(operand, TypeKind::memdesc)) sum = operand;
    branch_holds_[branch_buffer(index, sum)] = seen;
    return;
  }
  const std::vector<std::int64_t> extents = shape(index, op.results[0], -1);
  seen.vector = extents.size() == 1;
  if (seen.vector && type(op.results[0]).shape.size() == 2)
    seen.axis = type(op.results[0]).shape[0] == 1 ? 1 : 0;
  branch_at_[op.results[0]] = seen;
}

/// Does a branch of the loop's body do nothing but choose numbers: those of what each side
/// computes?
bool MeaningBuilder::chooses_numbers(int index) const {
  const Operation& op = m_.op(index);
  const auto is_number = [&](int value) { return is_tile(value, TypeKind::scalar); };
  if (op.name != "scf.if" || !order_.contains(index) || op.operands.size() != 1 ||
      op.results.empty() || op.regions.size() != 2 ||
      !std::all_of(op.results.begin(), op.results.end(), is_number))
    return false;
  for (const int region : op.regions) {
    const auto& blocks = m_.regions[at(region)].blocks;
    if (blocks.size() != 1 || m_.block(blocks[0]).ops.empty()) return false;
    const auto& ops = m_.block(blocks[0]).ops;
    const Operation& yield = m_.op(ops.back());
    if (yield.name != "scf.yield" || yield.operands.size() != op.results.size()) return false;
    for (const int inner : ops) {
      const Operation& one = m_.op(inner);
      const OpClass c = class_of(one);
      // (A division whose side is not taken may be one by 0.)
      const bool divides = one.name == "arith.divsi" || one.name == "arith.remsi" ||
                           one.name == "arith.divui" || one.name == "arith.remui";
      if (inner != ops.back() &&
          ((c != OpClass::elementwise && c != OpClass::replicated) || divides ||
           !one.regions.empty() || !std::all_of(one.results.begin(), one.results.end(), is_number)))
        return false;
    }
  }
  return true;
}

/// The branch that chooses numbers and in which an op stands; kNone = there is none.
int MeaningBuilder::number_branch_of(int op) const {
  const int branch = m_.parent(op);
  return branch != kNone && chooses_numbers(branch) ? branch : kNone;
}

/// Both sides are computed, and the number is chosen.
MeaningBuilder::Seen MeaningBuilder::number_of_branch(int user, int value, int distance) {
  Seen seen;
  seen.operand.distance = distance;
  const auto known = chosen_at_.find(value);
  if (known != chosen_at_.end()) {
    seen.operand.value = kScalar + known->second;
    return seen;
  }
  if (is_flags(value)) refuse(user, "it uses a flag that a branch makes");
  const int k = chosen_at_[value] = static_cast<int>(scalars_.size());
  scalars_.emplace_back();  // (one that is carried is used on the way to itself)
  meaning::Value chosen;
  chosen.id = unique(std::string(m_.value(value).name));
  choose_number(value, chosen);
  scalars_[at(k)] = std::move(chosen);
  seen.operand.value = kScalar + k;
  return seen;
}

/// The number that a branch chooses as one of its results.
void MeaningBuilder::choose_number(int value, meaning::Value& chosen) {
  const int index = m_.value(value).op;
  const Operation& op = m_.op(index);
  chosen.function = Function::select;
  chosen.type = type_name(index, value);
  chosen.operands = {scalar(index, op.operands[0], Where::loop, 0).operand};
  for (const int region : op.regions) {
    const Operation& yield = m_.op(m_.block(m_.regions[at(region)].blocks[0]).ops.back());
    const int side = yield.operands[at(m_.value(value).index)];
    chosen.operands.push_back(source(index, side, Where::loop, 0, -1).operand);
  }
}

/// The buffer that a tile of memory is, which the branch must have made for itself.
int MeaningBuilder::branch_buffer(int user, int value) const {
  const int made = m_.value(value).op;
  if (made == kNone || !in_branch_.contains(made) ||
      (class_of(m_.op(made)) != OpClass::tmem_alloc &&
       class_of(m_.op(made)) != OpClass::local_alloc))
    refuse(user, "a branch works on memory that it has not made for itself");
  return value;
}

MeaningBuilder::Seen MeaningBuilder::held_in_branch(int user, int value) const {
  const auto found = branch_holds_.find(branch_buffer(user, value));
  if (found == branch_holds_.end()) refuse(user, "it reads what a branch has not written");
  return found->second;
}

}  // namespace twill::ttgir
