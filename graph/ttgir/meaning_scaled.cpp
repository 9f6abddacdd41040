// Products with scales of their own (meaning_builder.hpp): each of 32 neighbours along K has one.
#include "graph/index.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {

using meaning::Function;
using meaning::Operand;

namespace {

/// What an op's text says behind `key`, up to the next blank.
std::string_view word_behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + key.size());
  return rest.substr(0, rest.find(' '));
}

}  // namespace

/// A factor times its scales: a step of the product. Those of a right one, K x N, are N x K / 32.
Operand MeaningBuilder::scaled_factor(int index, const std::string& product, bool right, int scales,
                                      Operand factor, Where where) {
  const Operation& op = m_.op(index);
  if (split_.factor != 1 || where != Where::loop)
    refuse(index, "with scales it is read in the loop alone, as a whole");
  const std::string_view text = std::string_view(*m_.text).substr(op.begin, op.end - op.begin);
  const std::string_view format = word_behind(text, right ? " rhs = " : " lhs = ");
  const std::string factors = type_name(index, op.operands.at(right ? 1 : 0));
  if (!(format == "e4m3" && factors == "f8") && !(format == "e5m2" && factors == "f8e5m2"))
    refuse(index, "it multiplies factors of " + std::string(format.substr(0, 40)));
  if (type(scales).element != "i8") refuse(index, "its scales are no bytes");
  const Seen by = source(index, scales, where, 0, -1);
  if (by.vector || by.operand.value < 0) refuse(index, "its scales are no matrix");
  meaning::Value step;
  step.id = unique(product + ".scaled");
  step.part_of = product;
  step.type = "f32";
  step.function = Function::scaled;
  step.shape = shape(index, op.operands.at(right ? 1 : 0), -1);
  if (step.shape.size() != 2) refuse(index, "it is no product of matrices");
  if (right) {
    std::swap(step.shape[0], step.shape[1]);
    factor.transposed = !factor.transposed;
  }
  step.operands = {factor, by.operand};
  scalars_.push_back(std::move(step));
  Operand one;
  one.value = kScalar + static_cast<int>(scalars_.size()) - 1;
  one.transposed = right;
  return one;
}

}  // namespace twill::ttgir
