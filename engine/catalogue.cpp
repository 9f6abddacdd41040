#include "engine/catalogue.hpp"

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

nlohmann::ordered_json entries_json(const std::vector<Entry>& entries) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Entry& entry : entries) list.push_back({{"name", entry.name}, {"doc", entry.doc}});
  return list;
}

nlohmann::ordered_json encodings_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const EncodingInfo& row : encoding_table()) {
    nlohmann::ordered_json entry = {{"key", row.key}, {"value", row.value}};
    const auto add = [&](const char* name, const std::string& text) {
      if (!text.empty()) entry[name] = text;
    };
    add("source", row.citation);
    add("family", row.family);
    add("propagation", to_string(row.propagation));
    add("smaller_bounds_by", to_string(row.strengthening));
    add("size", row.size);
    add("claim", row.claim);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace twill
