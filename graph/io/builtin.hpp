// The files of graph/kernels, graph/machines and graph/schema, embedded by graph/io/embed.cmake.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace twill {

struct BuiltinFile {
  std::string_view folder;  ///< "kernels", "machines" or "schema"
  std::string_view name;    ///< without the ending, e.g. "hopper-bwd", "kernel.schema"
  std::string_view text;
};

/// All embedded files, folder by folder. Defined in the generated file.
const std::vector<BuiltinFile>& builtin_files();

/// The JSON Schema of a format: "problem", "schedule", "kernel" or "machine". Throws InputError for
/// an unknown name.
std::string builtin_schema(const std::string& name);

}  // namespace twill
