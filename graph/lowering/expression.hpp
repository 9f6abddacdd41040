// Integer expressions of kernel files: "rows * keys / 2", "max(rows, 64)", "bytes(T)". Exact: a
// division that leaves a rest and a result beyond 64 bits are refused. Private to graph/.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twill {

/// A longer text is refused, as is one that nests deeper.
inline constexpr std::size_t kMaxExpression = 300;
inline constexpr int kMaxExpressionDepth = 32;

/// What names stand for.
struct Scope {
  std::vector<std::pair<std::string, std::int64_t>> numbers;
  std::vector<std::pair<std::string, std::string>> types;  ///< type parameter -> element type

  /// "rows = 128, keys = 176, T = f16"; "" where there are none.
  std::string text() const;
};

/// Why a text has no value: the syntax, a name, a rest, an overflow.
class ExpressionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The value of
///   sum     = product { ("+" | "-") product }
///   product = factor { ("*" | "/") factor }
///   factor  = "-" factor | NUMBER | NAME | "(" sum ")"
///           | ("max" | "min") "(" sum { "," sum } ")"
///           | ("bits" | "bytes") "(" TYPE ")"
/// with TYPE the name of an element type or of a type parameter. Throws ExpressionError.
std::int64_t evaluate(std::string_view text, const Scope& scope);

/// The truth of "sum == sum", or with <=, >=, < or >. Throws ExpressionError.
bool holds(std::string_view text, const Scope& scope);

/// `text` with each "{sum}" replaced by its value: "s{s}_qk" -> "s0_qk". Throws ExpressionError.
std::string substitute(std::string_view text, const Scope& scope);

/// A letter or _, then letters, digits and _: and no name that expressions have.
bool is_parameter_name(std::string_view name);

}  // namespace twill
