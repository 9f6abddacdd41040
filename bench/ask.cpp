// twill bench ask: one question (I, L), decided in this process or written for
// another solver.

#include <chrono>
#include <condition_variable>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <thread>

#include "bench/bench.hpp"
#include "bench/lab/linear_program.hpp"
#include "bench/smtlib.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/workload.hpp"
#include "engine/decide.hpp"
#include "graph/branch_and_bound/modulo_schedule.hpp"
#include "graph/io/file.hpp"

namespace twill::bench {
namespace {

struct AskFlags {
  cli::WorkloadFlags work;
  SearchFlags search;
  Cycle ii = 0, length = 0;
  std::string smtlib, lp;
  bool literal = false, modulo = false;
};

/// Asks for a stop after so many seconds of wall clock (0 = never) or when the outer token asks.
class StopLater {
 public:
  StopLater(double seconds, const std::stop_token& outer)
      : thread_([this, seconds, outer](const std::stop_token& end) {
          const auto begin = std::chrono::steady_clock::now();
          std::mutex mutex;
          std::condition_variable_any sleep;
          std::unique_lock lock(mutex);
          while (!end.stop_requested()) {
            const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
            const bool late = seconds > 0 && spent.count() >= seconds;
            if (late || outer.stop_requested()) source_.request_stop();
            sleep.wait_for(lock, end, std::chrono::milliseconds(20), [] { return false; });
          }
        }) {}
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread thread_;
};

/// The smallest L at I under rules 1 and 2 alone, as a row.
int ask_modulo(const AskFlags& flags, const Options& options, const Problem& problem,
               const std::string& hash) {
  cli::Interrupt interrupt;
  const StopLater later(options.time_limit, interrupt.token());
  ModuloScheduleOptions limits;
  limits.threads = options.threads;
  limits.stop = later.token();
  const auto begin = std::chrono::steady_clock::now();
  const ModuloSchedule best = optimal_modulo_schedule(problem, flags.ii, limits);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  nlohmann::ordered_json row;
  row["problem"] = problem.name;
  row["problem_sha256"] = hash;
  row["initiation_interval"] = flags.ii;
  row["verdict"] = !best.proved ? "unknown"
                   : best.start ? "optimal " + std::to_string(best.length)
                                : "unsat";
  if (best.start) row["length"] = best.length;
  row["nodes"] = best.nodes;
  row["solve_seconds"] = spent.count();
  std::cout << row.dump() << "\n";
  if (!best.proved) return cli::kStopped;
  return best.start ? cli::kDone : cli::kNo;
}

int run(const AskFlags& flags) {
  const Options options = flags.search.options();
  const cli::Workload work = flags.search.load(flags.work);
  const Problem& problem = work.problems.front().problem;
  check(problem);
  if (!flags.lp.empty()) {
    write_file(flags.lp, modulo_linear_program(problem, flags.ii));
    return cli::kDone;
  }
  if (flags.modulo) return ask_modulo(flags, options, problem, work.hashes.front());
  if (flags.length == 0)
    throw InputError("command line", "--length", "nothing",
                     "must be given, but for --modulo and --lp");
  if (!flags.smtlib.empty()) {
    const std::string text = smtlib(problem, flags.ii, flags.length, flags.literal);
    write_file(flags.smtlib, text);
    return cli::kDone;
  }
  cli::Interrupt interrupt;
  const Decided decided = decide(problem, flags.ii, flags.length, options, interrupt.token());
  nlohmann::ordered_json row;
  row["problem"] = problem.name;
  row["problem_sha256"] = work.hashes.front();
  row["initiation_interval"] = flags.ii;
  row["length"] = flags.length;
  row["verdict"] = to_string(decided.verdict);
  row["by"] = decided.by_bounds ? "bounds" : "formula";
  row["variables"] = decided.variables;
  row["clauses"] = decided.clauses;
  row["conflicts"] = decided.conflicts;
  row["solve_seconds"] = decided.seconds;
  std::cout << row.dump() << "\n";
  if (decided.verdict == Verdict::sat) return cli::kDone;
  return decided.verdict == Verdict::unsat ? cli::kNo : cli::kStopped;
}

}  // namespace

cli::Command ask_command(CLI::App& bench) {
  auto flags = std::make_shared<AskFlags>();
  CLI::App* app = bench.add_subcommand(
      "ask", "Is there a schedule at this I no longer than this L? The answer as JSON");
  flags->work.add_to(*app);
  app->add_option("--ii", flags->ii, "The initiation interval I")
      ->required()
      ->check(CLI::Range(Cycle{1}, kMaxCycles));
  auto* length = app->add_option("--length", flags->length, "The length L")
                     ->check(CLI::Range(Cycle{1}, kMaxCycles));
  auto* modulo = app->add_flag(
      "--modulo", flags->modulo,
      "The smallest L at this I under dependences and units alone (Algorithm 1's program)");
  auto* lp = app->add_option("--lp", flags->lp,
                             "Do not decide: write that program here as a linear program");
  modulo->excludes(length);
  lp->excludes(length)->excludes(modulo);
  auto* smtlib_option = app->add_option("--smtlib", flags->smtlib,
                                        "Do not decide: write the question here as SMT-LIB 2, in "
                                        "the form of the Twill paper, corrected");
  app->add_flag("--literal", flags->literal, "As the paper prints it, which is not exact")
      ->needs(smtlib_option);
  smtlib_option->excludes(modulo)->excludes(lp);
  flags->search.add_to(*app);
  app->footer(
      "Of several layouts the first is asked. --encoding form=straight-line decides the paper's\n"
      "program as CNF, form=straight-line-literal the one that is printed.\n"
      "Exit codes: 0 sat or the smallest L is found, 1 unsat, 3 stopped at a limit.");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::bench
