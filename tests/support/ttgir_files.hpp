// The TTGIR modules that the project ships, and how tests load them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "graph/io/file.hpp"
#include "graph/lower.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "tests/support/streaming.hpp"

namespace twill::test {

inline const std::string kTritonFolder = TWILL_TEST_DATA "/../../graph/kernels/triton/";

inline std::vector<std::string> shipped_modules() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kTritonFolder))
    if (entry.path().extension() == ".ttgir") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string module_text(const std::string& name) {
  return read_file(kTritonFolder + name + ".ttgir");
}

/// "hopper-layer-norm" -> "hopper".
inline std::string machine_of(const std::string& name) {
  return name.substr(0, name.find('-'));
}

inline ttgir::LoweredModule lowered(const std::string& name, int subtile = 1,
                                    const std::string& machine = "") {
  const std::string on = machine.empty() ? machine_of(name) : machine;
  ttgir::LoopOptions loop;
  loop.subtile = subtile;
  return ttgir::lower_module(module_text(name), name, builtin_machine(on), on, loop,
                             streaming_loads());
}

}  // namespace twill::test
