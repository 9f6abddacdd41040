// Masks that compare places with a limit, and the places themselves (meaning_builder.hpp).
//
// An integer tile that is linear in row and column is not memory but a rule: every thread knows it
// from its own place. A comparison of two is a half-plane (graph/meaning/bounds.hpp), and a mask is
// the elements that are in all of some half-planes.
#include <algorithm>
#include <cmath>

#include "graph/index.hpp"
#include "graph/meaning/bounds.hpp"
#include "graph/meaning/integers.hpp"
#include "graph/ttgir/comparison.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/converted_constant.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {

using meaning::Function;
using meaning::Index;
using meaning::Operand;

namespace {

constexpr int kMostMaskSteps = 64;

/// Does it change by the same number in every iteration, if at all?
bool grows_evenly(const Index& index) {
  return sum_of(index).per_iteration() || step_of(index);
}

/// Does one of these half-planes not move so?
bool one_jumps(const auto& planes) {
  return std::any_of(planes.begin(), planes.end(),
                     [](const auto& one) { return !grows_evenly(one.rest); });
}

}  // namespace

/// A tile of places as real numbers, or a whole number of those that f32 has all of: then places
/// compare with it as integers do, whatever is rounded.
std::optional<IndexValues::Affine> MeaningBuilder::real_places(int value) const {
  constexpr double kMostWhole = 1 << 24;
  const int made = m_.value(value).op;
  if (made == kNone || type(value).element != "f32") return std::nullopt;
  const Operation& op = m_.op(made);
  if (op.name == "arith.sitofp") return indices_.tile(op.operands[0]);
  if (op.name != "arith.constant") return std::nullopt;
  const double x = constant(made, value).operand.number;
  if (!(std::abs(x) <= kMostWhole) || x != std::floor(x)) return std::nullopt;
  return IndexValues::Affine{0, 0, Index::whole(static_cast<std::int64_t>(x))};
}

/// Of a comparison of integers, numbers or tiles; of places as real numbers with a constant.
std::optional<std::vector<MeaningBuilder::HalfPlane>> MeaningBuilder::comparison(
    const Operation& op) const {
  const bool real = op.name == "arith.cmpf";
  const auto how = real ? real_predicate(m_, op) : predicate(m_, op);
  if (!how || op.operands.size() != 2) return std::nullopt;
  const auto is_constant = [&](int value) {
    return m_.value(value).op != kNone && m_.op(m_.value(value).op).name == "arith.constant";
  };
  if (real && !is_constant(op.operands[0]) && !is_constant(op.operands[1])) return std::nullopt;
  std::optional<IndexValues::Affine> side[2];
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    if (real)
      side[k] = real_places(op.operands[k]);
    else if (is_tile(op.operands[k], TypeKind::tensor))
      side[k] = indices_.tile(op.operands[k]);
    else if (const auto number = indices_.of(op.operands[k]))
      side[k] = IndexValues::Affine{0, 0, *number};
    if (!side[k]) return std::nullopt;
  }
  const auto at_least = [&](const IndexValues::Affine& a, const IndexValues::Affine& b,
                            std::int64_t less) {
    return HalfPlane{
        a.row - b.row, a.column - b.column,
        Index::make(Index::sub, Index::make(Index::sub, a.begin, b.begin), Index::whole(less))};
  };
  const IndexValues::Affine &a = *side[0], &b = *side[1];
  switch (*how) {
    case kEqual: return std::vector{at_least(a, b, 0), at_least(b, a, 0)};
    case kSignedAtLeast: return std::vector{at_least(a, b, 0)};
    case kSignedMore: return std::vector{at_least(a, b, 1)};
    case kSignedAtMost: return std::vector{at_least(b, a, 0)};
    case kSignedLess: return std::vector{at_least(b, a, 1)};
    case kUnequal: {
      // Of two numbers that no iteration and no place changes: where 1 or 0 is at least 1.
      if (real || a.row != b.row || a.column != b.column || depends_on(a.begin, Index::iteration) ||
          depends_on(b.begin, Index::iteration))
        return std::nullopt;
      const auto differ = meaning::compared({a.begin, meaning::IndexComparison::unequal, b.begin});
      return std::vector{HalfPlane{0, 0, Index::make(Index::sub, differ, Index::whole(1))}};
    }
    default: return std::nullopt;
  }
}

/// The half-planes whose common elements a mask lets through; nullopt = it is no such mask. Rows
/// and columns are those of dimensions 0 and 1 of its type.
std::optional<std::vector<MeaningBuilder::HalfPlane>> MeaningBuilder::half_planes(int value,
                                                                                  int depth) const {
  const Value& v = m_.value(value);
  const Type* t = m_.type_of(value);
  if (depth > kMostMaskSteps || v.op == kNone || t == nullptr || t->element != "i1" ||
      t->shape.size() > 2)
    return std::nullopt;
  const Operation& op = m_.op(v.op);
  if (op.name == "arith.constant") {
    std::string_view text = op.literal;
    if (text.starts_with("dense<") && text.ends_with('>')) text = text.substr(6, text.size() - 7);
    if (text == "true") return std::vector<HalfPlane>{};
    if (text == "false") return std::vector{HalfPlane{0, 0, Index::whole(-1)}};
    return std::nullopt;
  }
  if (op.name == "arith.cmpi" || op.name == "arith.cmpf") return comparison(op);
  if (op.operands.empty()) return std::nullopt;
  auto all = half_planes(op.operands[0], depth + 1);
  if (!all) return std::nullopt;
  if (op.name == "tt.splat" || op.name == "tt.broadcast" || op.name == "ttg.convert_layout")
    return all;
  if (op.name == "tt.trans" && is_transposition(m_.attribute(op, "order"))) {
    for (HalfPlane& one : *all) std::swap(one.row, one.column);
    return all;
  }
  if (op.name == "tt.expand_dims") {
    if (type(op.operands[0]).shape.size() != 1) return std::nullopt;
    if (axis_of(m_, op) == 0)
      for (HalfPlane& one : *all) std::swap(one.row, one.column);
    return all;
  }
  if (op.name != "arith.andi" || op.operands.size() != 2) return std::nullopt;
  const auto others = half_planes(op.operands[1], depth + 1);
  if (!others) return std::nullopt;
  for (const HalfPlane& one : *others)
    if (static_cast<int>(all->size()) < meaning::kMostBounds + 1) all->push_back(one);
  return all;
}

/// Four operands: what `of` is by row, by column, by iteration and at the beginning, of part
/// `copy`.
void MeaningBuilder::add_places(int op, HalfPlane of, const Type& type, meaning::Value& value,
                                Where where, int copy, int dimension) {
  // Of a tile with extents of 1 the others' places are left, in their order.
  std::vector<std::int64_t> by;
  const std::int64_t factors[2] = {of.row, of.column};
  for (std::size_t d = 0; d < type.shape.size(); ++d) {
    std::int64_t extent = type.shape[d];
    if (static_cast<int>(d) == dimension) {
      extent /= split_.factor;
      of.rest = Index::make(Index::add, of.rest, Index::whole(factors[d] * copy * extent));
    }
    if (extent != 1) by.push_back(factors[d]);
  }
  by.resize(2, 0);
  const auto number = sum_of(of.rest).per_iteration();
  const auto step = number ? Index::whole(*number) : step_of(of.rest);
  if (!step || (where != Where::loop && depends_on(of.rest, Index::iteration)))
    refuse(op, "its places do not change by the same number in every iteration");
  for (const std::int64_t factor : {by[0], by[1]}) {
    Operand one;
    one.number = static_cast<double>(factor);
    value.operands.push_back(one);
  }
  value.operands.push_back(first_place(op, *step));
  value.operands.push_back(first_place(op, of.rest));
  for (std::size_t k = value.operands.size() - meaning::kBoundNumbers; k < value.operands.size();
       ++k)
    if (!(std::abs(value.operands[k].number) <= meaning::kLargestBound))
      refuse(op, "its places are numbers that are too large");
}

/// Places are integers of 32 bits: the numbers that they are made of, modulo 2^32. (What a hash
/// multiplies by is a large one.)
void MeaningBuilder::wrap_places(meaning::Value& places) {
  for (Operand& one : places.operands)
    if (one.constant.empty())
      one.number = static_cast<double>(meaning::wrapped(static_cast<std::int64_t>(one.number), 32));
}

/// Appends the bounds that a mask stands for. false = it is no mask of places.
bool MeaningBuilder::add_bounds(int op, int mask, meaning::Value& value, Where where, int copy,
                                int dimension) {
  const auto all = half_planes(mask);
  if (!all || static_cast<int>(all->size()) > meaning::kMostBounds) return false;
  for (const HalfPlane& one : *all) add_places(op, one, type(mask), value, where, copy, dimension);
  return true;
}

/// select(a mask of places, a, b).
bool MeaningBuilder::selection(int index, meaning::Value& value, Where where, int copy,
                               int dimension) {
  const Operation& op = m_.op(index);
  if (op.operands.size() != 3 || value.shape.empty() || !is_tile(op.operands[0], TypeKind::tensor))
    return false;
  const auto planes = half_planes(op.operands[0]);
  if (!planes || (where == Where::loop && one_jumps(*planes))) return false;
  value.function = Function::within;
  value.operands.clear();
  for (const std::size_t k : {std::size_t{1}, std::size_t{2}}) {
    const int cut = where == Where::loop ? split_.of(op.operands[k]) : dimension;
    value.operands.push_back(beside(index, value, source(index, op.operands[k], where, copy, cut)));
  }
  if (!add_bounds(index, op.operands[0], value, where, copy, dimension)) return false;
  // (A mask that lets everything through has no bounds.)
  if (static_cast<int>(value.operands.size()) == meaning::first_bound(Function::within)) {
    value.function = Function::copy;
    value.operands.pop_back();
  }
  return true;
}

/// An op that makes a tile of places, or a mask of them: 1 where it lets an element through, else
/// 0.
bool MeaningBuilder::places(int index, meaning::Value& value, Where where, int copy,
                            int dimension) {
  const Operation& op = m_.op(index);
  if (op.results.size() != 1 || !is_tile(op.results[0], TypeKind::tensor) ||
      !type(op.results[0]).element.starts_with('i') || type(op.results[0]).shape.size() > 2)
    return false;
  const int result = op.results[0];
  value.type = "i32";
  value.shape = shape(index, result, dimension);
  if (value.shape.empty()) return false;
  // (What does not grow by a number in every iteration is computed, like data.)
  if (type(result).element == "i1") {
    const auto planes = half_planes(result);
    if (where == Where::loop && planes && one_jumps(*planes)) return false;
    Operand kept, masked;
    kept.number = 1;
    value.function = Function::within;
    value.operands = {kept, masked};
    if (!add_bounds(index, result, value, where, copy, dimension)) return false;
    if (value.operands.size() > 2) return true;
    value.function = Function::copy;
    return false;  // a constant: nobody computes it
  }
  const auto of = indices_.tile(result);
  if (!of || (where == Where::loop && !grows_evenly(of->begin))) return false;
  value.function = Function::places;
  add_places(index, {of->row, of->column, of->begin}, type(result), value, where, copy, dimension);
  wrap_places(value);
  return true;
}

/// The mask of a load or a store, and what a load leaves where it is false; kNone each where it has
/// none.
std::pair<int, int> MeaningBuilder::mask_of(const Operation& op) const {
  int mask = kNone, behind = kNone;
  for (std::size_t k = 1; k < op.operands.size(); ++k) {
    if (mask != kNone && behind == kNone) behind = op.operands[k];
    const Type* t = m_.type_of(op.operands[k]);
    if (mask == kNone && t != nullptr && t->element == "i1" && !t->is_pointer() &&
        (t->kind == TypeKind::tensor || t->kind == TypeKind::scalar))
      mask = op.operands[k];
  }
  return {mask, behind};
}

/// The mask of a load or store, and what a load makes of elements that it does not let through.
/// false = which elements the mask lets through is no rule of places. The tile of a load is then
/// what it brings, mask and all, and that of a store what it is given: the mask is a part of where.
bool MeaningBuilder::masked_move(int index, meaning::Value& value, Where where, int copy,
                                 int dimension) {
  const Operation& op = m_.op(index);
  const int mask = mask_of(op).first, behind = mask_of(op).second;
  if (mask == kNone) return true;
  const auto bounded = [&] {
    const bool number = value.shape.empty() && value.function == Function::store;
    if (!is_tile(mask, TypeKind::tensor) && !number)
      refuse(index, "whether it moves a tile is known at run time alone");
    const auto all = half_planes(mask);
    if (!all)
      refuse(index, "it moves what a mask lets it: which elements is known at run time alone");
    if (all->empty()) return;
    if (value.function == Function::load) {
      if (op.name != "tt.load") refuse(index, "it is not known what its mask leaves");
      // (Where nothing is said, anything is right: 0.)
      Operand other;
      if (const auto known = behind == kNone ? std::nullopt : converted_constant(m_, behind))
        other.number = known->of(constant(index, known->value).operand.number);
      else if (behind != kNone)
        other = source(index, behind, where, copy, dimension).operand;
      if (other.value >= 0 || !other.constant.empty())
        refuse(index, "what it loads where its mask is false is no number");
      value.operands = {other};
    }
    if (!add_bounds(index, mask, value, where, copy, dimension))
      refuse(index, "its mask has too many conditions");
  };
  const bool whole = value.function == Function::load
                         ? op.name == "tt.load"
                         : op.name == "tt.store" || op.name == "tt.atomic_rmw";
  if (!whole) {
    bounded();
    return true;
  }
  const std::vector<Operand> given = value.operands;
  if (tried(bounded)) return true;
  value.operands = given;
  return false;
}

/// The mask of a store that is data, made of what is computed: a flag for each element, an operand
/// of its own. false = comparisons that a place can have say which elements it lets through
/// (masked_place()), or nothing does.
bool MeaningBuilder::flagged_move(int index, meaning::Value& value, Where where, int copy,
                                  int dimension) {
  const Operation& op = m_.op(index);
  const int mask = mask_of(op).first;
  if (mask == kNone || !is_tile(mask, TypeKind::tensor) || value.shape.empty() ||
      (op.name != "tt.store" && op.name != "tt.atomic_rmw") || value.operands.size() != 1 ||
      masked_place(index, copy, dimension, value.shape).parameter >= 0)
    return false;
  const std::vector<Operand> given = value.operands;
  const bool read = tried([&] {
    const int cut = where == Where::loop ? split_.of(mask) : dimension;
    const Operand flag = beside(index, value, source(index, mask, where, copy, cut));
    if (flag.value < 0) refuse(index, "its mask is one number");
    value.operands.push_back(flag);
  });
  if (!read) value.operands = given;
  return read;
}

}  // namespace twill::ttgir
