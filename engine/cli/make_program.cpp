#include "engine/cli/make_program.hpp"

#include <iostream>
#include <optional>
#include <utility>

#include "engine/cli/cli.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"
#include "graph/program/compare.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/links.hpp"

namespace twill::cli {
namespace {

/// What there is to make a program of: a problem with its hash and a schedule.
struct Given {
  Problem problem;
  std::string hash;
  ProgramSolution made;
};

/// The layout that a schedule file is for.
Given read_given(const MakeFlags& flags, const Workload& work) {
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
      auto made = program::derive(problem, *solution.schedule, {flags.turns});
      return {problem, work.hashes[k], {std::move(solution), std::move(made), false, 0, ""}};
    } catch (const InputError&) {
      if (last) throw;
    }
  }
  throw InputError(flags.schedule, "", "", "is for no layout of the kernel");
}

/// Solved here, and solved again with more asked of the schedule where there is no room. nullopt =
/// no schedule; `status` says whether that is proved.
std::optional<Given> solve_given(const MakeFlags& flags, const Workload& work, Status& status) {
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
               solve_program(problem, all.solution(), options, interrupt.token(), {flags.turns})};
}

}  // namespace

std::variant<MadeProgram, int> make_program(const MakeFlags& flags) {
  Workload work = load(flags.work);
  for (Lowered& one : work.problems)
    for (Memory& memory : one.problem.memories)
      if (memory.name == "smem" && memory.capacity > flags.kept_back)
        memory.capacity -= flags.kept_back;
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
  program.meaning = work.meaning;
  program::Links links;
  if (const auto no = work.meaning ? program::link(program, links) : std::nullopt) {
    if (!flags.quiet) std::cerr << "it cannot be executed: " << printable(*no) << "\n";
    program.meaning.reset();
  }
  return MadeProgram{std::move(program), std::move(given->problem), std::move(given->made.solution),
                     given->made.again,  given->made.reserved,      given->made.memory};
}

void MakeFlags::add_to(CLI::App& app) {
  work.add_to(app);
  app.add_option("SCHEDULE", schedule, "Schedule file of it; without one it is solved first");
  using enum SearchOption;
  search.add_to(app, {stages, handover, goals, ii, engine, encoding, threads, seed, time_limit,
                      conflict_limit, memory});
  app.add_flag("--turns", turns,
               "Keep the schedule's order on units that slots share, by waits where it needs them");
  app.add_flag("--quiet", quiet, "Nothing on standard error but errors");
}

}  // namespace twill::cli
