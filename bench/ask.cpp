// twill bench ask: one question (I, L), decided in this process or written for
// another solver.

#include <tbb/global_control.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/bench.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/workload.hpp"
#include "engine/decide.hpp"
#include "engine/smtlib.hpp"
#include "graph/file.hpp"

namespace twill::bench {
namespace {

struct AskFlags {
  cli::WorkloadFlags work;
  SearchFlags search;
  Cycle ii = 0, length = 0;
  std::string smtlib;
  bool literal = false;
};

int run(const AskFlags& flags) {
  const Options options = flags.search.options();
  std::optional<tbb::global_control> threads;
  if (options.threads > 0) {
    threads.emplace(tbb::global_control::max_allowed_parallelism,
                    static_cast<std::size_t>(options.threads));
  }
  const cli::Workload work = cli::load(flags.work);
  const Problem& problem = work.problems.front().problem;
  check(problem);
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
  app->add_option("--length", flags->length, "The length L")
      ->required()
      ->check(CLI::Range(Cycle{1}, kMaxCycles));
  auto* smtlib_option = app->add_option("--smtlib", flags->smtlib,
                                        "Do not decide: write the question here as SMT-LIB 2, in "
                                        "the form of the Twill paper, corrected");
  app->add_flag("--literal", flags->literal, "As the paper prints it, which is not exact")
      ->needs(smtlib_option);
  flags->search.add_to(*app);
  app->footer(
      "Of several layouts the first is asked. --encoding form=straight-line decides the paper's\n"
      "program as CNF, form=straight-line-literal the one that is printed.\n"
      "Exit codes: 0 sat, 1 unsat, 3 stopped at a limit.");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::bench
