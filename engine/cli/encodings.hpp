// The table of encodings as JSON, for `twill encodings` and `twill bench list`.
#pragma once

#include <nlohmann/json.hpp>

namespace twill::cli {

/// An array with an object per encoding: key, value, source, family and what is claimed of it; what
/// an encoding has nothing to say about is left out.
nlohmann::ordered_json encodings_json();

}  // namespace twill::cli
