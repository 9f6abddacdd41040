// twill bench import: a model that another solver found, as a verified schedule.
#include <algorithm>
#include <iostream>
#include <limits>
#include <memory>

#include "bench/lab/answer.hpp"
#include "bench/lab/lab.hpp"
#include "bench/lab/proof.hpp"
#include "engine/include/twill.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"

namespace twill::bench {
namespace {

struct ImportFlags {
  std::string model, formula, problem, proof, out;
};

int refuted(const ImportFlags& flags, const std::string& formula) {
  if (flags.proof.empty()) {
    std::cout << "no schedule, says the solver\n";
    return cli::kNo;
  }
  const std::string reason = proof_refusal(formula, flags.formula, read_file(flags.proof));
  std::cout << (reason.empty() ? "no schedule: the proof is accepted\n"
                               : "refused, proof: " + reason + "\n");
  return cli::kNo;
}

int run_import(const ImportFlags& flags) {
  const Problem problem = read_problem(flags.problem);
  const std::string formula = read_file(flags.formula), model = read_file(flags.model);
  const Answer answer = read_answer({formula, flags.formula}, {model, flags.model}, problem);
  if (answer.verdict == "UNSAT") return refuted(flags, formula);
  if (!answer.schedule) {
    std::cout << "no answer of the solver\n";
    return cli::kStopped;
  }
  Solution solution;
  solution.schedule = answer.schedule;
  const std::string refusal =
      refusal_of(problem, *solution.schedule, std::numeric_limits<Cycle>::max());
  if (!refusal.empty()) {
    std::cout << "refused, " << refusal << "\n";
    if (!answer.missing.empty())
      std::cout << "the model has no value of " << answer.missing.size()
                << " that the schedule is read from, the first: " << answer.missing.front() << "\n";
    return cli::kNo;
  }
  solution.problem = problem.name;
  solution.problem_sha256 = sha256(read_file(flags.problem));
  solution.status = Status::feasible;
  solution.stages = std::to_string(stage_count(*solution.schedule));
  solution.max_stages = stage_count(*solution.schedule);
  solution.engine = "import";
  if (!flags.out.empty()) write_file(flags.out, schedule_text(problem, solution));
  std::cout << "verified: I = " << solution.schedule->initiation_interval
            << ", L = " << solution.schedule->length << "\n";
  return cli::kDone;
}

}  // namespace

cli::Command import_command(CLI::App& bench) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* app = bench.add_subcommand("import", "A solver's model as a verified schedule");
  app->add_option("MODEL", flags->model,
                  "Output of the solver: s and v lines, MiniSat's file, a solution file (ilp), sat "
                  "and values (smtlib)")
      ->required();
  app->add_option("--formula", flags->formula, "The exported file")->required();
  app->add_option("--problem", flags->problem, "The problem file")->required();
  app->add_option("--proof", flags->proof,
                  "The DRAT proof, text or binary, of a CNF that has no model: checked");
  app->add_option("-o,--out", flags->out, "Write the schedule here");
  app->footer("Exit codes: 0 verified, 1 refused or UNSAT, 3 the solver has no answer.");
  return {app, [flags] { return run_import(*flags); }};
}

}  // namespace twill::bench
