// What the ops of a kernel compute, beside its edges and chunks. Private to graph/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/lowering/kernel.hpp"
#include "graph/meaning/meaning.hpp"
#include "graph/tiles.hpp"

namespace twill {

class JsonValue;

/// Reads "meaning" and what the ops compute into `kernel`, whose ops, edges and chunks are read.
/// Nothing where the file has no meaning. Refused are ops without one beside others with one; an
/// operand without an edge of its distance; an edge that is neither an operand nor said to be of
/// order alone, or both; a chain of a chunk whose inner results are used outside.
void read_kernel_meaning(const JsonValue& root, Kernel& kernel);

/// What the ops of a kernel file compute, with these values of its parameters (others: their
/// defaults), and with what LowerOptions::stored adds; nullopt = the file does not say. Throws
/// InputError as lower() does.
std::optional<meaning::Meaning> meaning_of_kernel(const std::string& text,
                                                  const std::string& source,
                                                  const ParameterValues& values,
                                                  const std::vector<std::string>& stored = {});

}  // namespace twill
