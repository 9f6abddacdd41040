// twill run --time: a program replayed in time.
#pragma once

#include <optional>
#include <string>

#include "engine/cli/make_program.hpp"
#include "graph/program/varied_time.hpp"

namespace twill::cli {

struct TimeFlags {
  bool on = false;
  int iterations = 100;
  std::optional<Cycle> wait_cost, arrive_cost;  ///< none = the machine's
  bool no_contention = false;
  program::Variation variation;
  bool load_spread_given = false;
  std::string vary = "execution";
  std::string trace;  ///< file; "" = none
  std::string trace_order = "arrival";

  void add_to(CLI::App& app);
};

/// The exit code. Throws InputError.
int run_time(const MakeFlags& make, TimeFlags flags, bool json);

}  // namespace twill::cli
