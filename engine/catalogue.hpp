// Lists of what is built in: kernels, machines, encodings.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace twill {

struct Entry {
  std::string name;
  std::string doc;  ///< of its file, "" when it has none; of an alias what it stands for
};

std::vector<Entry> kernel_entries();
std::vector<Entry> machine_entries();

/// An array of {name, doc}.
nlohmann::ordered_json entries_json(const std::vector<Entry>& entries);

/// An array with an object per encoding: key, value, source, family and what is claimed of it; what
/// an encoding has nothing to say about is left out.
nlohmann::ordered_json encodings_json();

}  // namespace twill
