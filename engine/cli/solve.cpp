// twill solve: the best schedule of a kernel on a machine, or of a problem.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>

#include "encoders/choose.hpp"
#include "encoders/goals.hpp"
#include "engine/certificate/certificate.hpp"
#include "engine/cli/cli.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/progress.hpp"
#include "engine/cli/terminal.hpp"
#include "engine/cli/workload.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"
#include "graph/problem_io.hpp"
#include "graph/ttgir/placer.hpp"

namespace twill::cli {
namespace {

struct SolveFlags {
  WorkloadFlags work;
  PictureFlags picture;
  EmitFlags emit;
  Options search;
  std::string memory;
  std::string output;
  std::string certificate;
  std::string registers = "machine";
  bool quiet = false;
  bool json = false;
};

/// What became of one layout; no solution = not reached before a limit or signal, or not tried
/// because another layout can do all that it can.
struct Outcome : std::optional<Solution> {
  using std::optional<Solution>::operator=;
  std::string covered_by;
};

std::string outcome_text(const Outcome& outcome) {
  if (!outcome.covered_by.empty())
    return "not better than layout " + printable(outcome.covered_by) + ", which covers its slots";
  if (!outcome) return "not tried: stopped before";
  if (outcome->status == Status::infeasible && !outcome->conflict.empty() &&
      outcome->conflict.front().starts_with("no schedule is better"))
    return outcome->conflict.front() + " (" + decimal(outcome->seconds, 2) + " s)";
  std::string text = to_string(outcome->status);
  if (outcome->schedule) {
    text += ", I = " + std::to_string(outcome->schedule->initiation_interval) +
            ", L = " + std::to_string(outcome->schedule->length);
  } else if (outcome->ii_lower_bound > 0 && outcome->status == Status::unknown) {
    text += ", I >= " + std::to_string(outcome->ii_lower_bound);
  }
  if (outcome->status != Status::optimal && !outcome->stopped_by.empty())
    text += ", " + stop_text(*outcome);
  text += " (" + decimal(outcome->seconds, 2) + " s)";
  return text;
}

/// Smallest I, then smallest L, then the order in the machine file; -1 = none has a schedule.
int best_of(const std::vector<Outcome>& outcomes) {
  int best = -1;
  const auto key = [&](int k) {
    const Schedule& s = *outcomes[static_cast<std::size_t>(k)]->schedule;
    return std::pair(s.initiation_interval, s.length);
  };
  for (int k = 0; k < static_cast<int>(outcomes.size()); ++k) {
    const Outcome& outcome = outcomes[static_cast<std::size_t>(k)];
    if (!outcome || !outcome->schedule) continue;
    if (best < 0 || key(k) < key(best)) best = k;
  }
  return best;
}

/// A certificate is the best one's: what the others have for one is memory that the next search can
/// have.
void drop_evidence_of_losers(std::vector<Outcome>& outcomes) {
  const int best = best_of(outcomes);
  for (int k = 0; best >= 0 && k < static_cast<int>(outcomes.size()); ++k) {
    Outcome& outcome = outcomes[static_cast<std::size_t>(k)];
    if (k != best && outcome) outcome->evidence.reset();
  }
}

/// With registers to be chosen: do the layouts differ in nothing but the counts of the machine
/// file?
bool same_choice(const Lowered& a, const Lowered& b) {
  RegisterPool pool = *b.pool;
  if (pool.shares.size() != a.pool->shares.size()) return false;
  for (std::size_t s = 0; s < pool.shares.size(); ++s)
    pool.shares[s].layout = a.pool->shares[s].layout;
  return pool == *a.pool && covers(a.problem, b.problem) && covers(b.problem, a.problem);
}

/// The first other layout that covers layout k; of two that cover each other, the earlier one.
std::string covering_layout(const Workload& work, std::size_t k) {
  const Lowered& b = work.problems[k];
  for (std::size_t j = 0; j < work.problems.size(); ++j) {
    const Lowered& a = work.problems[j];
    const bool covered =
        b.pool ? j < k && same_choice(a, b)
               : j != k && covers(a.problem, b.problem) && (j < k || !covers(b.problem, a.problem));
    if (covered) return a.layout;
  }
  return "";
}

/// The options with what is left of their limits.
Options rest_of(Options options, const std::vector<Outcome>& outcomes) {
  for (const Outcome& outcome : outcomes) {
    if (!outcome) continue;
    if (options.time_limit > 0)
      options.time_limit = std::max(1e-6, options.time_limit - outcome->seconds);
    if (options.conflict_limit > 0)
      options.conflict_limit =
          std::max<std::int64_t>(1, options.conflict_limit - outcome->conflicts);
  }
  return options;
}

/// Why each layout has no schedule, with what is left of the limits.
void name_clashes(const SolveFlags& flags, const Workload& work, const std::stop_token& stop,
                  std::vector<Outcome>& outcomes) {
  if (flags.search.ii || flags.search.stages == "paper") return;
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    Outcome& outcome = outcomes[k];
    if (!outcome || outcome->status != Status::infeasible || !outcome->conflict.empty()) continue;
    const auto begin = std::chrono::steady_clock::now();
    outcome->conflict = clash(work.problems[k].problem, rest_of(flags.search, outcomes), stop);
    outcome->seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
}

/// What Triton's form of a schedule asks for; a user's own pins replace it.
void add_emit_pins(const SolveFlags& flags, Workload& work) {
  if (flags.emit.kind != "ttgir" || flags.work.pins.any()) return;
  for (std::size_t k = 0; k < work.problems.size(); ++k) {
    Problem& problem = work.problems[k].problem;
    problem.pins = ttgir::partition_pins(*work.module(k), problem);
    work.hashes[k] = sha256(problem_text(problem));
  }
}

/// Every layout in the file's order, each with what is left of the limits. Once there is a
/// schedule, a layout is only asked for a better one. Where registers were to be chosen, `work`
/// gets the problems with the counts that were.
std::vector<Outcome> solve_all(const SolveFlags& flags, Workload& work) {
  Interrupt interrupt;
  ProgressLine line(flags.quiet);
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t conflicts = 0;
  std::vector<Outcome> outcomes;
  std::vector<std::string> covering(work.problems.size());
  for (std::size_t k = 0; k < work.problems.size(); ++k) covering[k] = covering_layout(work, k);
  for (std::size_t k = 0; k < work.problems.size(); ++k) {
    Lowered& lowered = work.problems[k];
    Options options = flags.search;
    options.goals.clear();                        // the winner's, see run()
    options.explain = work.problems.size() == 1;  // of several, when none has a schedule
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (options.time_limit > 0) options.time_limit -= spent.count();
    if (options.conflict_limit > 0) options.conflict_limit -= conflicts;
    const bool reached =
        k > 0 && (interrupt.token().stop_requested() ||
                  (flags.search.time_limit > 0 && options.time_limit <= 0) ||
                  (flags.search.conflict_limit > 0 && options.conflict_limit <= 0));
    Outcome outcome;
    const int best = best_of(outcomes);
    const bool modulo = parse_encoding(options.encoding).form == Form::modulo;
    if (best >= 0 && !options.ii && options.stages != "paper" && modulo) {
      const Schedule& schedule = *outcomes[static_cast<std::size_t>(best)]->schedule;
      options.better_than = {schedule.initiation_interval, schedule.length};
    }
    if (options.stages != "paper" && options.pins.empty()) outcome.covered_by = covering[k];
    if (!reached && outcome.covered_by.empty()) {
      line.set_title(lowered.layout.empty() ? "" : "layout " + lowered.layout);
      const ProgressCallback update = [&](const Progress& progress) { line.update(progress); };
      if (lowered.pool) {
        SplitSolution split =
            solve_split(lowered.problem, *lowered.pool, options, interrupt.token(), update);
        outcome = std::move(split.solution);
        lowered.problem = std::move(split.problem);
        work.hashes[k] = sha256(problem_text(lowered.problem));
      } else {
        outcome = solve(lowered.problem, options, interrupt.token(), update);
      }
      outcome->problem_sha256 = work.hashes[k];
      conflicts += outcome->conflicts;
    }
    line.clear();
    if (!flags.quiet && work.from_kernel) {
      std::cerr << "layout " << printable(lowered.layout) << ": " << outcome_text(outcome) << "\n";
    }
    outcomes.push_back(std::move(outcome));
    drop_evidence_of_losers(outcomes);
  }
  if (work.problems.size() > 1 && best_of(outcomes) < 0)
    name_clashes(flags, work, interrupt.token(), outcomes);
  return outcomes;
}

/// Could this outcome, had it not been stopped, still have become better than `best`?
bool open(const Outcome& outcome, const Schedule& best) {
  if (!outcome.covered_by.empty()) return false;
  if (!outcome) return true;
  if (outcome->status == Status::optimal || outcome->status == Status::infeasible) return false;
  if (outcome->ii_lower_bound != best.initiation_interval) {
    return outcome->ii_lower_bound < best.initiation_interval;
  }
  return !outcome->schedule || outcome->length_lower_bound < best.length;
}

/// The goals of the best layout, with what is left of the limits.
void pursue_goals_of(const SolveFlags& flags, const Workload& work, std::size_t k,
                     std::vector<Outcome>& outcomes) {
  Interrupt interrupt;
  Options options = rest_of(flags.search, outcomes);
  pursue_goals(work.problems[k].problem, options, *outcomes[k], interrupt.token());
}

int exit_code(const std::vector<Outcome>& outcomes, int best) {
  if (best < 0) {
    const bool all = std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
      return !outcome.covered_by.empty() || (outcome && outcome->status == Status::infeasible);
    });
    return all ? kNo : kStopped;
  }
  const Solution& winner = *outcomes[static_cast<std::size_t>(best)];
  if (winner.status != Status::optimal) return kStopped;
  for (const Goal& goal : winner.goals)
    if (goal.lower_bound < goal.value) return kStopped;
  for (const Outcome& outcome : outcomes) {
    if (open(outcome, *winner.schedule)) return kStopped;
  }
  return kDone;
}

/// X.schedule.json or X.json -> X.problem.json.
std::string problem_path(const std::string& path) {
  for (const std::string ending : {".schedule.json", ".json"}) {
    if (path.size() > ending.size() && path.ends_with(ending)) {
      return path.substr(0, path.size() - ending.size()) + ".problem.json";
    }
  }
  return path + ".problem.json";
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return a == b || (std::filesystem::equivalent(a, b, error) && !error);
}

/// Names that -o would overwrite are refused before anything is solved.
void check_output(const SolveFlags& flags, const Workload& work) {
  if (!flags.certificate.empty()) refuse_used_directory(flags.certificate);
  for (const std::string& file : {flags.work.input, flags.work.machine, flags.output}) {
    if (flags.emit.schedule.empty() || file.empty()) continue;
    if (same_file(flags.emit.schedule, file) || same_file(problem_path(flags.emit.schedule), file))
      throw InputError("command line", "--schedule", flags.emit.schedule,
                       "must not overwrite " + file);
  }
  if (flags.output.empty()) return;
  const auto refuse = [&](const std::string& path, const char* what) {
    throw InputError("command line", "-o", flags.output,
                     std::string("must not overwrite ") + what + " " + path);
  };
  for (const std::string& input : {flags.work.input, flags.work.machine}) {
    if (input.empty() || input == "-") continue;
    if (same_file(flags.output, input)) refuse(input, "the input");
    if (!work.as_read && same_file(problem_path(flags.output), input)) refuse(input, "the input");
  }
  if (!work.as_read && problem_path(flags.output) == flags.output) {
    refuse(flags.output, "the schedule with its problem");
  }
}

/// --emit: -o names the emitted file, --schedule that of the schedule.
void write_emitted(const SolveFlags& flags, const Workload& work, std::size_t chosen,
                   const Solution& solution) {
  const Problem& problem = work.problems[chosen].problem;
  std::string text;
  std::vector<std::string> remarks;
  if (solution.schedule)
    text = emitted(flags.emit, *work.module(chosen), problem, solution, remarks);
  if (flags.emit.kind == "ttgir" && !flags.work.pins.any() && !problem.pins.empty())
    remarks.push_back(emit_pins_text(problem));
  for (const std::string& remark : remarks)
    if (!flags.quiet) std::cerr << "twill: " << remark << "\n";
  if (!flags.emit.schedule.empty()) {
    write_file(problem_path(flags.emit.schedule), problem_text(problem));
    write_file(flags.emit.schedule, schedule_text(problem, solution));
  }
  if (!solution.schedule) {
    std::cerr << "twill: no schedule (" << to_string(solution.status) << "): nothing to emit\n";
    return;
  }
  if (flags.output.empty()) {
    std::cout << text;
  } else {
    write_file(flags.output, text);
  }
}

/// The problem before the schedule, so that a schedule never names a problem that is not there.
void write(const SolveFlags& flags, const Workload& work, std::size_t chosen,
           const Solution& solution) {
  const Lowered& lowered = work.problems[chosen];
  if (!flags.emit.kind.empty()) {
    write_emitted(flags, work, chosen, solution);
    return;
  }
  if (!flags.output.empty()) {
    if (!work.as_read) write_file(problem_path(flags.output), problem_text(lowered.problem));
    write_file(flags.output, schedule_text(lowered.problem, solution));
  }
  if (flags.json) {
    std::cout << schedule_text(lowered.problem, solution);
  } else if (flags.output.empty() || !flags.picture.format.empty()) {
    std::cout << picture(lowered.problem, solution, flags.picture, lowered.bandwidth, true);
  }
}

void report(const SolveFlags& flags, const Lowered& lowered, const Solution& solution, bool all) {
  if (flags.quiet) return;
  if (solution.stopped_by == "memory limit")
    std::cerr << "twill: stopped by the memory limit, "
              << decimal(static_cast<double>(flags.search.memory_limit) / (1 << 20), 0)
              << " MiB (--memory)\n";
  if (all && solution.schedule) {
    std::cerr << "best: layout " << printable(lowered.layout) << "\n";
  }
  if (!solution.schedule) return;
  const Cycle ii = solution.schedule->initiation_interval;
  for (const BandwidthSum& sum : lowered.bandwidth) {
    if (!bandwidth_exceeded(lowered.problem, ii, sum)) continue;
    std::cerr << "twill: warning: " << printable(sum.unit) << " needs "
              << percent(bandwidth_share(lowered.problem, ii, sum)) << " of I for bandwidth ("
              << plural(sum.cycles, "clock") << " an iteration): the loop will run slower\n";
  }
}

int run(SolveFlags flags) {
  auto& goals = flags.search.goals;
  if (!goals.empty() && goals.front() == "default") {
    goals.erase(goals.begin());
    goals.insert(goals.begin(), kDefaultGoals.begin(), kDefaultGoals.end());
  }
  flags.search.evidence = !flags.certificate.empty();
  flags.search.memory_limit = memory_limit_of(flags.memory);
  if (const auto listing = loop_listing(flags.work)) {
    std::cout << *listing;
    return kDone;
  }
  flags.work.choose_registers = flags.registers == "auto";
  Workload work = load(flags.work);
  flags.emit.check(flags.work.ttgir, work.module(0));
  add_emit_pins(flags, work);
  check_output(flags, work);
  if (!flags.quiet && work.module(0) != nullptr) std::cerr << warnings_text(*work.module(0));
  for (const std::string& remark : work.remarks)
    if (!flags.quiet) std::cerr << "twill: " << remark << "\n";
  if (!flags.quiet && !work.problems.front().normalized.empty()) {
    std::cerr << "normalised costs: " << normalization_text(work.problems.front()) << "\n";
  }
  for (const Lowered& lowered : work.problems) listed_goals(lowered.problem, flags.search.goals);
  std::vector<Outcome> outcomes = solve_all(flags, work);
  const int best = best_of(outcomes);
  if (best >= 0 && !flags.search.goals.empty()) {
    pursue_goals_of(flags, work, static_cast<std::size_t>(best), outcomes);
  }
  const int code = exit_code(outcomes, best);

  // Without any schedule, what is reported is a layout that was not settled, if there is one.
  std::size_t chosen = best < 0 ? 0 : static_cast<std::size_t>(best);
  while (!outcomes[chosen]) ++chosen;  // some layout was tried
  for (std::size_t k = 0; best < 0 && code == kStopped && k < outcomes.size(); ++k) {
    if (outcomes[k] && outcomes[k]->status == Status::unknown) chosen = k;
  }
  const Solution& solution = *outcomes[chosen];
  const Lowered& lowered = work.problems[chosen];
  if (solution.schedule) {
    if (const auto violation = verify(lowered.problem, *solution.schedule)) {
      throw std::logic_error("the schedule found breaks " + violation->rule + ": " +
                             violation->text);
    }
  }
  report(flags, lowered, solution, work.problems.size() > 1);
  // The schedule first: should the certificate fail, what was solved is not lost.
  write(flags, work, chosen, solution);
  if (!flags.certificate.empty()) {
    std::cout.flush();
    write_certificate(flags.certificate, lowered.problem, solution);
  }
  return code;
}

}  // namespace

Command solve_command(CLI::App& program) {
  auto flags = std::make_shared<SolveFlags>();
  CLI::App* app = program.add_subcommand("solve", "Find the best schedule and prove it");
  flags->work.add_to(*app);
  Options& search = flags->search;
  app->add_option("--stages", search.stages,
                  "complete = all that can matter; paper = Algorithm 1's window; N = at most N")
      ->capture_default_str();
  app->add_flag("--no-handover{false}", search.handover,
                "Prohibit register results from crossing slots (ablation)");
  app->add_option("--goals", search.goals,
                  "After I and L, minimise in this order, with commas:\n" + goal_names() +
                      "\ndefault, as the first = the first four; canonical, as the last = start "
                      "and slot of\n"
                      "every op in the file's order, which leaves one schedule")
      ->delimiter(',');
  app->add_option("--ii", search.ii, "Only this initiation interval");
  app->add_option(
         "--registers", flags->registers,
         "machine = the counts of the machine file; auto = the best split (setmaxnreg) of the\n"
         "registers that the layout's warpgroups have at launch; -o writes the problem with it")
      ->check(CLI::IsMember({"machine", "auto"}))
      ->capture_default_str();
  app->add_option(
         "--engine", search.engine,
         "order = any cycle counts; time_indexed = every cycle in clauses; auto = order where it "
         "can;\n"
         "order-cadical = order, searched by a CaDiCaL from 1.6 on instead of Twill's own solver")
      ->capture_default_str();
  app->add_option("--encoding", search.encoding,
                  "Encodings, as key=value,... of " + encoding_keys() +
                      " (default: auto, the rule of `twill encodings`)");
  app->add_option("--threads", search.threads, "Threads (0 = all cores)")->capture_default_str();
  app->add_option("--seed", search.seed, "Seed of the solver")->capture_default_str();
  app->add_option("--time-limit", search.time_limit, "Seconds (0 = none)")->capture_default_str();
  app->add_option("--conflict-limit", search.conflict_limit, "Conflicts in all (0 = none)")
      ->capture_default_str();
  app->add_option("--memory", flags->memory, kMemoryHelp);
  app->add_option("-o,--output", flags->output,
                  "Write the schedule here and, for a kernel, its problem beside it");
  app->add_option("--certificate", flags->certificate,
                  "Write a directory that proves the answer, for twill check");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  auto* json = app->add_flag("--json", flags->json, "Print the schedule, not a picture");
  flags->emit.add_to(*app);
  flags->picture.add_to(*app);
  json->excludes(app->get_option("--format"));
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::cli
