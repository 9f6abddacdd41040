// Published makespans, and what is said of one that was found.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "graph/problem.hpp"

namespace twill::bench {

/// What a list says of an instance: "43", "90..102" (the optimum is between), "..87" (it is at most
/// so much), "unsat" (there is no schedule).
struct Published {
  Cycle low = 0, high = 0;  ///< 0 = not said
  bool none = false;

  bool exact() const { return none || (low > 0 && low == high); }
  /// May the optimum be this, or, with none, may there be no schedule?
  bool allows(Cycle optimum, bool no_schedule) const;
};

/// Throws InputError naming `source`, `place`, the text and the rule.
Published parse_published(std::string_view text, const std::string& source,
                          const std::string& place);

/// A list in CSV, as kobe-scheduling has it: the heading problem,optimum, then a line an instance,
/// by the name of its file. By stem: "j301_1". Throws InputError.
std::map<std::string, Published> read_published(const std::string& path);
std::map<std::string, Published> parse_published_list(std::string_view text,
                                                      const std::string& source);

}  // namespace twill::bench
