// Several modules in one file: the dumps of a compiler, and tests that are split at `// -----`.
//
// Each is read alone: its own aliases, attributes and functions. What stands before the first
// bracket of a module, up to the line that separates it from the one before, belongs to it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

struct ModulePart {
  std::size_t line = 1;  ///< of the word `module`, or of its first function where there is none
  std::string title;     ///< what a dump's separator says: "IR Dump Before ..."; "" else
  /// What of the text it is: aliases, the module, locations; ascending, disjoint.
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
};

/// The modules of a text in its order. A text with one module or none is one part, all of it.
/// Never throws: what is no MLIR is left to the parser.
std::vector<ModulePart> split_modules(std::string_view text);

/// Reads one module of a text: the one asked for, counted from 0, or the only one. Lines and
/// columns are the file's. Throws InputError as parse_module() does, when there is no such module,
/// and when there are several and none is asked for.
Module parse_one_module(std::string_view text, const std::string& source,
                        std::optional<int> number);

}  // namespace twill::ttgir
