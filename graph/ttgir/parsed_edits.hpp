// A module whose text is changed and read again. Private to graph/ttgir/.
#pragma once

#include <optional>
#include <vector>

#include "graph/ttgir/ir.hpp"
#include "graph/ttgir/text_edit.hpp"

namespace twill::ttgir {

/// The module of the edited text; each op has the line and column of what stood in its place.
/// nullopt = the text is no module: one that has the names that the edits bring.
std::optional<Module> parsed_edits(const Module& module, std::vector<TextEdit> edits);

}  // namespace twill::ttgir
