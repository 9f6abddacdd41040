// What other loops and branches of the function hand to the loop, and it to them: tiles that are in
// no memory (meaning_builder.hpp). They become tensors of the meaning, so that the loop alone can
// be executed; the function is then said to do more than the meaning (UserKernel::incomplete).
#include <algorithm>

#include "graph/index.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/ttgir/interpret.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {

using meaning::Function;

int MeaningBuilder::tile_of_result(int op, int result, int copy, int copies, int dimension,
                                   const meaning::Value& value) {
  meaning::Tensor one;
  one.name = unique(value.id + ".handed");
  one.shape = value.shape;
  one.type = value.type;
  out_.tensors.push_back(one);
  kernel_.places.emplace_back();
  if (in_sequence() && result >= 0 && at(result) < m_.op(op).results.size()) {
    const std::string name(m_.value(m_.op(op).results[at(result)]).name);
    kernel_.places.back().handed = meaning::HandedTile{
        op,
        result,
        copy,
        copies,
        dimension,
        name + (m_.op(op).results.size() > 1 ? "_" + std::to_string(result) : "") +
            (copies > 1 ? "_" + std::to_string(copy) : "")};
  }
  tiles_.push_back({op, copy, copies, dimension, result});
  return static_cast<int>(out_.tensors.size()) - 1;
}

/// A result of another loop or of a branch, as a tile that is loaded before the loop.
int MeaningBuilder::handed(int user, int value, int copy, int dimension) {
  if (dimension < 0) copy = 0;
  const auto known = handed_at_.find({value, copy, dimension});
  if (known != handed_at_.end()) return known->second;
  const Value& v = m_.value(value);
  const Operation& op = m_.op(v.op);
  const auto& ops = m_.block(m_.op(loop_).block).ops;
  if (std::find(ops.begin(), ops.end(), v.op) > std::find(ops.begin(), ops.end(), loop_) &&
      op.block == m_.op(loop_).block)
    refuse(user, "it uses what a loop or a branch behind the loop makes");
  if (!is_tile(value, TypeKind::tensor) && !is_tile(value, TypeKind::scalar))
    refuse(user, "it uses what another loop or a branch makes");
  meaning::Value one;
  one.id = unique(std::string(v.name) + (dimension < 0 ? "" : "." + std::to_string(copy)));
  one.function = Function::load;
  one.type = type_name(v.op, value);
  one.shape = shape(v.op, value, dimension);
  one.tensor =
      tile_of_result(v.op, v.index, copy, dimension < 0 ? 1 : split_.factor, dimension, one);
  before_.push_back(std::move(one));
  // (Of a sequence the loop before says what it hands on: graph/emit/sequence.cpp compares.)
  const OpClass c = class_of(op);
  if (in_sequence() && (c == OpClass::tmem_load || c == OpClass::local_load ||
                        std::find(sequence_.begin(), sequence_.end(), v.op) != sequence_.end()))
    return handed_at_[{value, copy, dimension}] = static_cast<int>(before_.size()) - 1;
  kernel_.places.back().handed.reset();
  const std::string why =
      dimension < 0 ? repeat_earlier(v.op, v.index) : "it is cut into sub-tiles";
  if (!why.empty() && kernel_.incomplete.empty())
    kernel_.incomplete = "the loop uses what " + std::string(op.name) + " of line " +
                         std::to_string(op.line) + " makes (" + why + ")";
  return handed_at_[{value, copy, dimension}] = static_cast<int>(before_.size()) - 1;
}

/// The loop around the loop of which a value is a variable that is carried; kNone = it is none.
int MeaningBuilder::carried_around(int value) const {
  const Value& v = m_.value(value);
  if (v.op != kNone || v.index == 0) return kNone;
  for (int around = m_.parent(loop_); around != kNone; around = m_.parent(around)) {
    const Operation& op = m_.op(around);
    if (op.name == "scf.for" && op.regions.size() == 1 &&
        m_.regions[at(op.regions[0])].blocks == std::vector{v.block})
      return around;
  }
  return kNone;
}

/// A tile or number that a loop around this one carries, as one that is loaded before the loop.
int MeaningBuilder::handed_around(int user, int value, int copy, int dimension) {
  if (dimension < 0) copy = 0;
  const auto known = handed_at_.find({value, copy, dimension});
  if (known != handed_at_.end()) return known->second;
  const Value& v = m_.value(value);
  const int around = carried_around(value);
  if (!is_tile(value, TypeKind::tensor) && !is_tile(value, TypeKind::scalar))
    refuse(user, "it uses what a loop around the loop carries");
  meaning::Value one;
  one.id = unique(std::string(v.name) + (dimension < 0 ? "" : "." + std::to_string(copy)));
  one.function = Function::load;
  one.type = type_name(user, value);
  one.shape = shape(user, value, dimension);
  one.tensor = tile_of_result(around, kCarriedBy + v.index - 1, copy,
                              dimension < 0 ? 1 : split_.factor, dimension, one);
  before_.push_back(std::move(one));
  if (kernel_.incomplete.empty())
    kernel_.incomplete = "the loop begins with what the loop of line " +
                         std::to_string(m_.op(around).line) + " carries";
  return handed_at_[{value, copy, dimension}] = static_cast<int>(before_.size()) - 1;
}

/// What a buffer has where the loop begins, as a tile that is loaded before the loop.
int MeaningBuilder::handed_memory(int user, int root, int copy, int dimension) {
  if (dimension < 0) copy = 0;
  const auto known = handed_at_.find({root, copy, dimension});
  if (known != handed_at_.end()) return known->second;
  const int made = m_.value(root).op;
  if (made == kNone || in_loop(made)) refuse(user, "it reads a buffer that nobody makes before");
  meaning::Value one;
  one.id =
      unique(std::string(m_.value(root).name) + (dimension < 0 ? "" : "." + std::to_string(copy)));
  one.function = Function::load;
  one.type = type_name(user, root);
  one.shape = shape(user, root, dimension);
  one.tensor =
      tile_of_result(made, kAtEntry, copy, dimension < 0 ? 1 : split_.factor, dimension, one);
  before_.push_back(std::move(one));
  if (kernel_.incomplete.empty())
    kernel_.incomplete = "the loop finds in %" + std::string(m_.value(root).name) +
                         " what another loop or a branch has written";
  return handed_at_[{root, copy, dimension}] = static_cast<int>(before_.size()) - 1;
}

/// Is what an op behind the loop uses made of the loop's results, of memory and of what stands
/// before the loop? (Each op once: results are used many times.)
bool MeaningBuilder::worked_on_here(int index) const {
  const auto& ops = m_.block(m_.op(loop_).block).ops;
  const auto loop = std::find(ops.begin(), ops.end(), loop_);
  std::vector<int> open = {index};
  std::set<int> seen = {index};
  while (!open.empty()) {
    const int user = open.back();
    open.pop_back();
    for (const int operand : m_.op(user).operands) {
      const int made = m_.value(operand).op;
      if (is_tile(operand, TypeKind::memdesc) && written_behind(user, buffer(user, operand)))
        return false;
      if (made == kNone || made == loop_) continue;
      if (std::find(loop, ops.end(), made) == ops.end() && branch_behind(made) == kNone)
        continue;  // before the loop
      const OpClass c = class_of(m_.op(made));
      if (c == OpClass::control) return false;
      if (c == OpClass::mma && (split_.factor != 1 || m_.op(made).block != m_.op(loop_).block))
        return false;
      // (What a branch loads may be there only where it is entered.)
      // (Tiles by pointers are loaded under the branch's condition: before().)
      if ((c == OpClass::load || c == OpClass::copy) && branch_behind(made) != kNone &&
          (m_.op(made).name != "tt.load" || !is_tile(m_.op(made).results.at(0), TypeKind::tensor)))
        return false;
      if (seen.insert(made).second) open.push_back(made);
    }
  }
  return true;
}

/// What is used elsewhere than in the ops behind the loop that are read is stored in a tensor of
/// its own.
void MeaningBuilder::hand_on() {
  const auto& ops = m_.block(m_.op(loop_).block).ops;
  const auto loop = std::find(ops.begin(), ops.end(), loop_);
  // From a result on through ops behind the loop: does it reach one that is not read here?
  const auto escapes = [&](int result) {
    std::vector<int> open = {result};
    std::set<int> seen = {result};
    while (!open.empty()) {
      const int value = open.back();
      open.pop_back();
      for (int user = 0; user < static_cast<int>(m_.ops.size()); ++user) {
        const Operation& op = m_.op(user);
        if (std::find(op.operands.begin(), op.operands.end(), value) == op.operands.end()) continue;
        const OpClass c = class_of(op);
        const bool behind =
            std::find(loop, ops.end(), user) != ops.end() || branch_behind(user) != kNone;
        if (!behind || c == OpClass::control || op.name == "scf.yield" ||
            ((c == OpClass::store || c == OpClass::mma) && !worked_on_here(user)))
          return true;
        for (const int made : op.results)
          if (seen.insert(made).second) open.push_back(made);
      }
    }
    return false;
  };
  // What is read behind the loop of a buffer that the loop writes into, likewise.
  for (auto op = loop + 1; loop != ops.end() && op != ops.end(); ++op) {
    const OpClass c = class_of(m_.op(*op));
    if (c != OpClass::tmem_load && c != OpClass::local_load) continue;
    const int result = m_.op(*op).results.at(0);
    if (split_.factor != 1 || !worked_on_here(*op) || !escapes(result)) continue;
    const bool read = tried([&] {
      const Seen seen = source(*op, result, Where::after, 0, -1);
      if (seen.operand.value < kLoop) refuse(*op, "the loop has not made it");
      hand_on_value(*op, 0, result, 0, 1, -1);
    });
    if (!read && kernel_.incomplete.empty())
      kernel_.incomplete = "%" + std::string(m_.value(result).name) + " is used behind the loop";
  }
  const Operation& all = m_.op(loop_);
  for (std::size_t k = 0; k < all.results.size(); ++k) {
    const int result = all.results[k];
    if ((!is_tile(result, TypeKind::tensor) && !is_tile(result, TypeKind::scalar)) ||
        !escapes(result))
      continue;
    const std::string used = "%" + std::string(m_.value(result).name) + " is used behind the loop";
    const auto* number = meaning::number_type(type(result).element);
    const bool scalar = is_tile(result, TypeKind::scalar);
    if (number == nullptr || (scalar && number->precision == 0)) {  // places, masks
      kernel_.incomplete = used;
      continue;
    }
    if (scalar) {
      // (One that is not read is left out.)
      if (!tried([&] { hand_on_part(static_cast<int>(k), result, 0, 1, -1); }))
        kernel_.incomplete = used;
      continue;
    }
    const int dimension = dimension_after(result);
    const int copies = dimension < 0 ? 1 : split_.factor;
    for (int copy = 0; copy < copies; ++copy)
      hand_on_part(static_cast<int>(k), result, copy, copies, dimension);
  }
}

/// Part `copy` of result k of the loop, stored where others find it.
void MeaningBuilder::hand_on_part(int k, int result, int copy, int copies, int dimension) {
  hand_on_value(loop_, k, result, copy, copies, dimension);
}

/// Likewise of an op behind the loop.
void MeaningBuilder::hand_on_value(int op, int k, int result, int copy, int copies, int dimension) {
  meaning::Value value;
  value.function = Function::store;
  value.type = type_name(op, result);
  value.shape = shape(op, result, dimension);
  value.operands = {beside(op, value, source(op, result, Where::after, copy, dimension))};
  value.id = unique(std::string(m_.value(result).name) + "." + std::to_string(k) +
                    (dimension < 0 ? "" : "." + std::to_string(copy)) + ".out");
  value.tensor = tile_of_result(op, k, copy, copies, dimension, value);
  after_.push_back(std::move(value));
  if (kernel_.incomplete.empty() && !in_sequence())
    kernel_.incomplete = "%" + std::string(m_.value(result).name) +
                         " of the loop is used by another loop or a branch";
}

}  // namespace twill::ttgir
