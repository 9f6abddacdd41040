// Masks: of a matrix what is above a diagonal (meaning_builder.hpp).
#include <algorithm>
#include <cmath>

#include "graph/index.hpp"
#include "graph/ttgir/comparison.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {

using meaning::Function;
using meaning::Index;
using meaning::Operand;

namespace {

Index minus(Index a, Index b) {
  return Index::make(Index::sub, std::move(a), std::move(b));
}

/// What is at least 0 where the comparison a ? b holds.
std::optional<Index> at_least_zero(std::int64_t predicate, const Index& a, const Index& b) {
  switch (predicate) {
    case kSignedAtLeast: return minus(a, b);
    case kSignedMore: return minus(minus(a, b), Index::whole(1));
    case kSignedAtMost: return minus(b, a);
    case kSignedLess: return minus(minus(b, a), Index::whole(1));
    default: return std::nullopt;
  }
}

std::int64_t opposite(std::int64_t predicate) {
  switch (predicate) {
    case kSignedAtLeast: return kSignedLess;
    case kSignedMore: return kSignedAtMost;
    case kSignedAtMost: return kSignedMore;
    case kSignedLess: return kSignedAtLeast;
    default: return kEqual;
  }
}

}  // namespace

std::optional<Index> MeaningBuilder::triangle(int value, int copy, int dimension) const {
  const int made = m_.value(value).op;
  if (made == kNone || m_.op(made).name != "arith.cmpi" || m_.op(made).operands.size() != 2)
    return std::nullopt;
  const Operation& op = m_.op(made);
  const auto how = predicate(m_, op);
  const auto a = indices_.tile(op.operands[0]), b = indices_.tile(op.operands[1]);
  const Type* t = m_.type_of(value);
  if (!how || !a || !b || t == nullptr || t->shape.size() != 2) return std::nullopt;
  // row_factor r + column_factor c + rest >= 0.
  const bool first = *how == kSignedAtLeast || *how == kSignedMore;
  const std::int64_t row = first ? a->row - b->row : b->row - a->row;
  const std::int64_t column = first ? a->column - b->column : b->column - a->column;
  auto rest = at_least_zero(*how, a->begin, b->begin);
  if (!rest || row != 1 || column != -1 || dimension == 1) return std::nullopt;
  if (dimension == 0)
    rest = Index::make(Index::add, *rest, Index::whole(copy * (t->shape[0] / split_.factor)));
  return rest;
}

bool MeaningBuilder::mask(int index, meaning::Value& value, Where where, int copy, int dimension) {
  return apply_triangle(index, index, value, where, copy, dimension, nullptr);
}

/// select(c <= r + rest, x, -inf or 0). `least`: the selection is in a branch that is left out only
/// where this is at least 0, so it must then select all.
bool MeaningBuilder::apply_triangle(int user, int select, meaning::Value& value, Where where,
                                    int copy, int dimension, const Index* least) {
  const Operation& op = m_.op(select);
  if (op.operands.size() != 3 || value.shape.size() != 2) return false;
  const auto rest = triangle(op.operands[0], copy, dimension);
  if (!rest) return false;
  const Seen other = source(user, op.operands[2], where, copy, dimension);
  if (other.operand.value >= 0 || !other.operand.constant.empty()) return false;
  const Seen kept = source(user, op.operands[1], where, copy, dimension);
  if (kept.operand.value < 0 || kept.vector) return false;
  const std::int64_t columns = value.shape[1];
  const meaning::Sum sum = sum_of(*rest);
  const auto step = sum.per_iteration();
  if (!step) return false;
  if (least != nullptr) {
    // All of row 0 is kept: rest - (columns - 1) is at least `least`.
    const meaning::Sum over =
        difference(sum_of(minus(*rest, Index::whole(columns - 1))), sum_of(*least));
    if (!over.terms.empty() || over.rest < 0) return false;
  }
  value.operands = {kept.operand};
  if (other.operand.number == 0 && sum.terms.empty() && sum.rest == 0) {
    value.function = Function::lower;
    return true;
  }
  if (!(other.operand.number < 0) || !std::isinf(other.operand.number) || where != Where::loop)
    return false;
  // i columns + c <= first + r.
  if (*step != -columns) return false;
  value.function = Function::causal;
  Operand group;
  group.number = 1;
  value.operands.push_back(first_place(user, *rest));
  value.operands.push_back(group);
  return true;
}

/// if (condition) yield select(triangle, x, -inf) else yield x, where without the condition the
/// selection is all of x.
bool MeaningBuilder::masked_branch(int index, meaning::Value& value, int copy, int dimension) {
  const Operation& op = m_.op(index);
  if (op.results.size() != 1 || op.regions.size() != 2 || op.operands.size() != 1) return false;
  const int condition = m_.value(op.operands[0]).op;
  if (condition == kNone || m_.op(condition).name != "arith.cmpi") return false;
  const Operation& compares = m_.op(condition);
  const auto how = predicate(m_, compares);
  const auto a = indices_.of(compares.operands[0]), b = indices_.of(compares.operands[1]);
  if (!how || !a || !b) return false;
  const auto otherwise = at_least_zero(opposite(*how), *a, *b);
  if (!otherwise) return false;
  int yielded[2] = {kNone, kNone};
  for (int k = 0; k < 2; ++k) {
    const auto& blocks = m_.regions[at(op.regions[at(k)])].blocks;
    if (blocks.size() != 1 || m_.block(blocks[0]).ops.empty()) return false;
    const Operation& yield = m_.op(m_.block(blocks[0]).ops.back());
    if (yield.name != "scf.yield" || yield.operands.size() != 1) return false;
    yielded[k] = yield.operands[0];
    for (const int inner : m_.block(blocks[0]).ops) {
      const OpClass c = class_of(m_.op(inner));
      if (c == OpClass::store || c == OpClass::local_store || c == OpClass::tmem_store ||
          c == OpClass::mma || c == OpClass::copy)
        return false;
    }
  }
  const int select = m_.value(yielded[0]).op;
  if (select == kNone || m_.op(select).name != "arith.select" ||
      m_.op(select).operands.size() != 3 || m_.op(select).operands[1] != yielded[1])
    return false;
  value.type = type_name(index, op.results[0]);
  value.shape = shape(index, op.results[0], dimension);
  return apply_triangle(index, select, value, Where::loop, copy, dimension, &*otherwise);
}

}  // namespace twill::ttgir
