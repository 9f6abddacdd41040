// Tiles in another form: reshapes, splits, joins, tiles of three dimensions (meaning_builder.hpp).
//
// A meaning has numbers, vectors and matrices. A tile of more dimensions is a matrix here: its last
// dimension, and all others as one, row by row. A reduction of such a tile has as rows what is left
// and makes a vector of them all. What shows a tile in another form is looked through, down to what
// makes the tile: each dimension that it has is written in digits of the place where an element
// comes from, and who uses it rearranges for itself (graph/meaning/rearranged.hpp).
#include <algorithm>
#include <utility>

#include "graph/index.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {

using meaning::Digit;
using meaning::Function;

namespace {

constexpr int kMostViews = 100;    // one behind the other
constexpr int kMostForms = 1'000;  // that are looked at for one use: joins have two ways on

std::int64_t product_of(const std::vector<Digit>& digits) {
  std::int64_t all = 1;
  for (const Digit& digit : digits) all *= digit.extent;
  return all;
}

/// Appends a digit, joined with the one before where both are one.
void push(std::vector<Digit>& digits, const Digit& next) {
  if (next.extent == 1) return;
  const bool repeats = next.step == 0;
  if (!digits.empty() && (digits.back().step == 0) == repeats &&
      digits.back().step == next.extent * next.step)
    digits.back() = {digits.back().extent * next.extent, next.step};
  else
    digits.push_back(next);
}

std::vector<Digit> all_digits(const std::vector<std::vector<Digit>>& dimensions, std::size_t begin,
                              std::size_t end) {
  std::vector<Digit> all;
  for (std::size_t d = begin; d < end; ++d)
    for (const Digit& digit : dimensions[d]) push(all, digit);
  return all;
}

/// The numbers between brackets of an attribute, "array<i32: 0, 2, 1>".
std::vector<std::size_t> order_of(std::string_view text) {
  std::vector<std::size_t> order;
  const std::size_t colon = text.find(':');
  for (std::size_t k = colon == std::string_view::npos ? 0 : colon; k < text.size(); ++k) {
    if (text[k] < '0' || text[k] > '9') continue;
    std::size_t number = 0;
    for (; k < text.size() && text[k] >= '0' && text[k] <= '9' && number < 100; ++k)
      number = 10 * number + static_cast<std::size_t>(text[k] - '0');
    order.push_back(number);
  }
  return order;
}

}  // namespace

/// Does it show a tile in another form than a matrix or a vector of its own?
bool MeaningBuilder::reshapes(const Operation& op) const {
  if (op.results.empty() || !is_tile(op.results[0], TypeKind::tensor) || op.operands.empty() ||
      !is_tile(op.operands[0], TypeKind::tensor) ||
      takes_bits(static_cast<int>(&op - m_.ops.data())))
    return false;
  if (op.name == "tt.join" || op.name == "tt.split") return true;
  if (op.name != "tt.reshape" && op.name != "tt.trans" && op.name != "tt.expand_dims" &&
      op.name != "tt.broadcast")
    return false;
  return op.name == "tt.reshape" || type(op.operands[0]).shape.size() > 2 ||
         type(op.results[0]).shape.size() > 2;
}

/// Is it a reduction of a tile of more than two dimensions, whose value is a vector of all that is
/// left?
bool MeaningBuilder::reduces_to_vector(int value) const {
  const int made = m_.value(value).op;
  return made != kNone && m_.op(made).name == "tt.reduce" && !m_.op(made).operands.empty() &&
         is_tile(m_.op(made).operands[0], TypeKind::tensor) &&
         type(m_.op(made).operands[0]).shape.size() > 2;
}

/// The tile that an op makes, as it is kept.
MeaningBuilder::Form MeaningBuilder::form_of_made(int user, int value, Where where, int copy,
                                                  int distance) {
  Form form;
  Seen seen = reduces_to_vector(value) ? of_op(user, value, where, copy, -1, distance, true)
                                       : source(user, value, where, copy, -1, distance);
  const std::vector<std::int64_t>& extents = type(value).shape;
  form.dimensions.resize(extents.size());
  form.shape = form_shape(value);
  if (reduces_to_vector(value) && form.shape.size() == 2)
    form.shape = {form.shape[0] * form.shape[1]};
  if (seen.operand.value < 0) {  // (one number everywhere)
    form.tiles = {seen};
    for (std::size_t d = 0; d < extents.size(); ++d) push(form.dimensions[d], {extents[d], 0});
    return form;
  }
  const int made = m_.value(value).op;
  if (made != kNone && m_.op(made).name == "tt.splat")
    refuse(user, "it reshapes a repeated number");
  if (seen.operand.is_part()) refuse(user, "it reshapes a part of a tile");
  std::int64_t step = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    push(form.dimensions[d], {extents[d], step});
    step *= extents[d];
  }
  form.elements = step;
  if (seen.operand.transposed) {
    if (extents.size() != 2) refuse(user, "it reshapes a transposed tile");
    form.dimensions = {{}, {}};
    push(form.dimensions[0], {extents[0], 1});
    push(form.dimensions[1], {extents[1], extents[0]});
    form.shape = {extents[1], extents[0]};
    seen.operand.transposed = false;
  }
  form.tiles = {seen};
  return form;
}

MeaningBuilder::Form MeaningBuilder::form(int user, int value, Where where, int copy, int distance,
                                          int depth) {
  if (depth == 0) forms_left_ = kMostForms;
  if (depth > kMostViews || --forms_left_ < 0)
    refuse(user, "its operand goes through too many views");
  const int made = m_.value(value).op;
  if (made == kNone || !is_tile(value, TypeKind::tensor))
    return form_of_made(user, value, where, copy, distance);
  const Operation& op = m_.op(made);
  const bool flips =
      !op.operands.empty() &&
      (op.name == "tt.trans" || op.name == "tt.expand_dims" || op.name == "tt.broadcast");
  if (!reshapes(op) && !(flips && is_tile(op.operands[0], TypeKind::tensor)))
    return form_of_made(user, value, where, copy, distance);
  const std::vector<std::int64_t>& extents = type(value).shape;
  const auto need = [&](bool right) {
    if (!right) refuse(made, "the form that it shows is not read");
  };
  need(op.operands.size() == (op.name == "tt.join" ? 2U : 1U) &&
       op.results.size() == (op.name == "tt.split" ? 2U : 1U));
  Form of = form(user, op.operands[0], where, copy, distance, depth + 1);
  if (op.name == "tt.expand_dims") {
    need(of.dimensions.size() + 1 == extents.size());
    of.dimensions.insert(of.dimensions.begin() + axis_of(m_, op), std::vector<Digit>{});
  } else if (op.name == "tt.broadcast") {
    need(of.dimensions.size() == extents.size());
    for (std::size_t d = 0; d < extents.size(); ++d)
      if (of.dimensions[d].empty()) push(of.dimensions[d], {extents[d], 0});
  } else if (op.name == "tt.trans") {
    const std::vector<std::size_t> order = order_of(m_.attribute(op, "order"));
    std::vector<std::vector<Digit>> turned;
    for (const std::size_t d : order) {
      if (d >= of.dimensions.size()) refuse(made, "its order is not read");
      turned.push_back(of.dimensions[d]);
    }
    if (turned.size() != extents.size()) refuse(made, "its order is not read");
    of.dimensions = std::move(turned);
  } else if (op.name == "tt.reshape") {
    reshape(made, of);
  } else if (op.name == "tt.join") {
    Form other = form(user, op.operands[1], where, copy, distance, depth + 1);
    const auto alike = [&] {
      return of.tiles.size() == 1 && other.tiles.size() == 1 && of.tiles[0].operand.value >= 0 &&
             other.tiles[0].operand.value >= 0 && of.dimensions == other.dimensions &&
             of.first == other.first && of.elements == other.elements && of.shape == other.shape;
    };
    if (!alike()) {  // each as it is seen
      of = form_of_seen(user, op.operands[0], of, where, copy);
      other = form_of_seen(user, op.operands[1], other, where, copy);
    }
    if (!alike()) refuse(made, "it joins two tiles that are not kept alike");
    of.tiles.push_back(other.tiles[0]);
    of.dimensions.push_back({{2, of.elements}});
  } else {  // tt.split
    need(!of.dimensions.empty());
    const std::vector<Digit> last = of.dimensions.back();
    if (last.size() != 1 || last[0].extent != 2) refuse(made, "it splits more than two");
    of.first += m_.value(value).index * last[0].step;
    of.dimensions.pop_back();
  }
  need(of.dimensions.size() == extents.size());
  for (std::size_t d = 0; d < extents.size(); ++d) need(product_of(of.dimensions[d]) == extents[d]);
  return of;
}

/// The same elements, row by row, in other dimensions.
void MeaningBuilder::reshape(int op, Form& of) const {
  const std::string_view text =
      std::string_view(*m_.text).substr(m_.op(op).begin, m_.op(op).end - m_.op(op).begin);
  if (text.find("allow_reorder") != std::string_view::npos)
    refuse(op, "in which order it has its elements is left to the compiler");
  std::vector<Digit> rest = all_digits(of.dimensions, 0, of.dimensions.size());
  const std::vector<std::int64_t>& extents = type(m_.op(op).results[0]).shape;
  of.dimensions.assign(extents.size(), {});
  for (std::size_t d = extents.size(); d-- > 0;) {
    std::int64_t open = extents[d];
    std::vector<Digit> reversed;
    while (open > 1) {
      if (rest.empty()) refuse(op, "it reshapes into more elements");
      Digit& digit = rest.back();
      const std::int64_t taken = std::min(open, digit.extent);
      if (open % taken != 0 || digit.extent % taken != 0)
        refuse(op, "its extents do not divide each other");
      reversed.push_back({taken, digit.step});
      open /= taken;
      digit = {digit.extent / taken, digit.step * taken};
      if (digit.extent == 1) rest.pop_back();
    }
    for (auto digit = reversed.rbegin(); digit != reversed.rend(); ++digit)
      push(of.dimensions[d], *digit);
  }
  if (!rest.empty()) refuse(op, "it reshapes into fewer elements");
}

/// What an op sees of a tile in that form, as a vector or a matrix.
MeaningBuilder::Seen MeaningBuilder::seen_in_form(int user, int value, const Form& form,
                                                  Where where, int copy) {
  if (split_.factor != 1) refuse(user, "it reshapes sub-tiles");
  std::vector<std::vector<Digit>> kept;
  for (const auto& dimension : form.dimensions)
    if (!dimension.empty()) kept.push_back(dimension);
  if (kept.empty()) refuse(user, "it reshapes a tile of one element");
  std::vector<Digit> rows = all_digits(kept, 0, kept.size() - 1), columns = kept.back();
  if (form.tiles[0].operand.value < 0) return form.tiles[0];  // (one number everywhere)
  const auto repeats = [](const std::vector<Digit>& all) {
    return std::all_of(all.begin(), all.end(), [](const Digit& one) { return one.step == 0; });
  };
  Seen seen;
  seen.vector = kept.size() == 1;
  const bool matrix = !seen.vector;
  meaning::Rearrangement how;
  how.tiles = form.tiles.size();
  how.first = form.first;
  std::vector<std::int64_t> shape;
  if (matrix && !repeats(rows) && !repeats(columns)) {
    how.digits = all_digits({rows, columns}, 0, 2);
    shape = {product_of(rows), product_of(columns)};
  } else {  // a vector, which a matrix repeats
    seen.vector = true;
    if (matrix && repeats(rows) && repeats(columns)) refuse(user, "it repeats one element");
    if (!matrix && repeats(columns)) refuse(user, "it repeats one element");
    const std::vector<Digit>& along = !matrix || repeats(rows) ? columns : rows;
    if (matrix) seen.axis = repeats(rows) ? 1 : 0;
    const Type& all = type(value);
    if (!matrix && all.shape.size() == 2) seen.axis = all.shape[0] == 1 ? 1 : 0;
    how.digits = along;
    shape = {product_of(along)};
  }
  // (A vector as it is kept, or a matrix of the same columns, is itself.)
  const bool itself = how.tiles == 1 && how.first == 0 && how.digits.size() == 1 &&
                      how.digits[0] == Digit{form.elements, 1};
  if (itself && form.shape == shape) {
    const Seen& of = form.tiles[0];
    seen.operand = of.operand;
    return seen;
  }
  meaning::Value step;
  step.function = Function::rearranged;
  step.type = is_flags(value) ? "i32" : type_name(user, value);
  step.shape = shape;
  for (const Seen& tile : form.tiles) {
    step.operands.push_back(tile.operand);
    step.operands.back().along_columns = false;
  }
  append(how, step.operands);
  if (!meaning::is_rearrangement(step)) refuse(user, "it reshapes in too many pieces");
  seen.operand.value = place_of_step(user, value, std::move(step), where, copy);
  return seen;
}

/// A tile in a form of its own, rearranged before it is used.
MeaningBuilder::Form MeaningBuilder::form_of_seen(int user, int value, const Form& form,
                                                  Where where, int copy) {
  Seen seen = seen_in_form(user, value, form, where, copy);
  Form made;
  made.shape = form_shape(value);
  if (seen.operand.value < 0 || seen.vector != (made.shape.size() == 1))
    refuse(user, "it joins a repeated number or vector");
  seen.operand.along_columns = false;
  made.tiles = {seen};
  made.elements = 1;
  const std::vector<std::int64_t>& extents = type(value).shape;
  made.dimensions.resize(extents.size());
  for (std::size_t d = extents.size(); d-- > 0; made.elements *= extents[d])
    push(made.dimensions[d], {extents[d], made.elements});
  return made;
}

/// Extents of a tile as a vector or a matrix.
std::vector<std::int64_t> MeaningBuilder::form_shape(int value) const {
  std::vector<std::int64_t> shape;
  for (const std::int64_t extent : type(value).shape)
    if (extent != 1) shape.push_back(extent);
  while (shape.size() > 2) {
    shape[1] *= shape[0];
    shape.erase(shape.begin());
  }
  return shape;
}

/// In the loop a step of the user's node; else a value of its own.
int MeaningBuilder::place_of_step(int user, int value, meaning::Value step, Where where, int copy) {
  const auto same = [&](const meaning::Value& other) {
    return other.function == Function::rearranged && other.operands == step.operands &&
           other.shape == step.shape && other.part_of == step.part_of;
  };
  const auto place_in = [&](std::vector<meaning::Value>& list) {
    for (std::size_t k = 0; k < list.size(); ++k)
      if (same(list[k])) return static_cast<int>(k);
    step.id = unique(std::string(m_.value(value).name) + ".form");
    list.push_back(std::move(step));
    return static_cast<int>(list.size()) - 1;
  };
  if (where == Where::before) return place_in(before_);
  if (where == Where::after) return kAfter + place_in(after_);
  const auto stage = node_.find({user, copy, "stage"});
  const int made = stage != node_.end() ? stage->second : node(user, copy);
  if (made == kNone || absorbed_.behind.contains(user) || !in_loop(user))
    refuse(user, "who uses a reshaped tile is no op of the loop");
  for (const Chunk& chunk : k_.kernel.chunks)
    for (const std::size_t one : chunk.ops)
      if (one == at(made)) refuse(user, "a chunk uses a reshaped tile");
  step.part_of = k_.kernel.ops[at(made)].id;
  return kScalar + place_in(scalars_);
}

/// What an op sees through one that reshapes, or of a reduction of more than two dimensions.
MeaningBuilder::Seen MeaningBuilder::reshaped(int user, int value, Where where, int copy,
                                              int distance) {
  if (distance > 0) refuse(user, "it uses a reshaped tile that is carried");
  const int made = m_.value(value).op;
  if (in_loop(made) && in_branch_.contains(made)) refuse(user, "a branch reshapes a tile");
  Form of = form(user, value, where, copy, distance, 0);
  return seen_in_form(user, value, of, where, copy);
}

/// A tile of more than two dimensions with what is reduced as the columns of a matrix; the value
/// that reduces it is then a vector of its rows.
meaning::Operand MeaningBuilder::in_rows_of_form(int index, int tile, meaning::Value& value,
                                                 Where where, int copy) {
  const int axis = axis_of(m_, m_.op(index));
  Form of = form(index, tile, where, copy, 0, 0);
  if (axis < 0 || at(axis) >= of.dimensions.size()) refuse(index, "its axis is not read");
  std::vector<Digit> reduced = of.dimensions[at(axis)];
  if (reduced.empty()) refuse(index, "it reduces a dimension of one element");
  of.dimensions.erase(of.dimensions.begin() + axis);
  value.shape.clear();
  for (const auto& dimension : of.dimensions)
    if (!dimension.empty()) value.shape = {1};
  for (const auto& dimension : of.dimensions)
    if (!value.shape.empty()) value.shape[0] *= product_of(dimension);
  of.dimensions.push_back(std::move(reduced));
  const Seen seen = seen_in_form(index, tile, of, where, copy);
  if (seen.operand.value < 0 || (seen.vector && !value.shape.empty()))
    refuse(index, "it reduces a repeated vector");
  return seen.operand;
}

}  // namespace twill::ttgir
