// What the tests of lowering share: built-in and small kernels on machines, and refusals as text.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/lower.hpp"
#include "graph/lowering/kernel.hpp"
#include "graph/lowering/machine.hpp"
#include "tests/support/contains.hpp"

namespace twill::test {

inline std::vector<Lowered> lower_builtin(const std::string& kernel, const std::string& machine,
                                          const LowerOptions& options = {}) {
  return lower(builtin_kernel(kernel, machine), kernel, builtin_machine(machine), machine, options);
}

inline Lowered lower_text(const std::string& kernel, const std::string& machine) {
  return lower(kernel, "k", machine, "m").front();
}

inline const Op& find_op(const Problem& problem, const std::string& id) {
  for (const Op& op : problem.ops)
    if (op.id == id) return op;
  FAIL("no op ", id);
  return problem.ops.front();
}

inline std::string refusal_text(const auto& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

// A small machine: one unit of each of two kinds, a slot for loads and two warpgroups.
inline const char* const kSmallMachine = R"({
  "format": "twill.machine", "version": 1, "name": "small",
  "units": {"A": 1, "B": 1}, "bandwidth": {"B": 100},
  "memories": {"mem": {"capacity": 1000, "measure": "columns"}},
  "spill": {"base": 10, "per_line": 2, "line_bytes": 128},
  "layouts": [{"name": "l", "slots": [
    {"name": "load", "width": 1, "registers": 255, "variable_latency": true},
    {"name": "w0", "width": 4, "registers": 255}, {"name": "w1", "width": 4, "registers": 255}]}],
  "rules": {
    "read": {"unit": "A", "cycles": [{"measure": "elements", "rate": 100}], "width": 4, "result": "registers"},
    "calc": {"unit": "B", "cycles": [{"measure": "elements", "rate": 50}, {"measure": "constant", "factor": 3}], "width": 4, "result": "registers"},
    "write": {"unit": "A", "cycles": [{"measure": "elements", "rate": 200}], "width": 4, "result": "mem"},
    "slow": {"unit": "A", "cycles": [{"measure": "elements", "rate": 100}], "occupancy": [{"measure": "constant", "factor": 5}], "latency": [{"measure": "constant", "factor": 900}], "width": 4, "result": "registers"},
    "load": {"unit": "A", "cycles": [{"measure": "bytes", "rate": 7}], "width": 1, "result": "none", "variable_latency": true},
    "view": {"width": 4, "result": "registers"}
  }})";

inline std::string small_kernel(const std::string& ops, const std::string& edges,
                                const std::string& more = "") {
  return R"({"format": "twill.kernel", "version": 1, "name": "k", "ops": [)" + ops +
         R"(], "edges": [)" + edges + "]" + more + "}";
}

inline std::string tile_op(const std::string& id, const std::string& kind,
                           const std::string& more = "", const std::string& shape = "[128, 100]") {
  return R"({"id": ")" + id + R"(", "kind": ")" + kind + R"(", "shape": )" + shape +
         R"(, "type": "f32")" + more + "}";
}

inline std::string edge(const std::string& from, const std::string& to,
                        const std::string& more = "") {
  return R"({"from": ")" + from + R"(", "to": ")" + to + "\"" + more + "}";
}

}  // namespace twill::test
