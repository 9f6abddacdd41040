// What other solvers answer, in the formats of the SAT and pseudo-Boolean competitions.
#pragma once

#include <string>
#include <vector>

namespace twill::bench {

/// The literals of `v` lines, or of a bare list after SAT; "UNSAT" or "SAT" as the solver says.
struct Model {
  std::string answer;
  std::vector<int> literals;
};
/// Throws InputError naming the line.
Model parse_model(const std::string& text, const std::string& file);

}  // namespace twill::bench
