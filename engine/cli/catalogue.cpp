#include "engine/cli/catalogue.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/output/style.hpp"

namespace twill::cli {

std::string description(const std::string& file_text) {
  const auto json = nlohmann::json::parse(file_text, nullptr, false);
  return json.is_object() && json.contains("doc") && json["doc"].is_string()
             ? json["doc"].get<std::string>()
             : std::string();
}

std::string listing(const std::vector<Entry>& entries, bool json) {
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Entry& entry : entries) list.push_back({{"name", entry.name}, {"doc", entry.doc}});
    return list.dump(2) + "\n";
  }
  std::size_t width = 0;
  for (const Entry& entry : entries) width = std::max(width, display_width(entry.name));
  std::string text;
  for (const Entry& entry : entries) {
    text += fit(printable(entry.name), width, true) + "  " + printable(entry.doc) + "\n";
  }
  return text;
}

}  // namespace twill::cli
