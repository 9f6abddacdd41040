// twill program: what the slots of a schedule execute, judged before it is printed.

#include <iostream>
#include <memory>
#include <utility>

#include "engine/cli/cli.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/search_options.hpp"
#include "engine/cli/workload.hpp"
#include "engine/output/style.hpp"
#include "engine/output/text_program.hpp"
#include "engine/program.hpp"
#include "graph/io/file.hpp"
#include "graph/program/compare.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/program_io.hpp"

namespace twill::cli {
namespace {

struct ProgramFlags {
  WorkloadFlags work;
  SearchFlags search;
  std::string schedule;
  std::string output;
  bool quiet = false;
  bool json = false;
};

/// What there is to make a program of: a problem with its hash and a schedule.
struct Given {
  Problem problem;
  std::string hash;
  ProgramSolution made;
};

/// The layout that a schedule file is for.
Given read_given(const ProgramFlags& flags, const Workload& work) {
  if (flags.schedule == "-" && (flags.work.input == "-" || flags.work.machine == "-"))
    throw InputError("command line", "SCHEDULE", "\"-\"", "only one file can be standard input");
  const std::string text = read_file(flags.schedule);
  for (std::size_t k = 0; k < work.problems.size(); ++k) {
    const Problem& problem = work.problems[k].problem;
    const bool last = k + 1 == work.problems.size();
    try {
      Solution solution = parse_schedule(problem, text, flags.schedule);
      if (solution.problem_sha256 != work.hashes[k]) {
        if (!last) continue;
        throw InputError(flags.schedule, "/problem_sha256", solution.problem_sha256,
                         "must be the hash of the problem, " + work.hashes[k]);
      }
      if (!solution.schedule)
        throw InputError(flags.schedule, "/status", to_string(solution.status),
                         "a program needs a schedule");
      auto made = program::derive(problem, *solution.schedule);
      return {problem, work.hashes[k], {std::move(solution), std::move(made), false, 0, ""}};
    } catch (const InputError&) {
      if (last) throw;
    }
  }
  throw InputError(flags.schedule, "", "", "is for no layout of the kernel");
}

/// Solved here, and solved again with more asked of the schedule where there is no room. nullopt =
/// no schedule; `status` says whether that is proved.
std::optional<Given> solve_given(const ProgramFlags& flags, const Workload& work, Status& status) {
  const Options options = flags.search.options();
  Interrupt interrupt;
  const LayoutsSolution all = solve_layouts(work.problems, options, interrupt.token());
  status = all.status;
  if (!all.solution().schedule) {
    std::cerr << "twill: " << no_schedule_text(all.solution()) << "\n";
    return std::nullopt;
  }
  if (!flags.quiet && work.problems.size() > 1)
    std::cerr << "best: layout " << printable(all.layout().layout) << "\n";
  const Problem& problem = all.layout().problem;
  return Given{problem, work.hashes[all.chosen],
               solve_program(problem, all.solution(), options, interrupt.token())};
}

std::string head(const Given& given, const program::Program& program, int judged) {
  const Solution& solution = given.made.solution;
  std::string text = "program of " + printable(program.problem) +
                     ": I = " + std::to_string(program.initiation_interval) + ", " +
                     plural(program::stage_count(program), "stage") + "\n";
  text += std::string("the schedule is ") + to_string(solution.status);
  if (solution.status != Status::optimal)
    text += ", I >= " + std::to_string(solution.ii_lower_bound);
  text += "\n";
  if (given.made.again) {
    text +=
        "the first schedule found had no room for its program: this one was found with more "
        "asked of it";
    if (given.made.reserved > 0)
      text += ", " + std::to_string(given.made.reserved) + " less of " +
              printable(given.made.memory) + " among others";
    text += "\n";
  }
  text += "judged: no race, wrong version, deadlock or overrun at any trip count n (n = 0 .. " +
          std::to_string(judged) +
          " stand for all)\n"
          "orders and waits alone: the problem does not say what the ops compute, so that nothing\n"
          "here can be executed; MMAs of one slot are taken to be executed in their order, and to "
          "add\nto an operand of their result's size in place where the problem does not hold it\n"
          "op[k] is the op of iteration k; where n is less than " +
          std::to_string(program::stage_count(program)) +
          ", the same code without iterations from n on\n\n";
  return text;
}

int run(const ProgramFlags& flags) {
  if (const auto listing = loop_listing(flags.work)) {
    std::cout << *listing;
    return kDone;
  }
  const Workload work = load(flags.work);
  Status status = Status::unknown;
  std::optional<Given> given =
      flags.schedule.empty() ? solve_given(flags, work, status) : read_given(flags, work);
  if (!given) return status == Status::infeasible ? kNo : kStopped;
  if (const auto* refusal = std::get_if<program::Refusal>(&given->made.program)) {
    std::cerr << "twill: no program: " << printable(refusal->rule) << ": "
              << printable(refusal->text) << "\n";
    return kNo;
  }
  program::Program& program = std::get<program::Program>(given->made.program);
  program.problem_sha256 = given->hash;
  program.status = to_string(given->made.solution.status);
  program.ii_lower_bound = given->made.solution.ii_lower_bound;
  // What the judge has not accepted is not shown as a program.
  auto fault = program::judge(program);
  if (!fault) fault = program::compare(program, given->problem, *given->made.solution.schedule);
  if (fault) {
    std::cerr << "twill: no program: what was derived is refused by the judge: "
              << printable(fault->rule) << ": " << printable(fault->text) << "\n";
    return fault->rule == "window" ? kNo : kInternal;
  }
  const std::string file = program::program_text(program);
  if (!flags.output.empty()) write_file(flags.output, file);
  if (flags.json)
    std::cout << file;
  else if (flags.output.empty())
    std::cout << head(*given, program, *program::enough_iterations(program))
              << program::program_listing(program);
  return kDone;
}

}  // namespace

Command program_command(CLI::App& program) {
  auto flags = std::make_shared<ProgramFlags>();
  CLI::App* app = program.add_subcommand(
      "program", "What each slot of a schedule executes, with its waits and addresses");
  flags->work.add_to(*app);
  app->add_option("SCHEDULE", flags->schedule,
                  "Schedule file of it; without one it is solved first");
  using enum SearchOption;
  flags->search.add_to(*app, {stages, handover, goals, ii, engine, encoding, threads, seed,
                              time_limit, conflict_limit, memory});
  app->add_option("-o,--output", flags->output, "Write the program file (twill.program) here");
  app->add_flag("--json", flags->json, "Print the program file, not a listing");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::cli
