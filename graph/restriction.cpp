#include "graph/restriction.hpp"

namespace twill {

std::string restriction_of(const Solution& solution) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (solution.stages == "paper")
    add("of a length in the paper's window");
  else if (!solution.stages.empty() && solution.stages != "complete")
    add("of at most " + solution.stages + (solution.stages == "1" ? " stage" : " stages"));
  for (const auto& [name, value] : solution.options) {
    if (name == "ii") add("at I = " + value);
    if (name == "interval") add("at an I of " + value);
    if (name == "handover" && value == "no") add("without hand-overs of registers between slots");
    if (name.starts_with("pin ")) add("with " + name.substr(4) + " on " + value);
  }
  return text;
}

}  // namespace twill
