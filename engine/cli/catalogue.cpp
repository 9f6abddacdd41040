#include "engine/cli/catalogue.hpp"

#include <algorithm>

#include "engine/output/style.hpp"

namespace twill::cli {

std::string listing(const std::vector<Entry>& entries, bool json) {
  if (json) return entries_json(entries);
  std::size_t width = 0;
  for (const Entry& entry : entries) width = std::max(width, display_width(entry.name));
  std::string text;
  for (const Entry& entry : entries) {
    text += fit(printable(entry.name), width, true) + "  " + printable(entry.doc) + "\n";
  }
  return text;
}

}  // namespace twill::cli
