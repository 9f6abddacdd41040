#include "graph/meaning/meaning.hpp"

#include <algorithm>
#include <array>

#include "graph/index.hpp"
#include "graph/meaning/rearranged.hpp"

namespace twill::meaning {
namespace {

enum class Form { elementwise, other, with_tensor };
struct FunctionRow {
  std::string_view name;
  int least, most;
  Form form;
};
constexpr std::array<FunctionRow, kFunctions> kFunctionTable = {{
    {"load", 0, 0, Form::with_tensor},
    {"store", 1, 2, Form::with_tensor},
    {"copy", 1, 1, Form::elementwise},
    {"transpose", 1, 1, Form::other},
    {"product", 2, 3, Form::other},
    {"add", 2, 2, Form::elementwise},
    {"sub", 2, 2, Form::elementwise},
    {"mul", 2, 2, Form::elementwise},
    {"div", 2, 2, Form::elementwise},
    {"mul_add", 3, 3, Form::elementwise},
    {"mul_sub", 3, 3, Form::elementwise},
    {"max", 2, 2, Form::elementwise},
    {"exp2", 1, 2, Form::elementwise},
    {"log2", 1, 1, Form::elementwise},
    {"reciprocal", 1, 1, Form::elementwise},
    {"select", 3, 3, Form::elementwise},
    {"row_max", 1, 1, Form::other},
    {"row_sum", 1, 1, Form::other},
    {"lower", 1, 2, Form::other},
    {"causal", 3, 3, Form::other},
    {"beside", 2, 2, Form::other},
    {"within", 2, 2, Form::other},
    {"places", 4, 4, Form::other},
    {"min", 2, 2, Form::elementwise},
    {"abs", 1, 1, Form::elementwise},
    {"sqrt", 1, 1, Form::elementwise},
    {"rsqrt", 1, 1, Form::elementwise},
    {"log", 1, 1, Form::elementwise},
    {"sin", 1, 1, Form::elementwise},
    {"cos", 1, 1, Form::elementwise},
    {"erf", 1, 1, Form::elementwise},
    {"floor", 1, 1, Form::elementwise},
    {"ceil", 1, 1, Form::elementwise},
    {"running_sum", 1, 2, Form::other},
    {"int_add", 2, 2, Form::elementwise},
    {"int_sub", 2, 2, Form::elementwise},
    {"int_mul", 2, 2, Form::elementwise},
    {"int_div", 2, 2, Form::elementwise},
    {"int_rem", 2, 2, Form::elementwise},
    {"mul_high", 2, 2, Form::elementwise},
    {"bit_and", 2, 2, Form::elementwise},
    {"bit_or", 2, 2, Form::elementwise},
    {"bit_xor", 2, 2, Form::elementwise},
    {"shift_left", 2, 2, Form::elementwise},
    {"shift_right", 2, 2, Form::elementwise},
    {"shift_right_logical", 2, 2, Form::elementwise},
    {"greater", 2, 2, Form::elementwise},
    {"at_least", 2, 2, Form::elementwise},
    {"equal", 2, 2, Form::elementwise},
    {"not_equal", 2, 2, Form::elementwise},
    {"histogram", 1, 1, Form::other},
    {"largest", 1, 1, Form::other},
    {"scaled", 2, 2, Form::other},
    {"row_min", 1, 1, Form::other},
    {"smallest", 1, 1, Form::other},
    {"toward_zero", 1, 1, Form::elementwise},
    {"place_of_max", 1, 1, Form::other},
    {"place_of_min", 1, 1, Form::other},
    {"running_max", 1, 2, Form::other},
    {"running_min", 1, 2, Form::other},
    {"bits", 1, 1, Form::elementwise},
    {"rearranged", 2, 3 + 2 * kMostDigits, Form::other},
    {"row_product", 1, 1, Form::other},
    {"running_product", 1, 2, Form::other},
}};

const FunctionRow& row_of(Function function) {
  return kFunctionTable[static_cast<std::size_t>(function)];
}

}  // namespace

std::string_view name_of(Function function) {
  return row_of(function).name;
}
std::pair<int, int> arity(Function function) {
  return {row_of(function).least, row_of(function).most};
}
bool is_elementwise(Function function) {
  return row_of(function).form == Form::elementwise;
}
bool is_of_integers(Function function) {
  return (function >= Function::int_add && function <= Function::shift_right_logical) ||
         function == Function::histogram;
}
bool reduces_rows(Function function) {
  return function == Function::row_max || function == Function::row_min ||
         function == Function::row_sum || function == Function::row_product ||
         gives_place(function);
}
bool gives_place(Function function) {
  return function == Function::place_of_max || function == Function::place_of_min;
}
bool finds_place(Function function) {
  return function == Function::largest || function == Function::smallest;
}
bool runs(Function function) {
  return function == Function::running_sum || function == Function::running_max ||
         function == Function::running_min || function == Function::running_product;
}
bool multiplies(Function function) {
  return function == Function::row_product || function == Function::running_product;
}

bool runs_along_rows(const Value& value) {
  return value.operands.size() == 2 && value.operands[1].number != 2;
}

bool runs_from_end(const Value& value) {
  return value.operands.size() == 2 && value.operands[1].number >= 2;
}
bool is_comparison(Function function) {
  return function >= Function::greater && function <= Function::not_equal;
}
bool has_tensor(Function function) {
  return row_of(function).form == Form::with_tensor;
}

const Initial* Meaning::initial_of(int value) const {
  for (const Initial& one : initial)
    if (one.value == value) return &one;
  return nullptr;
}

bool Meaning::streams(int tensor) const {
  for (int v = loop_begin; v < after_begin; ++v)
    if (values[at(v)].tensor == tensor) return true;
  return false;
}

bool Meaning::is_output(int tensor) const {
  return std::any_of(values.begin(), values.end(), [&](const Value& value) {
    return value.tensor == tensor && value.function == Function::store;
  });
}

std::vector<int> loop_order(const Meaning& meaning) {
  const auto count = static_cast<std::size_t>(meaning.after_begin - meaning.loop_begin);
  std::vector<int> open(count, 0), order;
  std::vector<std::vector<int>> users(count);
  for (int v = meaning.loop_begin; v < meaning.after_begin; ++v)
    for (const Operand& operand : meaning.values[at(v)].operands)
      if (operand.value >= 0 && meaning.in_loop(operand.value) && operand.distance == 0) {
        ++open[at(v - meaning.loop_begin)];
        users[at(operand.value - meaning.loop_begin)].push_back(v);
      }
  for (int v = meaning.loop_begin; v < meaning.after_begin; ++v)
    if (open[at(v - meaning.loop_begin)] == 0) order.push_back(v);
  for (std::size_t k = 0; k < order.size(); ++k)
    for (const int user : users[at(order[k] - meaning.loop_begin)])
      if (--open[at(user - meaning.loop_begin)] == 0) order.push_back(user);
  if (order.size() != count) order.clear();
  return order;
}

std::int64_t elements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

}  // namespace twill::meaning
