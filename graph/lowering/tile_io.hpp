// Tiles in files: "shape", "type" and, where they differ from it, "operand_type". Private to
// graph/*.cpp.
#pragma once

#include "graph/io/json_reader.hpp"
#include "graph/lowering/kernel.hpp"

namespace twill {

/// The name of an element type; throws InputError at the value where it is none.
std::string read_element_type(const JsonValue& value);

/// The tile that an object of a file states. Throws InputError.
Tile read_tile(const JsonValue& value);

}  // namespace twill
