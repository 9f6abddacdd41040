// Constants behind conversions that the compiler has left: Triton keeps `truncf -1.0e30 : f32 to
// f16` where the result is no finite number.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/meaning/number_type.hpp"
#include "graph/ttgir/ir.hpp"
#include "graph/ttgir/op_text.hpp"

namespace twill::ttgir {

struct ConvertedConstant {
  int value = kNone;               ///< made by an arith.constant
  std::vector<std::string> types;  ///< that it is rounded to, one after the other

  /// What becomes of the constant, `x`.
  double of(double x) const {
    for (const std::string& type : types) x = meaning::rounded(*meaning::number_type(type), x);
    return x;
  }
};

/// A value that repeats a constant everywhere, rounded to other types of real numbers, to nearest;
/// nullopt = something else, or a constant as it is.
inline std::optional<ConvertedConstant> converted_constant(const Module& module, int value) {
  constexpr std::string_view kRepeats[] = {"tt.splat", "tt.broadcast", "tt.expand_dims",
                                           "ttg.convert_layout"};
  constexpr std::string_view kTypes[] = {"f16", "bf16", "f32"};
  constexpr int kMostConversions = 40;
  const auto is_one_of = [](const auto& list, std::string_view name) {
    return std::find(std::begin(list), std::end(list), name) != std::end(list);
  };
  ConvertedConstant found;
  for (int step = 0; step < kMostConversions; ++step) {
    const int made = module.value(value).op;
    if (made == kNone) return std::nullopt;
    const Operation& op = module.op(made);
    if (op.name == "arith.constant") {
      if (found.types.empty()) return std::nullopt;
      found.value = value;
      std::reverse(found.types.begin(), found.types.end());
      return found;
    }
    if (op.operands.size() != 1 || op.results.size() != 1) return std::nullopt;
    if (op.name == "arith.truncf" || op.name == "arith.extf") {
      const Type* const type = module.type_of(value);
      // (Another rounding would stand before the colon.)
      const std::string plain =
          std::string(op.name) + " " + written_name(module, op.operands[0]) + " : ";
      if (type == nullptr || !is_one_of(kTypes, type->element) ||
          !std::string_view(*module.text).substr(op.begin).starts_with(plain))
        return std::nullopt;
      found.types.push_back(type->element);
    } else if (!is_one_of(kRepeats, op.name)) {
      return std::nullopt;
    }
    value = op.operands[0];
  }
  return std::nullopt;
}

}  // namespace twill::ttgir
