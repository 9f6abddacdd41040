// Integers without a sign: comparisons, larger and smaller ones, divisions by numbers
// (meaning_builder.hpp).
//
// The functions of the meaning have a sign. With its highest bit turned an integer without one is
// in the same order as an integer with one: both halves change places.
#include <cmath>
#include <utility>

#include "graph/index.hpp"
#include "graph/ttgir/comparison.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {

using meaning::Function;
using meaning::Operand;

namespace {

constexpr double kLeastWord = -2147483648.0;

Operand word_of(double x) {
  Operand one;
  one.number = x;
  return one;
}

bool is_plain_number(const Operand& one) {
  return one.value < 0 && one.constant.empty();
}

}  // namespace

/// With its highest bit turned: a step, or another number.
Operand MeaningBuilder::in_signed_order(int index, const meaning::Value& value, Where where,
                                        const Operand& of) {
  if (!is_plain_number(of))
    return step_to(index, value, where, Function::bit_xor, "i32", {of, word_of(kLeastWord)});
  return word_of(of.number < 0 ? of.number - kLeastWord : of.number + kLeastWord);
}

/// Of one of these ops; false = it is none.
bool MeaningBuilder::without_sign(int index, meaning::Value& value, Where where, int copy,
                                  int dimension) {
  const Operation& op = m_.op(index);
  const bool compares = op.name == "arith.cmpi" && unsigned_predicate(m_, op);
  const bool larger = op.name == "arith.maxui", smaller = op.name == "arith.minui";
  const bool divides = op.name == "arith.divui", rests = op.name == "arith.remui";
  if ((!compares && !larger && !smaller && !divides && !rests) || op.operands.size() != 2 ||
      op.results.size() != 1)
    return false;
  const Type* const from = m_.type_of(op.operands[0]);
  if (from == nullptr || from->is_pointer()) return false;
  const std::string& element = from->element;
  const bool narrow = element == "i8";
  if (element != "i32" && !(narrow && compares))
    refuse(index, "without a sign it works on another type than i32");
  std::vector<Operand> in;
  for (const int operand : op.operands) {
    const int cut = where == Where::loop ? split_.of(operand) : dimension;
    in.push_back(beside(index, value, source(index, operand, where, copy, cut)));
  }
  const auto step = [&](Function function, std::vector<Operand> of) {
    return step_to(index, value, where, function, "i32", std::move(of));
  };
  const auto last = [&](Function function, std::vector<Operand> of) {
    value.function = function;
    value.operands = std::move(of);
    return true;
  };
  const auto ordered = [&](const Operand& one) {
    return narrow ? step(Function::bit_and, {one, word_of(255)})
                  : in_signed_order(index, value, where, one);
  };
  if (compares) {
    const std::int64_t how = *unsigned_predicate(m_, op);
    const bool turned = how == kSignedLess || how == kSignedAtMost;
    const bool strict = how == kSignedLess || how == kSignedMore;
    const Operand a = ordered(in[turned ? 1 : 0]);
    return last(strict ? Function::greater : Function::at_least, {a, ordered(in[turned ? 0 : 1])});
  }
  if (larger || smaller) {
    const Operand a = ordered(in[0]);
    const Operand kept = step(larger ? Function::max : Function::min, {a, ordered(in[1])});
    return last(Function::bit_xor, {kept, word_of(kLeastWord)});
  }
  const double by = in[1].number;
  if (!is_plain_number(in[1]) || !(by >= 1) || by != std::floor(by) || is_plain_number(in[0]))
    refuse(index, "without a sign it divides by what is no number from 1 to 2147483647");
  const int bits = std::ilogb(by);
  if (std::ldexp(1.0, bits) == by)
    return divides ? last(Function::shift_right_logical, {in[0], word_of(bits)})
                   : last(Function::bit_and, {in[0], word_of(by - 1)});
  // Half of it has no sign: twice the quotient of that is the quotient, or one less.
  const Operand half = step(Function::shift_right_logical, {in[0], word_of(1)});
  const Operand quotient = step(Function::int_div, {half, in[1]});
  const Operand twice = step(Function::shift_left, {quotient, word_of(1)});
  const Operand taken = step(Function::int_mul, {twice, in[1]});
  const Operand rest = step(Function::int_sub, {in[0], taken});
  const Operand goes_again = step(
      Function::at_least,
      {in_signed_order(index, value, where, rest), in_signed_order(index, value, where, in[1])});
  if (divides) return last(Function::int_add, {twice, goes_again});
  return last(Function::int_sub, {rest, step(Function::int_mul, {goes_again, in[1]})});
}

/// The largest or smallest of rows of integers without a sign.
void MeaningBuilder::reduce_without_sign(int index, int tile, meaning::Value& value, Where where,
                                         int copy, int dimension) {
  const bool most = value.function == Function::row_max;
  const int cut = where == Where::loop ? split_.of(tile) : dimension;
  if (type(tile).element != "i32" || type(tile).shape.size() > 2 || dimension >= 0 || cut >= 0)
    refuse(index, "without a sign it reduces another tile than one of i32, as a whole");
  Operand rows = in_rows(index, tile, value, where, copy, dimension);
  const bool turned = std::exchange(rows.transposed, false);
  meaning::Value whole = value;
  whole.shape = shape(index, tile, -1);
  if (rows.is_part() || whole.shape.size() != type(tile).shape.size())
    refuse(index, "without a sign it reduces a part of a tile");
  Operand ordered = in_signed_order(index, whole, where, rows);
  ordered.transposed = turned;
  const Operand kept =
      step_to(index, value, where, most ? Function::row_max : Function::row_min, "i32", {ordered});
  value.function = Function::bit_xor;
  value.operands = {kept, word_of(kLeastWord)};
}

}  // namespace twill::ttgir
