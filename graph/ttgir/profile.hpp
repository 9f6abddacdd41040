// Profile files: measured cycles that replace a machine's rules (twill.profile, version 1).
//
//   {"format": "twill.profile", "version": 1,
//    "ops": {"math.exp2": 1010, "tt.reduce": {"cycles": 640, "latency": 1690}, "acc_39": 530}}
//
// A key is a node of the loop ("acc_39"), an op ("math.exp2") or a kind of rule ("gemm"); the first
// that matches in this order counts. Schema: graph/schema/profile.schema.json.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "graph/ttgir/loop_kernel.hpp"

namespace twill::ttgir {

/// Strict reading; throws InputError with the JSON pointer, the value and the rule.
std::map<std::string, Measured> parse_profile(std::string_view text, const std::string& source);

}  // namespace twill::ttgir
