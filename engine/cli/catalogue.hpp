// Lists of what is built in, as they are printed.
#pragma once

#include <string>
#include <vector>

#include "engine/include/twill_catalogue.hpp"

namespace twill::cli {

/// A line an entry, names aligned; or a JSON array of {name, doc}.
std::string listing(const std::vector<Entry>& entries, bool json);

}  // namespace twill::cli
