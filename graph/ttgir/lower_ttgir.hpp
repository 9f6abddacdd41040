// From TTGIR text to problems: what lower() is to kernel files. Used by the program.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/lower.hpp"
#include "graph/ttgir/loop_kernel.hpp"

namespace twill::ttgir {

/// A loop of a module on a machine, ready to be solved, and what is needed to say how it came about
/// and to hand the schedule back.
struct LoweredModule {
  Module module;
  Machine machine;
  LoopOptions options;
  LoopKernel loop;
  std::vector<Lowered> problems;  ///< one a slot layout
  /// The file's loop was pipelined or partitioned: `module` is what undo_schedule() made of it,
  /// with the file's lines.
  bool undone = false;
  /// The function around it was lost by that: why. "" = it is there.
  std::string lost = {};
};

/// Throws InputError: the module's place is "line L, column C". `costs`, when given, gets what
/// explain() says as soon as it is known, also where no layout holds the loop.
LoweredModule lower_module(std::string_view text, const std::string& source,
                           std::string_view machine_text, const std::string& machine_source,
                           const LoopOptions& loop_options, const LowerOptions& options,
                           std::string* costs = nullptr);

/// The built-in machine that the module's ttg.target stands for: ampere for cuda:80, hopper for
/// cuda:90, blackwell for cuda:100. Throws InputError, which names --machine, for any other.
std::string machine_of_target(std::string_view text, const std::string& source,
                              const LoopOptions& options);

/// One line a node: op, rule, formula, cycles. Aligned columns.
std::string explain(const LoweredModule& lowered);

/// One line a loop: number, function, line, what it holds; the default choice is marked.
std::string loop_listing(const Module& module);

/// The same of the module asked for, or of all in the text, each under a line of its own; a module
/// that has no loops or cannot be read says so there.
std::string loop_listing(std::string_view text, const std::string& source,
                         std::optional<int> number);

}  // namespace twill::ttgir
