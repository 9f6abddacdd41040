#include "graph/lowering/overrides.hpp"

#include <algorithm>

#include "graph/io/json_reader.hpp"

namespace twill {
namespace {

using Json = nlohmann::ordered_json;

bool has_name(const Json& element, const std::string& name) {
  if (!element.is_object()) return false;
  const auto found = element.find("name");
  return found != element.end() && found->is_string() && *found == name;
}

bool is_index(const std::string& text) {
  return !text.empty() && text.size() < 9 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Json* step(Json& node, const std::string& name) {
  if (node.is_object()) {
    const auto found = node.find(name);
    return found == node.end() ? nullptr : &*found;
  }
  if (!node.is_array()) return nullptr;
  // A name wins over an index, so that a slot named "0" stays reachable.
  for (Json& element : node)
    if (has_name(element, name)) return &element;
  if (!is_index(name)) return nullptr;
  const auto index = static_cast<std::size_t>(std::stoul(name));
  return index < node.size() ? &node[index] : nullptr;
}

std::string names_below(const Json& node) {
  std::string names;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  if (node.is_object())
    for (const auto& [key, value] : node.items()) add(key);
  if (node.is_array())
    for (std::size_t i = 0; i < node.size(); ++i)
      add(node[i].is_object() && node[i].contains("name") && node[i]["name"].is_string()
              ? node[i]["name"].get<std::string>()
              : std::to_string(i));
  return names;
}

/// May `value` replace the range `target`? A number, or a fraction as channels have.
bool settles_range(const Json& target, const Json& value) {
  return target.is_object() && target.contains("nominal") && target.contains("low") &&
         (value.is_number() || value.is_array());
}

const char* type_name(const Json& value) {
  return value.is_number() ? "number" : value.type_name();
}

}  // namespace

Json* find_path(Json& root, const std::string& path, std::string* reached, std::string* known) {
  Json* node = &root;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    Json* next = step(*node, path.substr(begin, end - begin));
    if (next == nullptr) {
      if (reached != nullptr) *reached = path.substr(0, begin == 0 ? 0 : begin - 1);
      if (known != nullptr) *known = names_below(*node);
      return nullptr;
    }
    node = next;
    begin = end + 1;
  }
  return node;
}

void apply_overrides(Json& root, const std::string& source,
                     const std::vector<std::pair<std::string, std::string>>& set) {
  for (const auto& item : set) {
    const std::string& path = item.first;
    const std::string& text = item.second;  // Clang 14 does not capture structured bindings
    const std::string place = "--set " + one_line(path + "=" + text);
    std::string reached, known;
    Json* target = find_path(root, path, &reached, &known);
    if (target == nullptr)
      throw InputError(
          source, place, "",
          "no such value" + (reached.empty() ? "" : " in " + one_line(reached)) +
              (known.empty() ? "; it holds no further names" : "; known: " + one_line(known)));
    const JsonDocument value = [&] {
      try {
        return JsonDocument::parse(text, place);
      } catch (const InputError& error) {
        throw InputError(source, place, quote(text),
                         "must be a JSON value (a text needs its quotes): " + error.rule());
      }
    }();
    const std::string wanted = type_name(*target), found = type_name(value.json());
    if (wanted != found && !settles_range(*target, value.json()))
      throw InputError(source, place, quote(text),
                       "must stay a JSON " + wanted + ", not become a JSON " + found);
    *target = value.json();
  }
}

}  // namespace twill
