// Bits of numbers taken for integers, and back (tt.bitcast): nothing is computed on a GPU, so the
// problem has no op for it, and each op that uses it takes the bits for itself
// (meaning_builder.hpp).
#include <utility>

#include "graph/index.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {

using meaning::Function;

/// Is it an op that shows the bits of a tile or a number as another type?
bool MeaningBuilder::takes_bits(int index) const {
  const Operation& op = m_.op(index);
  if ((op.name != "tt.bitcast" && op.name != "arith.bitcast") || op.operands.size() != 1 ||
      op.results.size() != 1)
    return false;
  const Type* from = m_.type_of(op.operands[0]);
  const Type* to = m_.type_of(op.results[0]);
  return from != nullptr && to != nullptr && !from->is_pointer() && !to->is_pointer() &&
         from->element != to->element;
}

/// The value that such an op makes; false = it is none.
bool MeaningBuilder::bits(int index, meaning::Value& value, Where where, int copy, int dimension) {
  if (!takes_bits(index)) return false;
  const int of = m_.op(index).operands[0];
  const std::string& from = type(of).element;
  if (!((from == "f32" && value.type == "i32") || (from == "i32" && value.type == "f32")))
    refuse(index, "of bits only those of f32 and i32 are read");
  const int cut = where == Where::loop ? split_.of(of) : dimension;
  const Seen seen = source(index, of, where, copy, cut);
  if (seen.operand.value < 0) refuse(index, "it takes the bits of a constant");
  value.function = Function::bits;
  value.operands = {beside(index, value, seen)};
  return true;
}

/// What an op of the loop sees through one: a step of its own node.
MeaningBuilder::Seen MeaningBuilder::bits_for(int user, int index, Where where, int copy,
                                              int dimension, int distance) {
  if (distance > 0) refuse(user, "it uses bits of a number that is carried");
  const auto stage = node_.find({user, copy, "stage"});
  const int made = stage != node_.end() ? stage->second : node(user, copy);
  if (where != Where::loop || made == kNone || in_branch_.contains(index) ||
      absorbed_.behind.contains(user))
    refuse(index, "who uses the bits that it shows is no op of the loop");
  for (const Chunk& chunk : k_.kernel.chunks)
    for (const std::size_t one : chunk.ops)
      if (one == at(made)) refuse(index, "a chunk uses the bits that it shows");
  const int result = m_.op(index).results[0];
  const std::vector<std::int64_t> extents = shape(index, result, dimension);
  auto known = bits_at_.find({made, copy, index});
  if (known == bits_at_.end()) {
    meaning::Value step;
    step.id = unique(std::string(m_.value(result).name) + ".bits");
    step.type = type_name(index, result);
    step.shape = extents;
    if (!bits(index, step, where, copy, dimension)) refuse(index, "it shows no bits");
    step.part_of = k_.kernel.ops[at(made)].id;
    known =
        bits_at_.emplace(std::tuple(made, copy, index), static_cast<int>(scalars_.size())).first;
    scalars_.push_back(std::move(step));
  }
  Seen seen;
  seen.operand.value = kScalar + known->second;
  seen.vector = extents.size() == 1;
  if (seen.vector && type(result).shape.size() == 2) seen.axis = type(result).shape[0] == 1 ? 1 : 0;
  return seen;
}

}  // namespace twill::ttgir
