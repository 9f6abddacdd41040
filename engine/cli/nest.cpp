// twill nest: a loop with a loop inside it. The inner loop is solved alone, then the outer one
// around it (rule 12), or all is unrolled into one loop.

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/certificate/certificate.hpp"
#include "engine/cli/cli.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/progress.hpp"
#include "engine/cli/search_options.hpp"
#include "engine/cli/terminal.hpp"
#include "engine/cli/workload.hpp"
#include "engine/include/twill_nested.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"
#include "graph/problem_io.hpp"

namespace twill::cli {
namespace {

struct NestFlags {
  WorkloadFlags work;
  PictureFlags picture;
  SearchFlags search;
  std::string inner, output, certificate;
  std::int64_t times = 0;  ///< 0 = the module says
  bool flat = false, quiet = false, json = false;
};

/// "a,b,c" as indices of ops.
std::vector<int> ops_of(const Problem& problem, const std::string& names) {
  std::vector<int> ops;
  std::stringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    const auto op = std::ranges::find(problem.ops, name, &Op::id);
    if (op == problem.ops.end())
      throw InputError("command line", "--inner", printable(name), "must name ops of the loop");
    ops.push_back(static_cast<int>(op - problem.ops.begin()));
  }
  std::ranges::sort(ops);
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  return ops;
}

std::string answer_text(const Solution& solution) {
  std::string text = to_string(solution.status);
  if (solution.schedule) {
    text += ", I = " + std::to_string(solution.schedule->initiation_interval) +
            ", L = " + std::to_string(solution.schedule->length);
    if (solution.status == Status::feasible)
      text += " (proved: I >= " + std::to_string(solution.ii_lower_bound) + ")";
  }
  return text;
}

int exit_code(Status status) {
  if (status == Status::infeasible) return kNo;
  return status == Status::optimal ? kDone : kStopped;
}

/// The loop that was solved, to files and to a person.
int finish(const NestFlags& flags, const Workload& work, const LayoutsSolution& all,
           const std::string& summary, const Solution* inner) {
  const Problem& problem = all.layout().problem;
  Solution solution = all.solution();
  for (const Lowered& lowered : work.problems)
    if (lowered.layout == all.layout().layout) record_made_by(solution, lowered);
  if (!flags.output.empty()) {
    const std::string text = schedule_text(problem, solution);
    try {
      write_file(flags.output + ".problem.json", problem_text(problem));
    } catch (const InputError&) {  // what was solved is not lost
      std::cout << text;
      throw;
    }
    write_or_print(flags.output + ".schedule.json", text);
  }
  if (flags.json) {
    nlohmann::ordered_json json = {
        {"format", "twill.nest"},
        {"version", 1},
        {"trips", flags.times},
        {"schedule", nlohmann::ordered_json::parse(schedule_text(problem, solution))}};
    if (inner != nullptr) {
      json["inner"] = {{"initiation_interval", inner->schedule->initiation_interval},
                       {"length", inner->schedule->length},
                       {"status", to_string(inner->status)}};
    }
    std::cout << json.dump(2) << "\n";
  } else {
    std::cout << summary;
    if (solution.schedule && (flags.output.empty() || !flags.picture.format.empty()))
      std::cout << "\n" << picture(problem, solution, flags.picture, {}, true);
    for (const std::string& reason : solution.conflict) std::cout << printable(reason) << "\n";
  }
  if (!flags.certificate.empty()) {
    std::cout.flush();
    write_certificate(flags.certificate, problem, solution);
  }
  return exit_code(all.status);
}

/// The nest on each layout. A module says itself which ops are in its inner loop, and perhaps how
/// often.
std::vector<NestedLoop> nests_of(const Workload& work, NestFlags& flags) {
  if (work.modules.empty() && flags.inner.empty())
    throw InputError("command line", "--inner", "nothing", "must name the ops of the inner loop");
  if (work.modules.empty() && flags.times == 0)
    throw InputError("command line", "--times", "nothing", "must be given");
  if (!work.modules.empty() && !flags.inner.empty())
    throw InputError("command line", "--inner", printable(flags.inner),
                     "a TTGIR module says which ops are in its inner loop");
  std::vector<NestedLoop> nests;
  for (std::size_t k = 0; k < work.problems.size(); ++k) {
    const Problem& problem = work.problems[k].problem;
    const ttgir::LoweredModule* module = work.module(k);
    if (flags.times == 0) flags.times = module->loop.inner_trips;
    nests.push_back(
        {problem,
         module != nullptr ? ttgir::inner_ops(module->loop, problem) : ops_of(problem, flags.inner),
         flags.times, "inner"});
    check(nests.back(), printable(flags.work.input));
  }
  return nests;
}

int run(NestFlags flags) {
  if (!flags.certificate.empty()) refuse_used_directory(flags.certificate);
  Options options = flags.search.options();
  options.evidence = !flags.certificate.empty();
  if (const auto listing = loop_listing(flags.work)) {
    std::cout << *listing;
    return kDone;
  }
  if (flags.work.unroll > 1)
    throw InputError("command line", "--unroll", std::to_string(flags.work.unroll),
                     "a loop with a loop inside is not unrolled");
  flags.work.ttgir.nest = true;
  const Workload work = load(flags.work);
  const std::vector<NestedLoop> nests = nests_of(work, flags);
  std::vector<std::string> names;
  for (const Lowered& lowered : work.problems) names.push_back(lowered.layout);
  if (!flags.quiet && !work.modules.empty()) std::cerr << warnings_text(*work.modules.front());
  Interrupt interrupt;
  ProgressLine line(flags.quiet);
  const auto tell = [&](const Progress& progress) { line.update(progress); };
  if (flags.flat) {
    std::vector<Lowered> flat;
    for (std::size_t k = 0; k < nests.size(); ++k)
      flat.push_back({names[k], flat_problem(nests[k]), {}, {}, {}, {}, {}, {}});
    const LayoutsSolution all = solve_layouts(std::move(flat), options, interrupt.token(), tell);
    line.clear();
    return finish(flags, work, all,
                  "unrolled " + plural(flags.times, "time") + ": " + answer_text(all.solution()) +
                      (all.layout().layout.empty() ? "" : ", layout " + all.layout().layout) + "\n",
                  nullptr);
  }
  const NestedSolution all = solve_nested(nests, names, options, interrupt.token(), tell);
  line.clear();
  if (!all.outer) {
    bool proved = true;
    for (std::size_t k = 0; k < nests.size(); ++k) {
      const NestedLayout& layout = all.layouts[k];
      proved = proved && layout.inner.status == Status::infeasible;
      std::cout << (names[k].empty() ? "" : "layout " + names[k] + ": ") << "inner loop: "
                << (layout.refused.empty() ? answer_text(layout.inner) : layout.refused) << "\n";
    }
    return proved ? kNo : kStopped;
  }
  const Solution& inner = all.chosen().inner;
  const Cycle run_cycles =
      (flags.times - 1) * inner.schedule->initiation_interval + inner.schedule->length;
  std::string summary = "inner loop: " + answer_text(inner) + "; " + plural(flags.times, "trip") +
                        ": " + plural(run_cycles, "cycle") + " a run\n";
  summary +=
      "outer loop, for this schedule of the inner one: " + answer_text(all.outer->solution());
  if (!names.front().empty()) summary += ", layout " + printable(all.outer->layout().layout);
  return finish(flags, work, *all.outer, summary + "\n", &inner);
}

}  // namespace

Command nest_command(CLI::App& program) {
  auto flags = std::make_shared<NestFlags>();
  CLI::App* app = program.add_subcommand(
      "nest", "Schedule a loop with a loop inside it: the inner one, then the outer one around it");
  flags->work.add_to(*app);
  app->add_option("--inner", flags->inner,
                  "Ops of the inner loop, by id: a,b,c (a TTGIR module says which they are)");
  app->add_option(
         "--times", flags->times,
         "Iterations of a run of the inner loop (default for a TTGIR module: its constant\n"
         "count, else --trips)")
      ->check(CLI::Range(1, 1'000'000));
  app->add_flag("--flat", flags->flat,
                "Unroll the inner loop instead: all schedules, for few trips");
  using enum SearchOption;
  flags->search.add_to(
      *app, {goals, engine, encoding, threads, seed, time_limit, conflict_limit, memory});
  app->add_option("-o,--output", flags->output,
                  "Write NAME.problem.json and NAME.schedule.json of the outer loop");
  app->add_option("--certificate", flags->certificate,
                  "Write a directory that proves the outer loop's answer, for twill check");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  auto* json = app->add_flag("--json", flags->json, "Print both answers as JSON");
  flags->picture.add_to(*app);
  json->excludes(app->get_option("--format"));
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::cli
