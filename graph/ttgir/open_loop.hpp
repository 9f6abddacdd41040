// A loop of a fixed number of iterations, as one of any number.
//
// The pipeliner's guards are numbers there: in "for k in range(0, 256, 64)" 128 stands for the end
// less two steps. Few iterations do not show what repeats. So the loop is opened: its bound becomes
// an unknown number, and each such guard that number less some steps. It is undone as a loop of any
// number of iterations, and gets its bound back. What holds for any number holds for its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "graph/ttgir/ir.hpp"
#include "graph/ttgir/undo.hpp"

namespace twill::ttgir {

/// The op that makes the bound of an opened loop, of the bound that it had.
inline constexpr std::string_view kLengthOp = "twill.length";

struct OpenLoop {
  Module module;
  int loop = kNone;
  std::uint32_t line = 0, more = 0;  ///< so many lines more are there from that line on
  std::int64_t iterations = 0;       ///< that it has
};

/// nullopt = its number of iterations is not known, or large enough.
std::optional<OpenLoop> open_loop(const Module& module, int loop);

/// Puts the bound back, and the places of the module that it was opened in. Throws CannotUndo.
void close_loop(Undone& undone, const OpenLoop& open, const Operation& loop);

/// The op of that module which an op of the opened one is; else the loop.
int closed_op(const Module& module, int loop, const OpenLoop& open, int op);

}  // namespace twill::ttgir
