// Clamps, maxima that keep what is no number, and numbers of integers without a sign and back: ops
// that are several functions, of which all but the last are steps (meaning_builder.hpp).
#include <utility>

#include "graph/index.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {

using meaning::Function;
using meaning::Operand;

namespace {

Operand known_number(double x) {
  Operand one;
  one.number = x;
  return one;
}

constexpr double kHalfWord = 65536, kSignBit = 2147483648.0;

}  // namespace

/// What is computed on the way to `of`, where that is.
Operand MeaningBuilder::step_to(int index, const meaning::Value& of, Where where, Function function,
                                const std::string& type, std::vector<Operand> operands) {
  meaning::Value step;
  step.id = unique(of.id + "." + std::string(name_of(function)));
  step.function = function;
  step.type = type;
  step.shape = of.shape;
  step.operands = std::move(operands);
  Operand made;
  if (where == Where::before) {
    before_.push_back(std::move(step));
    made.value = static_cast<int>(before_.size()) - 1;
  } else if (where == Where::after) {
    after_.push_back(std::move(step));
    made.value = kAfter + static_cast<int>(after_.size()) - 1;
  } else {
    if (absorbed_.into.contains(index)) refuse(index, "it has steps and is one of a reduction");
    // (Numbers that no op makes each slot makes for itself.)
    if (is_node(index) || !of.shape.empty()) step.part_of = of.id;
    scalars_.push_back(std::move(step));
    made.value = kScalar + static_cast<int>(scalars_.size()) - 1;
  }
  return made;
}

/// Is it one of those that are read here?
bool MeaningBuilder::converts(int index, meaning::Value& value, Where where, int copy,
                              int dimension) {
  const Operation& op = m_.op(index);
  const bool clamps = op.name == "tt.clampf", from_whole = op.name == "arith.uitofp";
  const bool to_whole = op.name == "arith.fptosi" || op.name == "arith.fptoui";
  const bool kept = op.name == "arith.maximumf" || op.name == "arith.minimumf";
  if ((!clamps && !from_whole && !to_whole && !kept) || op.results.size() != 1) return false;
  std::vector<Operand> in;
  for (const int operand : op.operands) {
    const int cut = where == Where::loop ? split_.of(operand) : dimension;
    in.push_back(beside(index, value, source(index, operand, where, copy, cut)));
  }
  const auto step = [&](Function function, const std::string& type, std::vector<Operand> of) {
    return step_to(index, value, where, function, type, std::move(of));
  };
  const auto last = [&](Function function, std::vector<Operand> of) {
    value.function = function;
    value.operands = std::move(of);
    return true;
  };
  if (in.size() != (clamps ? 3U : kept ? 2U : 1U)) return false;
  // What is no number is not itself, and stays. (The larger of it and a number is the number.)
  const auto no_number = [&](const Operand& one) {
    return step(Function::not_equal, "i32", {one, one});
  };
  if (kept) {
    const Function function = op.name == "arith.maximumf" ? Function::max : Function::min;
    const Operand of_both = step(function, value.type, {in[0], in[1]});
    const Operand second = step(Function::select, value.type, {no_number(in[1]), in[1], of_both});
    return last(Function::select, {no_number(in[0]), in[0], second});
  }
  if (clamps) {
    const std::string type = value.type;
    const Operand above = step(Function::max, type, {in[0], in[1]});
    const std::string_view text = std::string_view(*m_.text).substr(op.begin, op.end - op.begin);
    const std::size_t mode = text.find("propagateNan = ");
    if (mode == std::string_view::npos) refuse(index, "it is not known what it makes of a NaN");
    const std::string_view word = text.substr(mode + std::string_view("propagateNan = ").size());
    if (word.starts_with("none") || word.starts_with("0"))
      return last(Function::min, {above, in[2]});
    if (!word.starts_with("all") && !word.starts_with("65535"))
      refuse(index, "it is not known what it makes of a NaN");
    const Operand inside = step(Function::min, type, {above, in[2]});
    return last(Function::select, {no_number(in[0]), in[0], inside});
  }
  if (from_whole) {
    if (!is_integer(op.operands[0])) refuse(index, "it makes a number of no i8 or i32");
    if (is_flags(op.operands[0])) return last(Function::copy, std::move(in));
    if (type(op.operands[0]).element == "i8")
      return last(Function::copy, {step(Function::bit_and, "i32", {in[0], known_number(255)})});
    // In two halves, which are exact in f32: their sum is rounded once.
    if (value.type != "f32") refuse(index, "of i32 without a sign it makes another type than f32");
    const Operand upper = step(Function::shift_right_logical, "i32", {in[0], known_number(16)});
    const Operand lower = step(Function::bit_and, "i32", {in[0], known_number(kHalfWord - 1)});
    return last(Function::mul_add, {step(Function::copy, "f32", {upper}), known_number(kHalfWord),
                                    step(Function::copy, "f32", {lower})});
  }
  if (!is_integer(op.results[0]) || is_flags(op.results[0]))
    refuse(index, "it makes integers of another type than i8 and i32");
  if (op.name == "arith.fptosi")
    return last(Function::copy, {step(Function::toward_zero, "f32", {in[0]})});
  if (value.type != "i32") refuse(index, "without a sign it makes another type than i32");
  // What has the highest bit is made without it.
  const Operand large = step(Function::at_least, "i32", {in[0], known_number(kSignBit)});
  const Operand less = step(Function::sub, "f32", {in[0], known_number(kSignBit)});
  const Operand small = step(Function::select, "f32", {large, less, in[0]});
  const Operand whole = step(Function::toward_zero, "f32", {small});
  const Operand low = step(Function::copy, "i32", {whole});
  const Operand bit = step(Function::shift_left, "i32", {large, known_number(31)});
  return last(Function::bit_xor, {low, bit});
}

}  // namespace twill::ttgir
