// Reductions, running sums and products (meaning_builder.hpp).
#include <algorithm>

#include "graph/index.hpp"
#include "graph/ttgir/comparison.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {

using meaning::Function;
using meaning::Index;
using meaning::Operand;

void MeaningBuilder::reduction(int index, meaning::Value& value, Where where, int copy,
                               int dimension) {
  const Operation& op = m_.op(index);
  const bool scan = op.name == "tt.scan";
  if (op.name == "tt.reduce" && op.operands.size() == 2)
    return place_alone(index) ? first_place_of(index, value, where, copy, dimension)
                              : largest(index, value, where, copy, dimension);
  if ((!scan && op.name != "tt.reduce") || op.operands.size() != 1 || op.regions.size() != 1)
    refuse(index, "of reductions only tt.reduce and tt.scan of one tile are known");
  const Region& region = m_.regions[at(op.regions[0])];
  const Block& block = m_.block(region.blocks.at(0));
  if (region.blocks.size() != 1 || block.ops.size() != 2 || block.arguments.size() != 2)
    refuse(index, "it reduces with more than one operation");
  const Operation &combine = m_.op(block.ops[0]), &end = m_.op(block.ops[1]);
  const bool both =
      combine.operands.size() == 2 &&
      ((combine.operands[0] == block.arguments[0] && combine.operands[1] == block.arguments[1]) ||
       (combine.operands[0] == block.arguments[1] && combine.operands[1] == block.arguments[0]));
  if (!both || combine.results.size() != 1 || end.operands != combine.results)
    refuse(index, "it reduces with another operation");
  const bool flags = is_flags(op.operands[0]);
  const bool whole = is_integer(op.operands[0]) && !flags;
  // (Of flags any is the largest, all the smallest.)
  if (flags && (combine.name == "arith.ori" || combine.name == "arith.andi")) {
    const bool any = combine.name == "arith.ori";
    value.function = scan  ? (any ? Function::running_max : Function::running_min)
                     : any ? Function::row_max
                           : Function::row_min;
  } else if (combine.name == (whole ? "arith.addi" : "arith.addf"))
    value.function = scan ? Function::running_sum : Function::row_sum;
  else if (combine.name == "arith.mulf" && type(op.operands[0]).element == "f32")
    value.function = scan ? Function::running_product : Function::row_product;
  else if (combine.name == (whole ? "arith.maxsi" : "arith.maxnumf"))
    value.function = scan ? Function::running_max : Function::row_max;
  else if (combine.name == (whole ? "arith.minsi" : "arith.minnumf"))
    value.function = scan ? Function::running_min : Function::row_min;
  else if (whole && !scan && combine.name == "arith.maxui")
    value.function = Function::row_max;
  else if (whole && !scan && combine.name == "arith.minui")
    value.function = Function::row_min;
  else
    refuse(index, (scan ? "it scans with " : "it reduces with ") + std::string(combine.name));
  int tile = op.operands[0];
  // Of a vector in another order it is the same.
  while (m_.value(tile).op != kNone && m_.op(m_.value(tile).op).name == "tt.reshape" &&
         type(tile).shape.size() == 1 &&
         type(m_.op(m_.value(tile).op).operands[0]).shape == type(tile).shape)
    tile = m_.op(m_.value(tile).op).operands[0];
  if (scan) return running(index, value, where, copy, dimension);
  // A vector becomes a number; a matrix with one row or column is none.
  const std::size_t rank = type(tile).shape.size();
  const bool of_vector = rank == 1 && value.shape.empty();
  if (!of_vector && rank < 3 && (rank != 2 || value.shape.size() != 1))
    refuse(index, "it reduces a tile that is no matrix");
  if (combine.name == "arith.maxui" || combine.name == "arith.minui")
    return reduce_without_sign(index, tile, value, where, copy, dimension);
  value.operands = {in_rows(index, tile, value, where, copy, dimension)};
}

/// A tile that the op reduces, seen so that its rows are what is reduced.
meaning::Operand MeaningBuilder::in_rows(int index, int tile, meaning::Value& value, Where where,
                                         int copy, int dimension) {
  // (Of what is reshaped the columns are rows of another form.)
  const int made = m_.value(tile).op;
  const bool in_form = made != kNone && type(tile).shape.size() == 2 &&
                       axis_of(m_, m_.op(index)) == 0 && reshapes(m_.op(made));
  if (type(tile).shape.size() > 2 || in_form)
    return in_rows_of_form(index, tile, value, where, copy);
  const bool of_vector = type(tile).shape.size() == 1;
  const int axis = axis_of(m_, m_.op(index));
  int cut = where == Where::loop ? split_.of(tile) : dimension;
  if (where != Where::loop && cut >= axis && cut >= 0) ++cut;
  if (cut == axis) refuse(index, "it reduces over sub-tiles");
  Seen seen = source(index, tile, where, copy, cut);
  if (seen.vector != of_vector || seen.operand.value < 0)
    refuse(index, "it reduces a repeated vector");
  if (axis == 0 && !of_vector) seen.operand.transposed = !seen.operand.transposed;
  return seen.operand;
}

/// Is it the larger (more: kSignedMore) or the smaller (kSignedLess) of two pairs, and of two equal
/// ones that with the smaller place?
bool MeaningBuilder::keeps_first(const Operation& op, std::int64_t further) const {
  const Region& region = m_.regions[at(op.regions[0])];
  const Block& block = m_.block(region.blocks.at(0));
  if (region.blocks.size() != 1 || block.arguments.size() != 4 || block.ops.empty()) return false;
  const auto& x = block.arguments;  // a, its place, b, its place
  const auto made_by = [&](int value, std::string_view name) -> const Operation* {
    const int made = m_.value(value).op;
    if (made == kNone || m_.op(made).name != name || m_.op(made).operands.size() < 2)
      return nullptr;
    return &m_.op(made);
  };
  // (Of integers, where both are compared with a sign.)
  const Type* const element = m_.type_of(x[0]);
  const std::string_view among =
      element != nullptr && element->element == "i32" ? "arith.cmpi" : "arith.cmpf";
  const auto compares = [&](int value, std::string_view name, int a, int b, auto how) {
    const Operation* one = made_by(value, name);
    if (one == nullptr || one->operands != std::vector<int>{a, b}) return false;
    const auto found = name == "arith.cmpf" ? real_predicate(m_, *one) : predicate(m_, *one);
    return found && *found == how;
  };
  const Operation& end = m_.op(block.ops.back());
  if (end.name != "tt.reduce.return" || end.operands.size() != 2) return false;
  const Operation* number = made_by(end.operands[0], "arith.select");
  const Operation* place = made_by(end.operands[1], "arith.select");
  if (number == nullptr || place == nullptr || number->operands.size() != 3 ||
      number->operands != std::vector<int>{number->operands[0], x[0], x[2]} ||
      place->operands != std::vector<int>{number->operands[0], x[1], x[3]})
    return false;
  const Operation* either = made_by(number->operands[0], "arith.ori");
  if (either == nullptr) return false;
  for (const auto& [more, tie] : {std::pair(0, 1), std::pair(1, 0)}) {
    if (!compares(either->operands[at(more)], among, x[0], x[2], further)) continue;
    const Operation* both = made_by(either->operands[at(tie)], "arith.andi");
    if (both == nullptr) continue;
    for (const auto& [same, first] : {std::pair(0, 1), std::pair(1, 0)})
      if (compares(both->operands[at(same)], among, x[0], x[2], kEqual) &&
          compares(both->operands[at(first)], "arith.cmpi", x[1], x[3], kSignedLess))
        return true;
  }
  return false;
}

/// Is a reduction of two tiles used for its place alone, in the type in which it is made?
bool MeaningBuilder::place_alone(int index) const {
  const Operation& op = m_.op(index);
  if (op.results.size() != 2 || op.operands.size() != 2) return false;
  const Type* number = m_.type_of(op.results[0]);
  const Type* place = m_.type_of(op.results[1]);
  if (number == nullptr || place == nullptr || place->element != "i32" ||
      (number->element != "f32" && number->element != "i32"))
    return false;
  return std::none_of(m_.ops.begin(), m_.ops.end(), [&](const Operation& user) {
    return std::find(user.operands.begin(), user.operands.end(), op.results[0]) !=
           user.operands.end();
  });
}

/// Are they, with the numbers, their places along the dimension that is reduced, from 0 on?
bool MeaningBuilder::are_places(const Operation& op, bool of_vector) const {
  const int axis = axis_of(m_, op);
  const auto places = indices_.tile(op.operands[1]);
  const auto along = [&](int d) { return places ? (d == 0 ? places->row : places->column) : 0; };
  return places && places->begin == Index::whole(0) && along(axis) == 1 &&
         (of_vector || along(1 - axis) == 0);
}

/// The place of the largest or the smallest alone (argmax, argmin), wherever it stands.
void MeaningBuilder::first_place_of(int index, meaning::Value& value, Where where, int copy,
                                    int dimension) {
  const Operation& op = m_.op(index);
  const bool most = keeps_first(op, kSignedMore);
  if (op.regions.size() != 1 || (!most && !keeps_first(op, kSignedLess)))
    refuse(index, "of two tiles it makes something else than the first place of one");
  const int tile = op.operands[0];
  const std::vector<std::int64_t>& extents = type(tile).shape;
  const bool of_vector = extents.size() == 1;
  if (!of_vector &&
      (extents.size() != 2 || value.shape.size() != 1 || extents[0] == 1 || extents[1] == 1))
    refuse(index, "it reduces a tile that is no matrix");
  if (!are_places(op, of_vector))
    refuse(index, "what it reduces with the numbers is not their places");
  value.operands = {in_rows(index, tile, value, where, copy, dimension)};
  value.function = most ? Function::place_of_max : Function::place_of_min;
  value.type = "i32";
}

/// The largest or the smallest with its place: one tile with both.
void MeaningBuilder::largest(int index, meaning::Value& value, Where where, int copy,
                             int dimension) {
  const Operation& op = m_.op(index);
  if (where != Where::loop || split_.factor != 1 || dimension >= 0)
    refuse(index, "two tiles are reduced together in the loop alone, as a whole");
  if (op.results.size() != 2 || op.regions.size() != 1 ||
      (!keeps_first(op, kSignedMore) && !keeps_first(op, kSignedLess)))
    refuse(index, "of two tiles it makes something else than the largest and its first place");
  const int tile = op.operands[0];
  const std::vector<std::int64_t>& extents = type(tile).shape;
  const bool of_vector = extents.size() == 1;
  if (!of_vector &&
      (extents.size() != 2 || value.shape.size() != 1 || extents[0] == 1 || extents[1] == 1))
    refuse(index, "it reduces a tile that is no matrix");
  const std::string number = type_name(index, tile);
  if (number != "f32" && number != "f16" && number != "bf16")
    refuse(index, "it compares numbers of " + number);
  if (!are_places(op, of_vector))
    refuse(index, "what it reduces with the numbers is not their places");
  value.operands = {in_rows(index, tile, value, where, copy, dimension)};
  value.function = keeps_first(op, kSignedMore) ? Function::largest : Function::smallest;
  value.type = "f32";
  value.shape = {of_vector ? 1 : value.shape[0], 2};
}

/// A result of largest(): a column of its tile. The place is an integer again.
MeaningBuilder::Seen MeaningBuilder::largest_or_place(int user, int value, int distance) {
  const int op = m_.value(value).op, result = m_.value(value).index;
  const int made = node(op, 0);
  if (m_.op(op).name != "tt.reduce" || m_.op(op).results.size() != 2 || made == kNone)
    refuse(user, "it uses one of several results");
  Seen seen;
  seen.vector = shape(op, value, -1).size() == 1;
  seen.operand.value = kLoop + made;
  seen.operand.distance = distance;
  seen.operand.column = result;
  if (!seen.vector) seen.operand.row = 0;
  if (result == 0) return seen;
  if (type(value).element != "i32") refuse(user, "a place is no i32");
  if (const auto known = place_at_.find(value); known != place_at_.end()) {
    seen.operand = {};
    seen.operand.value = kScalar + known->second;
    seen.operand.distance = distance;
    return seen;
  }
  meaning::Value place;
  place.id = unique(std::string(m_.value(value).name));
  place.type = "i32";
  place.shape = shape(op, value, -1);
  seen.operand.distance = 0;
  place.operands = {seen.operand};
  place_at_[value] = static_cast<int>(scalars_.size());
  scalars_.push_back(std::move(place));
  return largest_or_place(user, value, distance);
}

/// Of a vector, or along one dimension of a matrix, in the order of places.
void MeaningBuilder::running(int index, meaning::Value& value, Where where, int copy,
                             int dimension) {
  const Operation& op = m_.op(index);
  const bool back = m_.attribute(op, "reverse").find("true") != std::string_view::npos;
  const int axis = axis_of(m_, op), tile = op.operands[0];
  if (type(tile).shape.size() > 2) refuse(index, "it scans a tile of more than two dimensions");
  const int cut = where == Where::loop ? split_.of(tile) : dimension;
  if (cut == axis) refuse(index, "it scans over sub-tiles");
  const Seen seen = source(index, tile, where, copy, cut);
  if (seen.operand.value < 0 || seen.vector != (type(tile).shape.size() == 1))
    refuse(index, "it scans a repeated vector");
  value.operands = {seen.operand};
  const bool along_rows = !seen.vector && axis == 1;
  Operand how;
  how.number = (along_rows ? 1 : 0) + (back ? 2 : 0);
  if (how.number > 0) value.operands.push_back(how);
}

}  // namespace twill::ttgir
