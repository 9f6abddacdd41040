// What stands in an emitted Python file before its functions: what it says of itself, imports,
// constants and layouts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/emit/gluon_slot.hpp"
#include "graph/emit/plan.hpp"

namespace twill::emit {

/// A file while it is written.
struct GluonFile {
  std::vector<const Plan*> plans;                     ///< one a loop, in their order
  ModuleNeeds needs;                                  ///< of all that is written for them
  std::map<std::string, std::string> shared_layouts;  ///< of buffers: a constant's name, its value
};

/// What it says of its programs: schedules, registers, memory.
std::string gluon_about(const GluonFile& file, const EmitOptions& options);
/// The first lines, `about` among them, up to the imports' end.
std::string gluon_head(const GluonFile& file, const std::string& about);
/// Constants, layouts, and functions that slots call.
std::string gluon_definitions(const GluonFile& file);

}  // namespace twill::emit
