// Lists of what is built in.
#pragma once

#include <string>
#include <vector>

namespace twill::cli {

struct Entry {
  std::string name;
  std::string doc;
};

/// The "doc" of a kernel or machine file, "" when it has none.
std::string description(const std::string& file_text);

/// A line an entry, names aligned; or a JSON array of {name, doc}.
std::string listing(const std::vector<Entry>& entries, bool json);

}  // namespace twill::cli
