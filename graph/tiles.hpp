// Kernels with parameters (kernel files of version 3): tiles, sub-tiles, depths and chunks as
// choices, and the problems of all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/lower.hpp"

namespace twill {

/// A parameter of a kernel file: a number (`values`) or an element type (`types`).
struct KernelParameter {
  std::string name, doc;
  std::vector<std::int64_t> values;
  std::vector<std::string> types;
  std::size_t otherwise = 0;  ///< index of the default
  /// Is it the user's to say, and never chosen by a search? (Every type is; a head dimension.)
  bool given = false;

  std::size_t size() const { return types.empty() ? values.size() : types.size(); }
  std::string text(std::size_t index) const {
    return types.empty() ? std::to_string(values[index]) : types[index];
  }
};

struct KernelParameters {
  std::vector<KernelParameter> all;  ///< in the file's order; empty = the kernel has none
  std::string work_unit;             ///< what the work of an iteration counts: "MACs"
};

/// The parameters of a kernel file. Throws InputError when it is not well formed.
KernelParameters kernel_parameters(std::string_view kernel_text, const std::string& kernel_source);

/// One combination of values on one slot layout of a machine.
struct TileChoice {
  ParameterValues values;  ///< of all parameters, in the file's order
  Amount work = 1;         ///< of an iteration, in KernelParameters::work_unit
  std::string layout;
  std::optional<Lowered> lowered;  ///< none where the layout cannot hold the kernel ...
  std::string misfit;              ///< ... and why not
};

/// How many combinations a kernel may have, and parameters, and values of one.
inline constexpr std::size_t kMaxCombinations = 10'000;
inline constexpr std::size_t kMaxParameters = 16;
inline constexpr std::size_t kMaxParameterValues = 100;

/// Every combination that meets the kernel's conditions, on every layout (LowerOptions::layout: on
/// that one), in order: parameters as in the file, the last one fastest, then layouts as in the
/// machine file. Parameters named in LowerOptions::values have that value, given ones their
/// default, unless they are named. Throws InputError as lower() does, but for a layout that cannot
/// hold a combination; also for a kernel without parameters, for normalised costs (I of different
/// problems are compared), for more combinations than kMaxCombinations, and where none meets the
/// conditions.
std::vector<TileChoice> lower_tiles(std::string_view kernel_text, const std::string& kernel_source,
                                    std::string_view machine_text,
                                    const std::string& machine_source,
                                    const LowerOptions& options = {});

}  // namespace twill
