// A program as one Python file for Gluon (triton.experimental.gluon), for Hopper and Blackwell.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "graph/emit/legal.hpp"
#include "graph/emit/limits.hpp"
#include "graph/meaning/user_kernel.hpp"
#include "graph/program/program.hpp"

namespace twill::emit {

/// Registers a thread beside its tiles that the least of the built-in kernels counts on.
inline constexpr int kLeastResident = 12;

/// Of a result in registers so many of iterations before have names: x_prev, x_prev2, ...
inline constexpr int kMostOlderCopies = 8;
/// The rule of a refusal for more than EmitOptions::older_copies.
inline constexpr const char* kOlderCopies = "older copies";
/// The rule of a refusal for a product of Hopper, whose result is in its own slot's registers, that
/// another slot uses.
inline constexpr const char* kHandedProduct = "handed product";

struct EmitOptions {
  std::string machine;  ///< its name, for the head of the file
  std::string version;  ///< Twill's
  /// Registers a thread that a slot needs beside its tiles: what kernel files count as resident.
  int resident_registers = 24;
  /// As few as are tried where the launch has no more: with less than kLeastResident ptxas may
  /// spill.
  int least_resident = kLeastResident;
  /// Statements that a slot has in another order than the schedule has, "l before p", for the head
  /// of the file.
  std::vector<std::string> moved = {};
  /// The function that the meaning was read from: the kernel gets its name and parameters, and its
  /// arithmetic of places. Else tensors lie as their axes say (axes.hpp).
  const meaning::UserKernel* user = nullptr;
  /// Of a kernel file's kernel: each multiprocessor has one program, which does block after block.
  /// (A user's own function keeps the loops that it has.)
  bool persistent = false;
  /// Of a result in registers so many of iterations before have names; at most kMostOlderCopies.
  int older_copies = 3;
  /// May matrices, too, go through shared memory to who stores them behind the loop? (Else there
  /// are schedules that have them on one slot.)
  bool tiles_handed = false;
  /// Must the launch fit as Triton lays it out (limits.hpp)? Else the back end checks its own.
  bool as_triton = true;
};

/// What a kernel is called with.
struct KernelArgument {
  enum Kind { number, pointer, descriptor } kind = number;
  std::string name;
  std::string type;  ///< of the number, or of what lies there; "" = the kernel does not touch it
  std::vector<std::int64_t> block;  ///< of a descriptor
  std::int64_t divisor = 1;         ///< that copies of several elements count on
};

struct GluonKernel {
  std::string text;
  Launch launch;
  Amount registers_short = 0;  ///< Plan::registers_short, of all loops: 0 = no spills are expected
  // For those who write the same kernel in another language:
  Target target = Target::hopper;
  std::string about;  ///< what the head of the file says of the program
  std::string code;   ///< of the text, what the compiler sees: constants, layouts, functions
  std::vector<KernelArgument> arguments;
  /// Iterations below which the host says how many there are (TRIPS); 0 = it never does.
  int depth = 0;
};

/// The file, or why there is none: rule "meaning" (nobody says what the ops compute), "target",
/// "release" (legal.hpp), "tensors" (axes.hpp), "limits" (limits.hpp), "op", "operand", "storage",
/// "function" (what a user's own does beside its loop), "type" (of an op or a storage for which
/// there is no text yet). Nothing is half written. The program must be one that judge() accepts.
///
/// Every slot becomes a function and a partition of gl.warp_specialize; statements are those of the
/// program in its order. What comes after the loop goes to the slot whose registers have the
/// results. Names in the text are made here (names.hpp).
std::variant<GluonKernel, program::Refusal> emit_gluon(const program::Program& program,
                                                       const EmitOptions& options);

/// One loop of several that make up a function.
struct SequencePart {
  const program::Program* program = nullptr;
  const meaning::UserKernel* user = nullptr;  ///< UserKernel::part says its place
};

/// The same of a function of several loops one behind the other, in their order; at least two. Each
/// has slots, buffers and barriers of its own; all slots have ended before those of the next one
/// begin. What one hands on lies in shared memory between. EmitOptions::user is not used.
std::variant<GluonKernel, program::Refusal> emit_gluon(const std::vector<SequencePart>& parts,
                                                       const EmitOptions& options);

}  // namespace twill::emit
