// Integers and flags that are worked on as data: nibbles, random numbers, what a comparison of
// data says (meaning_builder.hpp). Flags (i1) are integers of 32 bits here, 1 or 0.
#include <algorithm>
#include <iterator>

#include "graph/index.hpp"
#include "graph/meaning/integers.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/ttgir/comparison.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/meaning_builder.hpp"
#include "graph/ttgir/words.hpp"

namespace twill::ttgir {

using meaning::Function;
using meaning::Index;
using meaning::Operand;

namespace {

struct IntegerOp {
  std::string_view name;
  Function function;
};
constexpr double kLeastScale = 120;  // of seeded inputs: from 2^-7 to 1
constexpr IntegerOp kIntegerOps[] = {
    {"arith.addi", Function::int_add},      {"arith.subi", Function::int_sub},
    {"arith.muli", Function::int_mul},      {"arith.divsi", Function::int_div},
    {"arith.remsi", Function::int_rem},     {"tt.mulhiui", Function::mul_high},
    {"arith.andi", Function::bit_and},      {"arith.ori", Function::bit_or},
    {"arith.xori", Function::bit_xor},      {"arith.shli", Function::shift_left},
    {"arith.shrsi", Function::shift_right}, {"arith.shrui", Function::shift_right_logical},
    {"arith.maxsi", Function::max},         {"arith.minsi", Function::min}};

/// Of flags, what is the same of 1 and 0 as numbers.
bool is_of_flags(Function function) {
  return function == Function::bit_and || function == Function::bit_or ||
         function == Function::bit_xor;
}

Operand whole_number(double x) {
  Operand one;
  one.number = x;
  return one;
}

}  // namespace

bool MeaningBuilder::is_flags(int value) const {
  const Type* t = m_.type_of(value);
  return t != nullptr && t->element == "i1" && !t->is_pointer() &&
         (t->kind == TypeKind::tensor || t->kind == TypeKind::scalar);
}

/// Is it made of integers that have arithmetic here: flags, i8, i32?
bool MeaningBuilder::is_integer(int value) const {
  const Type* t = m_.type_of(value);
  return t != nullptr && !t->is_pointer() &&
         (t->kind == TypeKind::tensor || t->kind == TypeKind::scalar) &&
         (t->element == "i1" || t->element == "i8" || t->element == "i32");
}

/// Of an op on integers, or one that makes some; false = it is none that is known.
bool MeaningBuilder::integers(int index, meaning::Value& value, Where where, int copy,
                              int dimension) {
  const Operation& op = m_.op(index);
  const auto read = [&](int operand) {
    const int cut = where == Where::loop ? split_.of(operand) : dimension;
    value.operands.push_back(beside(index, value, source(index, operand, where, copy, cut)));
  };
  if (op.results.size() != 1 || op.operands.empty()) return false;
  if (without_sign(index, value, where, copy, dimension)) return true;
  const bool flags = is_flags(op.operands[0]), to_flags = is_flags(op.results[0]);
  if (op.name == "arith.cmpi" || op.name == "arith.cmpf") {
    const bool real = op.name == "arith.cmpf";
    const auto how = real ? real_predicate(m_, op) : predicate(m_, op);
    if (op.operands.size() != 2 || !how || (!real && !is_integer(op.operands[0])))
      refuse(index, "its comparison is not read");
    if (flags && *how != kEqual && *how != kUnequal)
      refuse(index, "of flags only equality is read");
    const bool turned = *how == kSignedLess || *how == kSignedAtMost;
    value.function = *how == kEqual                               ? Function::equal
                     : *how == kUnequal                           ? Function::not_equal
                     : *how == kSignedMore || *how == kSignedLess ? Function::greater
                                                                  : Function::at_least;
    read(op.operands[turned ? 1 : 0]);
    read(op.operands[turned ? 0 : 1]);
    return true;
  }
  if (const auto word = word_left(m_, index); word && word->sign) {
    value.function = Function::shift_right;
    read(word->value);
    value.operands.push_back(whole_number(31));
    return true;
  }
  if (!is_integer(op.operands[0]) || !is_integer(op.results[0])) return false;
  if (op.name == "arith.extsi" || op.name == "arith.extui" || op.name == "arith.trunci") {
    if (to_flags && flags) return false;
    if (op.name == "arith.extsi" && flags) {  // 1 becomes -1
      value.function = Function::int_sub;
      value.operands.push_back(whole_number(0));
      read(op.operands[0]);
      return true;
    }
    read(op.operands[0]);
    value.function = Function::copy;
    // (Flags are words of 32 bits; as a byte one is cut out of them.)
    const bool byte = flags && type(op.results[0]).element == "i8";
    if (op.name == "arith.extsi" || (flags && !byte)) return true;
    // The bits that there are, without a sign; those that are left.
    value.function = Function::bit_and;
    value.operands.push_back(whole_number(to_flags || byte            ? 1
                                          : op.name == "arith.trunci" ? -1
                                                                      : 255));
    return true;
  }
  const auto* found = std::find_if(std::begin(kIntegerOps), std::end(kIntegerOps),
                                   [&](const IntegerOp& one) { return one.name == op.name; });
  if (found == std::end(kIntegerOps) || op.operands.size() != 2) return false;
  if (flags && !is_of_flags(found->function)) return false;
  if (found->function == Function::mul_high && type(op.results[0]).element != "i32") return false;
  value.function = found->function;
  for (const int operand : op.operands) read(operand);
  return true;
}

/// The number that a scalar of 32 bits is, whose ops have constants alone (the key of tl.rand,
/// where the seed is one).
std::optional<std::int64_t> MeaningBuilder::known_integer(int value, int depth) {
  constexpr int kMostOps = 64, kBits = 32;
  if (!is_tile(value, TypeKind::scalar) || type(value).element != "i32") return std::nullopt;
  if (const auto constant = constant_integer(m_, value)) return meaning::wrapped(*constant, kBits);
  const int made = m_.value(value).op;
  if (made == kNone || depth >= kMostOps) return std::nullopt;
  if (const auto word = word_left(m_, made); word && word->value == kNone) return word->number;
  if (m_.op(made).operands.size() != 2) return std::nullopt;
  if (const auto known = known_integers_.find(value); known != known_integers_.end())
    return known->second;
  const Operation& op = m_.op(made);
  const auto* found = std::find_if(std::begin(kIntegerOps), std::end(kIntegerOps),
                                   [&](const IntegerOp& one) { return one.name == op.name; });
  std::optional<std::int64_t> result;
  if (found != std::end(kIntegerOps)) {
    const auto a = known_integer(op.operands[0], depth + 1);
    const auto b = a ? known_integer(op.operands[1], depth + 1) : std::nullopt;
    if (b) result = meaning::of_integers(found->function, *a, *b, kBits);
  }
  return known_integers_[value] = result;
}

/// select(a flag of data, a, b).
void MeaningBuilder::choice(int index, meaning::Value& value, Where where, int copy,
                            int dimension) {
  const Operation& op = m_.op(index);
  if (op.operands.size() != 3 || !is_flags(op.operands[0]))
    refuse(index, "it is not known what it selects by");
  value.function = Function::select;
  value.operands.clear();
  for (const int operand : op.operands) {
    const int cut = where == Where::loop ? split_.of(operand) : dimension;
    value.operands.push_back(beside(index, value, source(index, operand, where, copy, cut)));
  }
}

/// tt.histogram: how many elements of a vector are 0, 1, ...
void MeaningBuilder::histogram(int index, meaning::Value& value, Where where, int copy,
                               int dimension) {
  const Operation& op = m_.op(index);
  if (op.operands.size() != 1) refuse(index, "what it counts under a mask is not read");
  const int tile = op.operands[0];
  if (!is_integer(tile) || is_flags(tile) || type(tile).shape.size() != 1 ||
      value.shape.size() != 1 || value.type != "i32")
    refuse(index, "it does not count a vector of i32 or i8");
  if ((where == Where::loop ? split_.of(tile) : dimension) >= 0)
    refuse(index, "it counts sub-tiles");
  const Seen seen = source(index, tile, where, copy, -1);
  if (!seen.vector || seen.operand.value < 0) refuse(index, "it counts a repeated number");
  value.function = Function::histogram;
  value.operands = {seen.operand};
}

/// An integer of the launch and of the iteration, as a number that each slot makes for itself.
MeaningBuilder::Seen MeaningBuilder::place_number(int user, int value, const Index& index,
                                                  Where where, int distance) {
  Seen seen;
  if (!meaning::depends_on(index, Index::iteration)) {
    seen.operand = first_place(user, index);
    return seen;
  }
  if (where != Where::loop) refuse(user, "it uses a number that the loop's iteration decides");
  const auto known = place_at_.find(value);
  if (known == place_at_.end()) {
    meaning::Value number;
    number.id = unique(std::string(m_.value(value).name));
    number.type = "i32";
    number.function = Function::places;
    add_places(user, {0, 0, index}, type(value), number, where, 0, -1);
    wrap_places(number);
    place_at_[value] = static_cast<int>(scalars_.size());
    scalars_.push_back(std::move(number));
  }
  seen.operand.value = kScalar + place_at_.at(value);
  seen.operand.distance = distance;
  return seen;
}

/// Of tensors of integers, what lies there: where bits are taken apart any number, of what is
/// counted as many as there are places.
void MeaningBuilder::set_ranges(meaning::Meaning& m) {
  for (meaning::Value& value : m.values) {
    const bool counts = value.function == Function::histogram;
    const bool scales = value.function == Function::scaled;
    if (!counts && !scales && !meaning::is_of_integers(value.function)) continue;
    for (const Operand& one : value.operands) {
      // (Through what only moves it.)
      int from = one.value;
      while (from >= 0 && m.values[at(from)].function == Function::copy)
        from = m.values[at(from)].operands[0].value;
      if (from < 0 || m.values[at(from)].function != Function::load) continue;
      meaning::Tensor& tensor = m.tensors[at(m.values[at(from)].tensor)];
      const auto* type = meaning::number_type(tensor.type);
      if (type == nullptr || type->precision != 0) continue;
      tensor.low = counts ? 0 : scales ? kLeastScale : -type->largest - 1;
      tensor.high = counts ? static_cast<double>(value.shape[0] - 1) : type->largest;
    }
  }
}

}  // namespace twill::ttgir
