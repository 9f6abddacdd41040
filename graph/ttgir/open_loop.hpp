// A loop of a fixed number of iterations, as one of any number.
//
// What a pipeliner has left of "for k in range(0, 256, 64)" has numbers where that of another loop
// has its bound: 128 stands for 256 less two steps. So few iterations do not show what repeats.
// With a bound that is not known, and what is that bound less a few steps written so, the loop is
// one of any number of iterations; what is undone of that is so for the number that it had, too.
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
