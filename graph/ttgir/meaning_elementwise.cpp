// Ops that work element by element (meaning_builder.hpp).
#include <algorithm>
#include <iterator>

#include "graph/index.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {

using meaning::Function;
using meaning::Operand;

namespace {

struct Elementwise {
  std::string_view name;
  Function function;
};
constexpr Elementwise kElementwise[] = {
    {"arith.addf", Function::add},      {"arith.subf", Function::sub},
    {"arith.mulf", Function::mul},      {"arith.divf", Function::div},
    {"tt.precise_divf", Function::div}, {"tt.approx_divf", Function::div},
    {"arith.maxnumf", Function::max},   {"arith.minnumf", Function::min},
    {"math.exp2", Function::exp2},      {"math.exp", Function::exp2},
    {"math.log2", Function::log2},      {"math.log", Function::log},
    {"math.sqrt", Function::sqrt},      {"tt.precise_sqrt", Function::sqrt},
    {"math.rsqrt", Function::rsqrt},    {"math.absf", Function::abs},
    {"math.sin", Function::sin},        {"math.cos", Function::cos},
    {"math.erf", Function::erf},        {"math.floor", Function::floor},
    {"math.ceil", Function::ceil},      {"math.fma", Function::mul_add},
    {"arith.sitofp", Function::copy},   {"arith.truncf", Function::copy},
    {"arith.extf", Function::copy},     {"tt.fp_to_fp", Function::copy},
    {"arith.negf", Function::mul},      {"arith.select", Function::select}};

}  // namespace

void MeaningBuilder::elementwise(int index, meaning::Value& value, Where where, int copy,
                                 int dimension) {
  const Operation& op = m_.op(index);
  const auto* found = std::find_if(std::begin(kElementwise), std::end(kElementwise),
                                   [&](const Elementwise& one) { return one.name == op.name; });
  if (found == std::end(kElementwise)) {
    if (!converts(index, value, where, copy, dimension) &&
        !integers(index, value, where, copy, dimension))
      refuse(index, "it is not known what it computes");
    return;
  }
  value.function = found->function;
  if (op.name == "arith.select") {
    if (!mask(index, value, where, copy, dimension) &&
        !selection(index, value, where, copy, dimension))
      choice(index, value, where, copy, dimension);
    return;
  }
  // (i1 has no sign here: MLIR's 1 is -1.)
  if (op.name == "arith.sitofp" && is_flags(op.operands[0]))
    refuse(index, "it makes a real number of a flag with a sign");
  if (op.name == "tt.fp_to_fp" && !m_.attribute(op, "rounding").empty() &&
      m_.attribute(op, "rounding").find("rtne") == std::string_view::npos &&
      m_.attribute(op, "rounding").find('1') == std::string_view::npos)
    refuse(index, "it rounds otherwise than to the nearest number");
  for (const int operand : op.operands) {
    const int cut = where == Where::loop ? split_.of(operand) : dimension;
    value.operands.push_back(beside(index, value, source(index, operand, where, copy, cut)));
  }
  Operand number;
  if (op.name == "arith.negf") number.number = -1;
  if (op.name == "math.exp") number.number = 1.4426950408889634;
  if (op.name == "arith.negf" || op.name == "math.exp") value.operands.push_back(number);
}

}  // namespace twill::ttgir
