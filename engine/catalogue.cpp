#include "engine/include/twill_catalogue.hpp"

#include <nlohmann/json.hpp>

#include "encoders/choose.hpp"
#include "graph/lower.hpp"

namespace twill {
namespace {

/// The "doc" of a kernel or machine file, "" when it has none.
std::string description(const std::string& file_text) {
  const auto json = nlohmann::json::parse(file_text, nullptr, false);
  return json.is_object() && json.contains("doc") && json["doc"].is_string()
             ? json["doc"].get<std::string>()
             : std::string();
}

/// A name that stands for another graph on each machine: "on hopper: hopper-fwd-sub2; on ...".
std::string stands_for(const std::string& name) {
  std::string text;
  for (const std::string& machine : builtin_machines()) {
    const std::string kernel = kernel_on_machine(name, builtin_machine(machine), machine);
    if (kernel == name) continue;
    text += (text.empty() ? "On " : "; on ") + machine + ": " + kernel;
  }
  return text;
}

}  // namespace

std::vector<Entry> kernel_entries() {
  std::vector<Entry> entries;
  for (const std::string& name : builtin_kernels()) {
    const std::string others = stands_for(name);
    entries.push_back({name, others.empty() ? description(builtin_kernel(name)) : others});
  }
  return entries;
}

std::vector<Entry> machine_entries() {
  std::vector<Entry> entries;
  for (const std::string& name : builtin_machines())
    entries.push_back({name, description(builtin_machine(name))});
  return entries;
}

std::vector<EncodingEntry> encoding_entries() {
  std::vector<EncodingEntry> entries;
  for (const EncodingInfo& row : encoding_table())
    entries.push_back({row.key, row.value, row.citation, row.family, to_string(row.propagation),
                       to_string(row.strengthening), row.size, row.claim});
  return entries;
}

std::string entries_json(const std::vector<Entry>& entries) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Entry& entry : entries) list.push_back({{"name", entry.name}, {"doc", entry.doc}});
  return list.dump(2) + "\n";
}

std::string encodings_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const EncodingEntry& entry : encoding_entries()) {
    nlohmann::ordered_json json = {{"key", entry.key}, {"value", entry.value}};
    const auto add = [&](const char* name, const std::string& text) {
      if (!text.empty()) json[name] = text;
    };
    add("source", entry.source);
    add("family", entry.family);
    add("propagation", entry.propagation);
    add("smaller_bounds_by", entry.smaller_bounds_by);
    add("size", entry.size);
    add("claim", entry.claim);
    list.push_back(std::move(json));
  }
  return list.dump(2) + "\n";
}

}  // namespace twill
