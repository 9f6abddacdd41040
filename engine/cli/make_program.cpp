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
  std::shared_ptr<const ttgir::LoweredModule> module;
  std::optional<ttgir::ModuleMeaning> meaning;  ///< then `problem` is ttgir::program_problem()
};

/// What a module's loop computes; that it is not known is said, and why.
void read_module(const MakeFlags& flags, const Workload& work, std::size_t k, Given& given) {
  if (work.module(k) == nullptr) return;
  auto read = ttgir::meaning_of_loop(*work.module(k));
  if (const auto* no = std::get_if<ttgir::NoMeaning>(&read)) {
    if (!flags.quiet)
      std::cerr << "what the loop computes is not known: " << printable(no->why) << "\n";
    return;
  }
  given.module = work.modules[k];
  given.meaning = std::move(std::get<ttgir::ModuleMeaning>(read));
  given.problem = ttgir::program_problem(*given.module, given.meaning->meaning, given.problem);
}

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
      Given given{problem, work.hashes[k], {}, nullptr, std::nullopt};
      read_module(flags, work, k, given);
      auto made = program::derive(given.problem, *solution.schedule, {flags.turns});
      given.made = {std::move(solution), std::move(made), false, 0, ""};
      return given;
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
  Given given{all.layout().problem, work.hashes[all.chosen], {}, nullptr, std::nullopt};
  read_module(flags, work, all.chosen, given);
  given.made =
      solve_program(given.problem, all.solution(), options, interrupt.token(), {flags.turns});
  const auto* refusal = std::get_if<program::Refusal>(&given.made.program);
  if (refusal == nullptr || refusal->rule != "schedule" || !given.meaning) return given;
  // Where results lie is more than the schedule knew: the loop is solved as its program has it.
  const Solution again = solve(given.problem, options, interrupt.token());
  if (!again.schedule) return given;
  given.made = solve_program(given.problem, again, options, interrupt.token(), {flags.turns});
  const Solution& first = all.solution();
  Solution& last = given.made.solution;
  const bool same = last.schedule->initiation_interval == first.schedule->initiation_interval &&
                    last.schedule->length == first.schedule->length;
  if (!same) last.status = Status::feasible;
  if (same) last.status = first.status;
  last.ii_lower_bound = first.ii_lower_bound;
  given.made.again = true;
  return given;
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
  program.meaning = given->meaning ? given->meaning->meaning : work.meaning;
  program::Links links;
  if (const auto no = program.meaning ? program::link(program, links) : std::nullopt) {
    if (!flags.quiet) std::cerr << "it cannot be executed: " << printable(*no) << "\n";
    program.meaning.reset();
    given->meaning.reset();
    given->module.reset();
  }
  return MadeProgram{
      std::move(program),       std::move(given->problem), std::move(given->made.solution),
      given->made.again,        given->made.reserved,      given->made.memory,
      std::move(given->module), std::move(given->meaning)};
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
