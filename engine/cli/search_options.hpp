// The options of a search: one table for `solve`, `explain`, `evaluate` and `bench`.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>

#include "engine/include/twill.hpp"

namespace twill::cli {

enum class SearchOption {
  stages,
  handover,
  goals,
  length_slack,
  ii,
  iterations,
  engine,
  encoding,
  threads,
  seed,
  time_limit,
  conflict_limit,
  memory
};

struct SearchFlags {
  Options search;
  std::string memory;  ///< what --memory says; "" = not said

  /// Those that a command has, in this order. `limited` is what --time-limit and --conflict-limit
  /// limit: "a row".
  void add_to(CLI::App& app, std::initializer_list<SearchOption> options,
              const std::string& limited = "in all");
  /// The options, with the memory limit read and the default goals in place of their name. Throws
  /// InputError.
  Options options() const;
};

/// Limits have these names everywhere: --time-limit is wall clock, --cpu-limit is the time of
/// processors. In the laboratory they had others, which stand after the comma and are still read.
inline constexpr const char* kCpuLimit = "--cpu-limit,--limit-cpu";
inline constexpr const char* kConflictLimit = "--conflict-limit,--limit-conflicts";
inline constexpr const char* kMemoryLimit = "--memory,--limit-mem";

}  // namespace twill::cli
