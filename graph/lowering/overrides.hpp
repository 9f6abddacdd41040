// What-ifs: a machine file with some values replaced. Private to graph/*.cpp.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace twill {

/// The value at a dotted path ("units.SFU", "layouts.2x4.slots.0.registers"): keys of objects;
/// indexes of arrays or the "name" of an element. Null when there is none; then `reached` is the
/// part that exists and `known` the names that could follow it.
nlohmann::ordered_json* find_path(nlohmann::ordered_json& root, const std::string& path,
                                  std::string* reached = nullptr, std::string* known = nullptr);

/// Replaces the value at each path. The path must exist; the value must be JSON of the type found
/// there, or a number in the place of a range. Throws InputError naming the override.
void apply_overrides(nlohmann::ordered_json& root, const std::string& source,
                     const std::vector<std::pair<std::string, std::string>>& set);

}  // namespace twill
