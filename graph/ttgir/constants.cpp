#include "graph/ttgir/constants.hpp"

#include <charconv>
#include <string>

#include "graph/error.hpp"

namespace twill::ttgir {

std::optional<std::int64_t> constant_integer(const Module& module, int value) {
  const int made = module.value(value).op;
  if (made == kNone || module.op(made).name != "arith.constant") return std::nullopt;
  const Operation& op = module.op(made);
  const Type* type = module.type_of(value);
  if (type == nullptr || type->kind != TypeKind::scalar || !type->element.starts_with('i'))
    return std::nullopt;
  if (op.literal == "true") return 1;
  if (op.literal == "false") return 0;
  std::string_view text = op.literal;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  while (text.starts_with(' ')) text.remove_prefix(1);
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint64_t size = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), size, hex ? 16 : 10);
  const bool number = error != std::errc::invalid_argument && end == text.data() + text.size();
  // Hexadecimal and unsigned constants may have the sign's bit set.
  const std::uint64_t most = negative ? std::uint64_t{1} << 63 : ~std::uint64_t{0};
  if (!number || error == std::errc::result_out_of_range || size > most)
    throw InputError(module.source, Module::place(op), std::string(op.literal.substr(0, 80)),
                     "an integer constant must be a number of at most 64 bits");
  if (type->bits == 1) return size & 1;
  return static_cast<std::int64_t>(negative ? 0 - size : size);
}

bool is_tile_of_zeros(const Module& module, int value) {
  const int made = module.value(value).op;
  if (made == kNone || module.op(made).name != "arith.constant") return false;
  const std::string_view literal = module.op(made).literal;
  return literal == "dense<0.000000e+00>" || literal == "dense<0>";
}

WithConstant with_constant(const Module& module, int value) {
  constexpr int kMostAdditions = 16;
  WithConstant sum{value, 0};
  for (int steps = 0; steps < kMostAdditions; ++steps) {
    if (const auto number = constant_integer(module, sum.value))
      return {kNone, sum.added + *number};
    const int made = module.value(sum.value).op;
    if (made == kNone || module.op(made).operands.size() != 2) break;
    const Operation& op = module.op(made);
    const auto number = constant_integer(module, op.operands[1]);
    if (!number || (op.name != "arith.addi" && op.name != "arith.subi")) break;
    sum = {op.operands[0], sum.added + (op.name == "arith.addi" ? *number : -*number)};
  }
  return sum;
}

int axis_of(const Module& module, const Operation& op) {
  const std::string_view text = module.attribute(op, "axis");
  const bool grows = op.name == "tt.expand_dims";
  const auto& values = grows ? op.results : op.operands;
  const Type* type = values.empty() ? nullptr : module.type_of(values[0]);
  const int rank = type == nullptr ? 0 : static_cast<int>(type->shape.size());
  int axis = -1;
  const bool number =
      std::from_chars(text.data(), text.data() + text.size(), axis).ec == std::errc();
  if (!number || axis < 0 || axis >= rank)
    throw InputError(module.source, Module::place(op),
                     "axis = " + std::string(text.empty() ? "nothing" : text.substr(0, 40)),
                     "must be a dimension of its tile: from 0 to " + std::to_string(rank - 1));
  return axis;
}

}  // namespace twill::ttgir
