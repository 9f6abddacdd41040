// The part of JSON Schema (draft 2020-12) that this project's schemas of rows use.
#pragma once

#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>
#include <string>

namespace twill::test {

/// What of `value` breaks `schema`, with its place, or "". Throws std::logic_error on a keyword
/// that is not known here, so that no rule of a schema is passed over.
inline std::string breaks(const nlohmann::json& value, const nlohmann::json& schema,
                          const std::string& place = "") {
  const auto is = [&](const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    throw std::logic_error("type " + type);
  };
  if (schema.contains("type") && !is(schema["type"]))
    return place + ": " + value.dump() + " is no " + schema["type"].get<std::string>();
  for (const auto& [key, rule] : schema.items()) {
    if (key == "type" || key == "$schema" || key == "$id" || key == "title" || key == "description")
      continue;
    bool holds = true;
    if (key == "const") {
      holds = value == rule;
    } else if (key == "enum") {
      holds = std::find(rule.begin(), rule.end(), value) != rule.end();
    } else if (key == "minimum") {
      holds = value.get<double>() >= rule.get<double>();
    } else if (key == "maximum") {
      holds = value.get<double>() <= rule.get<double>();
    } else if (key == "minLength") {
      holds = value.get<std::string>().size() >= rule.get<std::size_t>();
    } else if (key == "maxLength") {
      holds = value.get<std::string>().size() <= rule.get<std::size_t>();
    } else if (key == "pattern") {
      holds = std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()));
    } else if (key == "required") {
      for (const auto& name : rule)
        if (!value.contains(name)) return place + ": without " + name.get<std::string>();
    } else if (key == "items") {
      for (std::size_t i = 0; i < value.size(); ++i)
        if (auto why = breaks(value[i], rule, place + "/" + std::to_string(i)); !why.empty())
          return why;
    } else if (key == "properties" || key == "additionalProperties") {
      if (key == "properties" && schema.contains("additionalProperties")) continue;  // there
      const nlohmann::json known = schema.value("properties", nlohmann::json::object());
      for (const auto& [name, member] : value.items()) {
        if (!known.contains(name) && rule == false) return place + ": has " + name;
        const nlohmann::json& rules = known.contains(name) ? known[name] : rule;
        if (auto why = breaks(member, rules, place + "/" + name); !why.empty()) return why;
      }
    } else {
      throw std::logic_error("keyword " + key);
    }
    if (!holds) return place + ": " + value.dump() + " breaks " + key;
  }
  return "";
}

}  // namespace twill::test
