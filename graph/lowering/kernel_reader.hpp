// Reading of a kernel from JSON that is in memory: a file, or what instantiate() makes of one.
#pragma once

#include "graph/io/json_reader.hpp"
#include "graph/lowering/kernel.hpp"

namespace twill {

/// As parse_kernel(), of a document without parameters.
Kernel read_kernel(JsonDocument document);

}  // namespace twill
