// twill program: what the slots of a schedule execute, judged before it is printed.

#include <iostream>
#include <memory>

#include "engine/cli/cli.hpp"
#include "engine/cli/make_program.hpp"
#include "engine/output/style.hpp"
#include "engine/output/text_program.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/program_io.hpp"

namespace twill::cli {
namespace {

struct ProgramFlags {
  MakeFlags make;
  std::string output;
  bool json = false;
};

std::string head(const MadeProgram& made, int judged) {
  const program::Program& program = made.program;
  const Solution& solution = made.solution;
  std::string text = "program of " + printable(program.problem) +
                     ": I = " + std::to_string(program.initiation_interval) + ", " +
                     plural(program::stage_count(program), "stage") + "\n";
  text += std::string("the schedule is ") + to_string(solution.status);
  if (!program.searched_only.empty())
    text += " among schedules " + printable(program.searched_only);
  if (solution.status != Status::optimal)
    text += ", I >= " + std::to_string(solution.ii_lower_bound);
  text += "\n";
  if (const auto& placed = program.placed)
    text += std::string(placed->reached ? "no schedule whose program fits in memory is better: "
                                        : "of schedules whose program fits in memory: ") +
            "I >= " + std::to_string(placed->initiation_interval) +
            ", L >= " + std::to_string(placed->length) + "\n(" + program::kPlacementClass + ")\n";
  if (made.again) {
    text +=
        "the first schedule found had no room for its program: this one was found with more "
        "asked of it";
    if (made.reserved > 0)
      text += ", " + std::to_string(made.reserved) + " less of " + printable(made.memory) +
              " among others";
    text += "\n";
  }
  text += "judged: no race, wrong version, deadlock or overrun at any trip count n (n = 0 .. " +
          std::to_string(judged) + " stand for all)\n";
  text += program.meaning ? "what the ops compute is known: twill run executes it; "
                          : "orders and waits alone: nothing says what the ops compute, so that "
                            "nothing\nhere can be executed; ";
  text +=
      "MMAs of one slot are taken to be executed in their order, and to add\n"
      "to an operand of their result's size in place where the problem does not hold it\n"
      "op[k] is the op of iteration k; where n is less than " +
      std::to_string(program::stage_count(program)) +
      ", the same code without iterations from n on\n\n";
  return text;
}

int run(const ProgramFlags& flags) {
  if (const auto listing = loop_listing(flags.make.work)) {
    std::cout << *listing;
    return kDone;
  }
  const auto made = make_program(flags.make);
  if (const int* code = std::get_if<int>(&made)) return *code;
  const MadeProgram& all = std::get<MadeProgram>(made);
  const std::string file = program::program_text(all.program);
  if (!flags.output.empty()) write_or_print(flags.output, file);
  if (flags.json)
    std::cout << file;
  else if (flags.output.empty())
    std::cout << head(all, *program::enough_iterations(all.program))
              << program::program_listing(all.program);
  return kDone;
}

}  // namespace

Command program_command(CLI::App& program) {
  auto flags = std::make_shared<ProgramFlags>();
  CLI::App* app = program.add_subcommand(
      "program", "What each slot of a schedule executes, with its waits and addresses");
  flags->make.add_to(*app);
  app->add_option("-o,--output", flags->output, "Write the program file (twill.program) here");
  app->add_flag("--json", flags->json, "Print the program file, not a listing");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::cli
