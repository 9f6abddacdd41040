// What `twill solve --tiles auto` says of the choices.
#pragma once

#include <string>

#include "engine/include/twill.hpp"

namespace twill::cli {

/// A table: the best choice, how many were closed in which way, the combinations next to it.
std::string tiles_text(const TilesSolution& tiles, const KernelParameters& parameters);
/// All choices (format twill.tiles), with the schedule of the best one.
std::string tiles_json(const TilesSolution& tiles, const KernelParameters& parameters);

/// "rows=128 keys=176".
std::string values_text(const ParameterValues& values);

}  // namespace twill::cli
