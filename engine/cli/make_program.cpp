#include "engine/cli/make_program.hpp"

#include <iostream>
#include <utility>

#include "engine/cli/cli.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/other_ways.hpp"
#include "engine/cli/ttgir.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"
#include "graph/ttgir/loops.hpp"

namespace twill::cli {
namespace {

constexpr int kMostLoops = 20;  // of a module, that are looked at one after the other

/// Where the caller sets no limit; some seconds. A compiler needs a schedule even where it is hard
/// to prove that none is shorter.
constexpr std::int64_t kDefaultConflicts = 50'000;

/// What a limit has left open in a schedule that a program is made of; "" = nothing.
std::string left_open(const Solution& solution) {
  if (!cut_short(solution.stop)) return "";
  const Schedule& found = *solution.schedule;
  const auto of = [](const char* name, Cycle value, Cycle bound) {
    const std::string text = std::string(name) + " = " + std::to_string(value);
    return text + (bound >= value ? ", proved the least" : ", at least " + std::to_string(bound));
  };
  std::string text =
      stop_text(solution) + ": " + of("I", found.initiation_interval, solution.ii_lower_bound);
  if (solution.ii_lower_bound >= found.initiation_interval)
    text += "; " + of("L", found.length, solution.length_lower_bound);
  return text + (solution.stop == Stop::conflict_limit ? " (no limit: --conflict-limit 0)" : "");
}

/// The program of a schedule file, for the layout that it is for.
ProgramResult read_given(const MakeFlags& flags, const ProgramSource& source) {
  if (flags.schedule == "-" && (flags.work.input == "-" || flags.work.machine == "-"))
    throw InputError("command line", "SCHEDULE", "\"-\"", "only one file can be standard input");
  const std::string text = read_file(flags.schedule);
  for (std::size_t k = 0; k < source.layouts.size(); ++k) {
    const bool last = k + 1 == source.layouts.size();
    bool none = false;
    try {
      const Solution solution = parse_schedule(source.layouts[k].problem, text, flags.schedule);
      none = !solution.schedule;  // whatever layout it is for
      if (none)
        throw InputError(flags.schedule, "/status", to_string(solution.status),
                         "a program needs a schedule");
      if (solution.problem_sha256 != source.hashes[k]) {
        if (!last) continue;
        throw InputError(flags.schedule, "/problem_sha256", solution.problem_sha256,
                         "must be the hash of the problem, " + source.hashes[k]);
      }
      return program_of(source, k, solution, flags.derive());
    } catch (const InputError&) {
      if (last || none) throw;
    }
  }
  throw InputError(flags.schedule, "", "", "is for no layout of the kernel");
}

}  // namespace

ProgramSource load_source(const WorkloadFlags& flags) {
  Workload work = load(flags);
  // (Of a problem whose registers are yet to be chosen there is no hash.)
  if (flags.choose_registers) work.hashes.clear();
  return {std::move(work.problems), std::move(work.hashes), std::move(work.meaning),
          std::move(work.modules), flags.unroll};
}

ProgramSource load_source(const MakeFlags& flags) {
  if (!flags.schedule.empty() && flags.registers == "auto")
    throw InputError("command line", "--registers", "auto",
                     "does not go with a schedule, which is for counts of its own");
  WorkloadFlags work = flags.work;
  if (!flags.schedule.empty()) work.ttgir.undo_rings = false;  // as `twill solve` reads it
  work.choose_registers = flags.registers == "auto";
  return load_source(work);
}

std::optional<int> other_loop(const WorkloadFlags& flags, const ProgramSource& source,
                              const std::function<bool(const ttgir::LoweredModule&)>& fits) {
  if (source.modules.empty() || flags.ttgir.loop || flags.ttgir.nest ||
      fits(*source.modules.front()))
    return std::nullopt;
  const auto count = static_cast<int>(ttgir::list_loops(source.modules.front()->module).size());
  for (int loop = count - 1; loop >= 0 && count <= kMostLoops; --loop) {
    WorkloadFlags other = flags;
    other.ttgir.loop = loop;
    try {
      if (fits(*load_source(other).modules.front())) return loop;
    } catch (const InputError&) {  // (a loop that has no problem has no program)
    }
  }
  return std::nullopt;
}

ProgramOptions program_options(const MakeFlags& flags) {
  Options search = flags.search.options();
  flags.work.pins.check_interval(search.ii);
  // (Who says how long it may take means that.)
  if (search.time_limit > 0 && search.conflict_limit == kDefaultConflicts)
    search.conflict_limit = 0;
  return {search, flags.derive(), 0};
}

void warn(const ProgramSource& source, bool quiet) {
  if (!quiet && !source.modules.empty()) std::cerr << warnings_text(*source.modules.front());
}

int told(const ProgramResult& result, bool quiet) {
  if (!quiet)
    for (const std::string& remark : result.remarks) std::cerr << remark << "\n";
  const std::string open = result.made && !quiet ? left_open(result.made->solution) : "";
  if (!open.empty()) std::cerr << "twill: " << open << "\n";
  if (result.made || result.missing == Missing::text) return kDone;
  const bool none = result.missing == Missing::schedule && result.status == Status::infeasible;
  std::cerr << "twill: " << (result.missing == Missing::schedule ? "" : "no program: ")
            << result.why << (none ? "; twill explain says what clashes" : "") << "\n";
  if (result.missing == Missing::defect) return kInternal;
  return result.missing == Missing::schedule && !none ? kStopped : kNo;
}

ProgramResult given_program(const MakeFlags& flags, const ProgramSource& source) {
  if (!flags.schedule.empty()) return read_given(flags, source);
  Interrupt interrupt;
  return best_program(source, program_options(flags), interrupt.token());
}

std::variant<MadeProgram, int> make_program(const MakeFlags& flags) {
  ProgramResult result = with_schedule<ProgramResult>(flags, [](const MakeFlags& one) {
    const ProgramSource source = load_source(one);
    warn(source, one.quiet);
    return given_program(one, source);
  });
  const int code = told(result, flags.quiet);
  if (code != kDone) return code;
  return std::move(*result.made);
}

void MakeFlags::add_to(CLI::App& app) {
  work.ttgir.undo_rings = true;
  work.add_to(app);
  app.add_option("SCHEDULE", schedule, "Schedule file of it; without one it is solved first");
  using enum SearchOption;
  search.search.conflict_limit = kDefaultConflicts;
  search.add_to(app, {stages, handover, goals, ii, engine, encoding, threads, seed, time_limit,
                      conflict_limit, memory});
  app.add_option(
         "--registers", registers,
         "machine = the counts of the machine file; auto = the best split (setmaxnreg) of the\n"
         "registers that the layout's warpgroups have at launch (default: machine, and where that\n"
         "leaves no schedule auto, then for a TTGIR module --subtile M=2 and M=4)")
      ->check(CLI::IsMember({"machine", "auto"}));
  app.add_flag("--turns", turns,
               "Keep the schedule's order on units that slots share, by the fewest waits without "
               "which the loop is slower");
  app.add_flag("--all-turns", all_turns, "Keep all of that order, whether it is faster or not");
  app.add_flag("--merge", merge,
               "Let ops that are waited for together arrive on one barrier: fewer waits");
  app.add_flag("--quiet", quiet, "Nothing on standard error but errors");
}

}  // namespace twill::cli
