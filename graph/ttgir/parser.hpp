// TTGIR text -> Module. Reads what Triton prints (3.x and main), in custom and in generic op
// syntax.
//
// The custom syntax of MLIR ops is open-ended: each op has its own. What printed modules have in
// common is enough here: a statement starts on a line of its own with its results or its name;
// every %name in it is an operand unless it defines a loop variable or a region's argument; the
// types behind its last colon are its operands' and results'; `{` opens a region when it follows
// `(` or ends its line and attributes otherwise. So an op that nobody has heard of is read as well.
#pragma once

#include <string>
#include <string_view>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// Limits, so that hostile text takes bounded time and memory. Everything is linear in the text.
inline constexpr std::size_t kMaxModuleBytes = std::size_t{64} << 20;
inline constexpr int kMaxNesting = 64;    ///< of regions
inline constexpr int kMaxBrackets = 256;  ///< of ( [ { < in one attribute, type or location
inline constexpr std::size_t kMaxValues = std::size_t{4} << 20;

/// Does the text look like MLIR (a module, an alias, a function, a compiler's dump), rather than
/// JSON?
bool looks_like_mlir(std::string_view text);

/// Throws InputError with "line L, column C" when the text is no module of Triton's GPU dialects,
/// is cut short, uses a value that is not defined, or exceeds a limit.
Module parse_module(std::string_view text, const std::string& source);

}  // namespace twill::ttgir
