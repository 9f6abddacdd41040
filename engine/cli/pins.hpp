// Decisions about ops on the command line: they become pins of the problem.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "graph/problem.hpp"

namespace twill::cli {

struct PinFlags {
  std::vector<std::string> pin, same_slot, other_slot, forbid, stage;
  std::string range;

  void add_to(CLI::App& app);
  bool any() const {
    return !(pin.empty() && same_slot.empty() && other_slot.empty() && forbid.empty() &&
             stage.empty() && range.empty());
  }
  /// Adds the pins and the range of I to a problem, whose layout is named in messages (it may be
  /// ""). Throws InputError when a name is not the problem's, a number is out of range, or check()
  /// refuses the pins.
  void apply(Problem& problem, const std::string& layout) const;
  /// Throws InputError where the one interval that is asked for is outside the range.
  void check_interval(const std::optional<Cycle>& ii) const;
};

}  // namespace twill::cli
