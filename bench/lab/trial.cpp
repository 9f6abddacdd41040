// twill bench trial: one row in this process.
#include "bench/lab/trial.hpp"

#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>

#include "bench/lab/cpu_watch.hpp"
#include "bench/lab/lab.hpp"
#include "engine/cadical.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/search_options.hpp"
#include "engine/include/twill.hpp"
#include "graph/io/file.hpp"

namespace twill::bench {
namespace {

std::string stopped_status(const Budget& budget, const CpuWatch& watch) {
  if (watch.out_of_time()) return "TIMEOUT";
  if (budget.reason() == Stop::memory_limit) return "MEMOUT";
  if (budget.reason() == Stop::interrupt) return "STOPPED";
  return "CONFLICTS";
}

nlohmann::ordered_json schedule_json(const Schedule& schedule) {
  return {{"start", schedule.start}, {"slot", schedule.warp}, {"length", schedule.length}};
}

void add_sizes(std::int64_t variables, std::int64_t clauses, std::int64_t literals,
               const std::vector<FamilySize>& sizes, nlohmann::ordered_json& row) {
  row["vars"] = variables;
  row["clauses"] = clauses;
  row["literals"] = literals;
  row["aux_by_family"] = row["clauses_by_family"] = nlohmann::ordered_json::object();
  for (const FamilySize& size : sizes) {
    row["aux_by_family"][size.family] = size.variables;
    row["clauses_by_family"][size.family] = size.clauses;
  }
}

nlohmann::ordered_json write_question(const Trial& trial, const std::stop_token& stop) {
  CpuWatch watch(trial.limits.cpu_seconds, stop);
  Budget budget(watch.token(), 0, 0, trial.limits.memory);
  nlohmann::ordered_json row;
  Instance instance;
  instance.name = trial.problem.name;
  instance.file = trial.file;
  instance.sha256 = sha256(read_file(trial.file));
  instance.ii = trial.ii;
  instance.length = trial.length;
  try {
    const QuestionText question = question_text(trial.format, instance, trial.problem,
                                                trial.encoding, trial.scramble, budget);
    write_file(trial.formula, question.text);
    add_sizes(question.variables, question.constraints, question.literals, question.sizes, row);
    row["encode_cpu_s"] = question.cpu_seconds;
    row["status"] = "WRITTEN";
  } catch (const Budget::Spent&) {
    row["status"] = stopped_status(budget, watch);
  } catch (const std::bad_alloc&) {
    row["status"] = "MEMOUT";
  }
  return row;
}

}  // namespace

nlohmann::ordered_json try_question(const Trial& trial, const std::stop_token& stop) {
  if (!trial.formula.empty()) return write_question(trial, stop);
  const auto wall = std::chrono::steady_clock::now();
  const EncodingChoice choice = parse_encoding(trial.encoding);
  CpuWatch watch(trial.limits.cpu_seconds, stop);
  Budget budget(watch.token(), 0, trial.limits.conflicts, trial.limits.memory);
  nlohmann::ordered_json row;
  std::string status;
  std::optional<Schedule> schedule;
  bool accepted = false;
  try {
    const EncodedQuestion question =
        encode_question(trial.problem, trial.ii, trial.length, choice, budget);
    add_sizes(question.cnf.variables(), static_cast<std::int64_t>(question.cnf.clauses()),
              question.literals, question.sizes, row);
    row["encode_cpu_s"] = question.cpu_seconds;
    const ScrambledCnf formula = scrambled(question.cnf, trial.scramble);
    const double begin = cpu_seconds();
    SatSolver solver(budget, trial.seed);
    if (!trial.proof.empty()) solver.begin_proof(trial.proof);
    for (int v = 0; v < formula.cnf.variables(); ++v) solver.new_variable();
    for (std::size_t c = 0; c < formula.cnf.clauses(); ++c)
      solver.add_clause(formula.cnf.clause(c));
    const Verdict answer = solver.solve();
    if (!trial.proof.empty()) solver.end_proof();
    row["solve_cpu_s"] = cpu_seconds() - begin;
    if (answer == Verdict::sat) {
      status = "SAT";
      schedule = question.map.decode(
          trial.problem, [&](Lit l) { return solver.value(Lit::of(formula.of(l.dimacs()))); });
      const auto violation = verify(trial.problem, *schedule);
      accepted = !violation && schedule->length <= trial.length;
      if (!accepted && choice.form != Form::straight_line_literal)
        throw std::logic_error("the exact formula has a model that verify() refuses: " +
                               (violation ? violation->text : "its length"));
    } else {
      status = answer == Verdict::unsat ? "UNSAT" : stopped_status(budget, watch);
    }
    if (trial.statistics) solver.print_statistics();
  } catch (const Budget::Spent&) {
    status = stopped_status(budget, watch);
  } catch (const std::bad_alloc&) {
    status = "MEMOUT";
  }
  row["status"] = status;
  row["verified"] = schedule ? (accepted ? "model" : "refused") : "none";
  row["conflicts"] = budget.conflicts();
  row["cpu_s"] = cpu_seconds();
  row["wall_s"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
  if (schedule) row["schedule"] = schedule_json(*schedule);
  return row;
}

cli::Command trial_command(CLI::App& bench) {
  struct Flags {
    Trial trial;
    std::string problem, memory, parts, format = "cnf";
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* app = bench.add_subcommand(
      "trial", "Encode, scramble and solve one question in this process; a row of `bench run`");
  Trial& t = flags->trial;
  app->add_option("PROBLEM", flags->problem, "Problem file")->required();
  app->add_option("--ii", t.ii, "The initiation interval I")
      ->required()
      ->check(CLI::Range(Cycle{1}, kMaxCycles));
  app->add_option("--length", t.length, "The largest length L")
      ->required()
      ->check(CLI::Range(Cycle{1}, kMaxCycles));
  app->add_option("--encoding", t.encoding, "Encodings, as key=value,... of " + encoding_keys());
  app->add_option("--scramble", t.scramble.seed, "Seed of the scrambler (0 = as encoded)");
  app->add_option("--scramble-parts", flags->parts,
                  "Any of variables,polarities,clauses,literals, or none")
      ->default_str(to_string(Scramble{}));
  app->add_option("--seed", t.seed, "Seed of the solver");
  app->add_option(cli::kCpuLimit, t.limits.cpu_seconds, "CPU seconds (0 = none)");
  app->add_option(cli::kConflictLimit, t.limits.conflicts, "Conflicts (0 = none)");
  app->add_option(cli::kMemoryLimit, flags->memory, "Memory, as 500M or 2G");
  app->add_option("--proof", t.proof, "Write a binary DRAT proof here");
  app->add_option("--formula", t.formula, "Write the question here and do not solve it");
  app->add_option("--format", flags->format, "Of --formula: cnf, opb, ilp, smtlib or problem")
      ->check(CLI::IsMember({"cnf", "opb", "ilp", "smtlib", "problem"}))
      ->capture_default_str();
  app->add_flag("--statistics", t.statistics, "Print the solver's statistics first");
  return {app, [flags] {
            Trial trial = flags->trial;
            trial.problem = read_problem(flags->problem);
            trial.file = flags->problem;
            trial.format = question_format(flags->format);
            if (!flags->memory.empty()) trial.limits.memory = cli::parse_bytes(flags->memory);
            if (!flags->parts.empty())
              trial.scramble = scramble_parts(flags->parts, trial.scramble);
            cli::Interrupt interrupt;
            const nlohmann::ordered_json row = try_question(trial, interrupt.token());
            std::cout << row.dump() << "\n";
            if (row["status"] == "SAT" || row["status"] == "WRITTEN")
              return static_cast<int>(cli::kDone);
            return static_cast<int>(row["status"] == "UNSAT" ? cli::kNo : cli::kStopped);
          }};
}

}  // namespace twill::bench
