// A program as one Python file for Gluon (triton.experimental.gluon), for Hopper and Blackwell.
#pragma once

#include <string>
#include <variant>

#include "graph/emit/limits.hpp"
#include "graph/program/program.hpp"

namespace twill::emit {

struct EmitOptions {
  std::string machine;  ///< its name, for the head of the file
  std::string version;  ///< Twill's
  /// Registers a thread that a slot needs beside its tiles: what kernel files count as resident.
  int resident_registers = 24;
};

struct GluonKernel {
  std::string text;
  Launch launch;
};

/// The file, or why there is none: rule "meaning" (nobody says what the ops compute), "target",
/// "release" (legal.hpp), "tensors" (axes.hpp), "limits" (limits.hpp), "op", "operand", "storage",
/// "type" (of an op or a storage for which there is no text yet). Nothing is half written. The
/// program must be one that judge() accepts.
///
/// Every slot becomes a function and a partition of gl.warp_specialize; statements are those of the
/// program in its order. What comes after the loop goes to the slot whose registers have the
/// results. Names in the text are made here (names.hpp).
std::variant<GluonKernel, program::Refusal> emit_gluon(const program::Program& program,
                                                       const EmitOptions& options);

}  // namespace twill::emit
