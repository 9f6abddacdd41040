#include "graph/emit/about.hpp"

#include "graph/emit/names.hpp"

namespace twill::emit {

std::string proved_of(const program::Program& program) {
  std::string text = "I >= " + std::to_string(program.ii_lower_bound) + " is proved";
  if (const auto& placed = program.placed)
    text += placed->reached
                ? "; with addresses none is better"
                : "; with addresses I >= " + std::to_string(placed->initiation_interval);
  return text;
}

std::string status_of(const program::Program& program) {
  const std::string status = program.status == "optimal" ? "optimal" : "feasible";
  return program.searched_only.empty()
             ? status
             : status + " among schedules " + harmless(program.searched_only);
}

namespace {
/// Statements that are not in the schedule's order.
std::string order_text(const EmitOptions& options) {
  std::string text;
  for (const std::string& one : options.moved) text += (text.empty() ? "" : ", ") + harmless(one);
  return text.empty() ? ""
                      : "\nTo hold fewer registers, against the schedule's order: " + text + ".";
}
}  // namespace

std::string about_program(const program::Program& program, const EmitOptions& options) {
  std::string copies;
  if (options.user != nullptr && options.user->unrolled > 1) {
    const std::string count = std::to_string(options.user->unrolled);
    copies = "\nOne iteration here is " + count +
             " of the function's: it is for numbers of them that are multiples of " + count + ".";
  }
  return harmless(program.problem) + " on " + harmless(options.machine) + ", written by Twill " +
         harmless(options.version) + ".\n\nSchedule: " + status_of(program) +
         ", one iteration every I = " + std::to_string(program.initiation_interval) +
         " cycles of the machine file (" + proved_of(program) + "), " +
         std::to_string(program::stage_count(program)) + " stages." + copies + order_text(options) +
         "\nProblem: sha256 " + harmless(program.problem_sha256) + ".\n\n";
}

}  // namespace twill::emit
