#include "graph/io/builtin.hpp"

#include <algorithm>
#include <map>

#include "graph/io/json_text.hpp"
#include "graph/lower.hpp"
#include "graph/lowering/machine.hpp"

namespace twill {
namespace {

std::vector<std::string> names_in(std::string_view folder) {
  std::vector<std::string> names;
  for (const BuiltinFile& file : builtin_files())
    if (file.folder == folder) names.emplace_back(file.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

const BuiltinFile* find(std::string_view folder, std::string_view name) {
  for (const BuiltinFile& file : builtin_files())
    if (file.folder == folder && file.name == name) return &file;
  return nullptr;
}

std::string text_of(std::string_view folder, const std::string& name, const char* what,
                    std::vector<std::string> (*known)()) {
  if (const BuiltinFile* file = find(folder, name)) return std::string(file->text);
  throw InputError("built-in", what, quote(name),
                   std::string("no such ") + what + "; built in: " + joined(known()));
}

/// Kernel names that the machine resolves (fmha-forward, ...).
std::map<std::string, std::string> aliases_of(const std::string& machine) {
  return parse_machine(builtin_machine(machine), machine).aliases;
}

/// Is it one of some machine? Those whose text does not even name it need not be read.
bool is_alias(const std::string& name) {
  const std::vector<std::string> machines = builtin_machines();
  return std::any_of(machines.begin(), machines.end(), [&](const std::string& machine) {
    const BuiltinFile* const file = find("machines", machine);
    return file->text.find('"' + name + '"') != std::string_view::npos &&
           aliases_of(machine).count(name) != 0;
  });
}

std::vector<std::string> builtin_schemas() {
  return names_in("schema");
}

}  // namespace

std::vector<std::string> builtin_kernels() {
  std::vector<std::string> names = names_in("kernels");
  for (const std::string& machine : builtin_machines())
    for (const auto& [alias, kernel] : aliases_of(machine)) names.push_back(alias);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool is_builtin_kernel(const std::string& name) {
  return find("kernels", name) != nullptr || is_alias(name);
}

std::vector<std::string> builtin_machines() {
  return names_in("machines");
}

std::string builtin_machine(const std::string& name) {
  return text_of("machines", name, "machine", builtin_machines);
}

std::string kernel_on_machine(const std::string& name, std::string_view machine_text,
                              const std::string& machine_source) {
  const Machine machine = parse_machine(machine_text, machine_source);
  const auto alias = machine.aliases.find(name);
  return alias == machine.aliases.end() ? name : alias->second;
}

std::string builtin_kernel(const std::string& name, const std::string& machine) {
  if (find("kernels", name) == nullptr && is_alias(name)) {
    if (machine.empty()) {
      std::vector<std::string> with_graph = builtin_machines();
      std::erase_if(with_graph, [&](const std::string& m) {
        return kernel_on_machine(name, builtin_machine(m), m) == name;
      });
      throw InputError(
          "built-in", "kernel", quote(name),
          "stands for the graph of a machine: name the machine, one of " + joined(with_graph));
    }
    const std::string resolved = kernel_on_machine(name, builtin_machine(machine), machine);
    if (resolved == name)
      throw InputError("built-in", "kernel", quote(name),
                       "machine " + quote(machine) + " has no such graph");
    return builtin_kernel(resolved);
  }
  return text_of("kernels", name, "kernel", builtin_kernels);
}

std::string builtin_schema(const std::string& name) {
  return text_of("schema", name + ".schema", "schema", builtin_schemas);
}

}  // namespace twill
