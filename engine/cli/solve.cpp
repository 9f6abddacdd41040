// twill solve: the best schedule of a kernel on a machine, or of a problem.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "engine/certificate/certificate.hpp"
#include "engine/cli/cli.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/offers.hpp"
#include "engine/cli/progress.hpp"
#include "engine/cli/ranges.hpp"
#include "engine/cli/search_options.hpp"
#include "engine/cli/terminal.hpp"
#include "engine/cli/tiles.hpp"
#include "engine/cli/workload.hpp"
#include "engine/output/style.hpp"
#include "graph/bounds/channel_bounds.hpp"
#include "graph/io/file.hpp"
#include "graph/problem_io.hpp"
#include "graph/ttgir/named_ops.hpp"
#include "graph/ttgir/partition_pins.hpp"
#include "graph/ttgir/region_memory.hpp"

namespace twill::cli {
namespace {

struct SolveFlags {
  WorkloadFlags work;
  PictureFlags picture;
  EmitFlags emit;
  SearchFlags search;
  Options options;  ///< search.options(), and whether evidence is kept
  std::string output;
  std::string certificate;
  std::string registers = "machine";
  bool quiet = false;
  bool json = false;
};

std::string outcome_text(const LayoutOutcome& outcome) {
  if (!outcome.covered_by.empty())
    return "not better than layout " + printable(outcome.covered_by) + ", which covers its slots";
  if (!outcome.solution) return "not tried: stopped before";
  const Solution& solution = *outcome.solution;
  std::string text = to_string(solution.status);
  if (outcome.none_better) {
    text = solution.conflict.front();
  } else if (solution.schedule) {
    text += ", I = " + std::to_string(solution.schedule->initiation_interval) +
            ", L = " + std::to_string(solution.schedule->length);
  } else if (solution.ii_lower_bound > 0 && solution.status == Status::unknown) {
    text += ", I >= " + std::to_string(solution.ii_lower_bound);
  }
  if (solution.status != Status::optimal && cut_short(solution.stop))
    text += ", " + stop_text(solution);
  return text + " (" + decimal(solution.seconds, 2) + " s)";
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

/// Where registers were to be chosen, `work` gets the problems with the counts that were.
LayoutsSolution solve_all(const SolveFlags& flags, Workload& work) {
  Interrupt interrupt;
  ProgressLine line(flags.quiet);
  const auto tell = [&](const Lowered& lowered, const LayoutOutcome& outcome) {
    line.clear();
    if (!flags.quiet && work.from_kernel)
      std::cerr << "layout " << printable(lowered.layout) << ": " << outcome_text(outcome) << "\n";
  };
  LayoutsSolution all = solve_layouts(
      work.problems, flags.options, interrupt.token(),
      [&](const Progress& progress) { line.update(progress); }, tell);
  work.problems = all.layouts;
  for (std::size_t k = 0; k < work.problems.size(); ++k) {
    if (work.problems[k].pool) work.hashes[k] = sha256(problem_text(work.problems[k].problem));
    if (auto& solution = all.outcomes[k].solution) {
      solution->problem_sha256 = work.hashes[k];
      record_values(*solution, work.values);
    }
  }
  return all;
}

/// For --emit ttgir: where the partitions take more memory than there is, solved again with the
/// largest tiles on one slot each; as it was where that has no schedule.
void fit_partitions(SolveFlags flags, Workload& work, LayoutsSolution& all) {
  if (flags.emit.kind != "ttgir" || flags.work.pins.any()) return;
  flags.quiet = true;
  constexpr int kRounds = 4;  // (Other tiles can be handed on in their place.)
  for (int round = 0; round < kRounds && all.solution().schedule; ++round) {
    const std::size_t k = all.chosen;
    const std::vector<Pin> pins =
        ttgir::pins_for_memory(*work.module(k), work.problems[k].problem, *all.solution().schedule);
    if (pins.empty()) return;
    Workload pinned = work;
    Problem& problem = pinned.problems[k].problem;
    problem.pins.insert(problem.pins.end(), pins.begin(), pins.end());
    pinned.hashes[k] = sha256(problem_text(problem));
    LayoutsSolution next = solve_all(flags, pinned);
    if (!next.solution().schedule) return;
    work = std::move(pinned);
    all = std::move(next);
  }
}

bool goals_met(const Solution& solution) {
  return std::none_of(solution.goals.begin(), solution.goals.end(),
                      [](const Goal& goal) { return goal.lower_bound < goal.value; });
}

int exit_code(const LayoutsSolution& all) {
  if (!search_ended(all)) return kStopped;
  return all.status == Status::infeasible ? kNo : kDone;
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

// The problem first, so that a schedule never names a problem that is not there. Where the disk is
// full what was solved is not lost: it goes to standard output.
void write_schedule(const std::string& path, const Problem& problem, const Solution& solution,
                    bool with_problem) {
  try {
    if (with_problem) write_file(problem_path(path), problem_text(problem));
    write_file(path, schedule_text(problem, solution));
  } catch (const InputError&) {
    std::cout << schedule_text(problem, solution);
    throw;
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
    write_schedule(flags.emit.schedule, problem, solution, true);
  }
  if (!solution.schedule) {
    std::cerr << "twill: no schedule (" << to_string(solution.status) << "): nothing to emit\n";
    return;
  }
  if (flags.output.empty()) {
    std::cout << text;
  } else {
    write_or_print(flags.output, text);
  }
}

void write(const SolveFlags& flags, const Workload& work, std::size_t chosen,
           const Solution& solution) {
  const Lowered& lowered = work.problems[chosen];
  if (!flags.emit.kind.empty()) {
    write_emitted(flags, work, chosen, solution);
    return;
  }
  if (!flags.output.empty()) {
    write_schedule(flags.output, lowered.problem, solution, !work.as_read);
  }
  if (flags.json) {
    // With ranges the schedule is a member of what is said of them.
    if (work.ranges.empty()) std::cout << schedule_text(lowered.problem, solution);
  } else if (flags.output.empty() || !flags.picture.format.empty()) {
    std::cout << picture(lowered.problem, solution, flags.picture, lowered.bandwidth, true);
  }
}

void report(const SolveFlags& flags, const Lowered& lowered, const Solution& solution, bool all) {
  if (flags.quiet) return;
  if (solution.stop == Stop::memory_limit)
    std::cerr << "twill: stopped by the memory limit, "
              << decimal(static_cast<double>(flags.options.memory_limit) / (1 << 20), 0)
              << " MiB (--memory)\n";
  for (const auto& [name, value] : solution.options)
    if (name == "not begun for memory")
      std::cerr << "twill: " << name << " (--memory): " << value << "\n";
  if (all && solution.schedule && solution.length_slack) {
    std::cerr << "best by its goals: layout " << printable(lowered.layout) << "\n";
  } else if (all && solution.schedule) {
    std::cerr << "best: layout " << printable(lowered.layout) << "\n";
  }
  if (!solution.schedule) return;
  const Cycle ii = solution.schedule->initiation_interval;
  for (const Bound& bound : channel_bounds(lowered.problem)) {
    const bool guess = std::any_of(
        lowered.estimated.begin(), lowered.estimated.end(),
        [&](const std::string& channel) { return bound.text.starts_with(channel + ": "); });
    if (bound.value == ii && guess)
      std::cerr << "twill: note: I is bound by " << printable(bound.text)
                << "; the machine file calls a number of it an estimate\n";
  }
  for (const std::string& channel : lowered.unknown)
    std::cerr << "twill: note: " << printable(channel)
              << " is not charged: the kernel does not say how many blocks share what a load "
                 "brings (reuse)\n";
  for (const BandwidthSum& sum : lowered.bandwidth) {
    if (!bandwidth_exceeded(lowered.problem, ii, sum)) continue;
    std::cerr << "twill: warning: " << printable(sum.unit) << " needs "
              << percent(bandwidth_share(lowered.problem, ii, sum)) << " of I for bandwidth ("
              << plural(sum.cycles, "clock") << " an iteration): the loop will run slower\n";
  }
}

/// Where goals were compared: what each layout has, a line each.
std::string compared_goals(const LayoutsSolution& all) {
  std::string text;
  for (std::size_t k = 0; k < all.outcomes.size() && all.outcomes.size() > 1; ++k) {
    const std::optional<Solution>& solution = all.outcomes[k].solution;
    if (!solution || !solution->length_slack) continue;
    text += "layout " + printable(all.layouts[k].layout) + ": ";
    for (const Goal& goal : goal_lines(all.layouts[k].problem, *solution).single)
      text += (goal.name == solution->goals.front().name ? "" : ", ") + printable(goal.name) +
              " = " + std::to_string(goal.value);
    text += "\n";
  }
  return text;
}

/// What the ranges of the machine mean for the answer. True where all was asked; where a limit or a
/// signal ended the answer's own search, only the judge is.
bool report_ranges(const SolveFlags& flags, const Workload& work, const LayoutsSolution& all,
                   double seconds) {
  const Solution& solution = all.solution();
  const auto interval = solution.schedule ? solution.schedule->initiation_interval : 0;
  const Options options = limits_after(flags.options, all, seconds);
  Interrupt interrupt;
  const RangeReport ranges = weigh_ranges(
      work.ranges, all,
      [&](const RangeEnds& ends) {
        Workload changed = load_at(flags.work, work, ends);
        add_emit_pins(flags, changed);
        return std::move(changed.problems);
      },
      options, interrupt.token(), search_ended(all));
  if (flags.json) {
    std::cout << ranges_json(ranges, all);
  } else if (flags.emit.kind.empty()) {
    std::cout << ranges_text(ranges, interval);
  } else if (!flags.quiet) {
    std::cerr << ranges_text(ranges, interval);
  }
  if (const std::string warning = ranges_warning(ranges); !warning.empty() && !flags.quiet)
    std::cerr << "twill: warning: " << warning << "\n";
  return ranges.complete;
}

/// --tiles auto.
int run_tiles(const SolveFlags& flags) {
  if (!flags.emit.kind.empty())
    throw InputError("command line", "--emit", flags.emit.kind, "needs a TTGIR module");
  if (!flags.certificate.empty() && flags.work.pins.any())
    throw InputError("command line", "--certificate", flags.certificate,
                     "of --tiles auto, pins must be in the kernel file: it is lowered again");
  TileWorkload work = load_tiles(flags.work);
  check_output(flags, Workload{});
  Interrupt interrupt;
  ProgressLine line(flags.quiet);
  const std::size_t count = work.choices.size();
  std::string now;
  const TilesSolution tiles = solve_tiles(
      std::move(work.choices), flags.options, interrupt.token(),
      [&](Progress progress) {
        progress.layout = now;
        line.update(progress);
      },
      [&](const TileChoice& choice, std::size_t closed) {
        now = choice.layout + ", " + values_text(choice.values) + " (" + std::to_string(closed) +
              " of " + std::to_string(count) + " closed)";
      });
  line.clear();
  if (!tiles.chosen) {
    std::cout << (flags.json ? tiles_json(tiles, work.parameters)
                             : tiles_text(tiles, work.parameters));
  } else {
    const Solution& solution = tiles.solution();
    const Lowered& lowered = *tiles.choice().lowered;
    if (const auto violation = verify(lowered.problem, *solution.schedule))
      throw std::logic_error("the schedule found breaks " + violation->rule + ": " +
                             violation->text);
    report(flags, lowered, solution, false);
    if (!flags.output.empty()) {
      write_schedule(flags.output, lowered.problem, solution, true);
    }
    if (flags.json) {
      std::cout << tiles_json(tiles, work.parameters);
    } else {
      std::cout << tiles_text(tiles, work.parameters);
      if (flags.output.empty() || !flags.picture.format.empty())
        std::cout << "\n"
                  << picture(lowered.problem, solution, flags.picture, lowered.bandwidth, true);
    }
  }
  if (!flags.certificate.empty()) {
    std::cout.flush();
    write_tiles_certificate(flags.certificate, tiles, work.source);
  }
  if (tiles.status == Status::infeasible) return kNo;
  if (tiles.status != Status::optimal) return kStopped;
  return goals_met(tiles.solution()) ? kDone : kStopped;
}

int run(SolveFlags flags) {
  flags.options = flags.search.options();
  flags.work.pins.check_interval(flags.options.ii);
  flags.options.evidence = !flags.certificate.empty();
  flags.work.choose_registers = flags.registers == "auto";
  if (flags.work.chooses_tiles()) return run_tiles(flags);
  if (const auto listing = loop_listing(flags.work)) {
    std::cout << *listing;
    return kDone;
  }
  Workload work = load(flags.work);
  flags.emit.check(flags.work.ttgir, work.module(0));
  add_emit_pins(flags, work);
  check_output(flags, work);
  if (!flags.quiet && !work.modules.empty()) std::cerr << warnings_text(*work.modules.front());
  for (const std::string& remark : work.remarks)
    if (!flags.quiet) std::cerr << "twill: " << remark << "\n";
  if (!flags.quiet && !work.problems.front().normalized.empty()) {
    std::cerr << "normalised costs: " << normalization_text(work.problems.front()) << "\n";
  }
  const auto begin = std::chrono::steady_clock::now();
  LayoutsSolution all = solve_all(flags, work);
  fit_partitions(flags, work, all);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const Solution& solution = all.solution();
  const Lowered& lowered = all.layout();
  if (solution.schedule) {
    if (const auto violation = verify(lowered.problem, *solution.schedule)) {
      throw std::logic_error("the schedule found breaks " + violation->rule + ": " +
                             violation->text);
    }
  }
  if (!flags.quiet) std::cerr << compared_goals(all);
  report(flags, lowered, solution, work.problems.size() > 1);
  // The schedule first: should the certificate fail, what was solved is not lost.
  write(flags, work, all.chosen, solution);
  if (!flags.certificate.empty()) {
    std::cout.flush();
    write_certificate(flags.certificate, lowered.problem, solution);
  }
  const int code = exit_code(all);
  if (const ttgir::LoweredModule* module = work.module(all.chosen);
      module != nullptr && !flags.quiet && !solution.conflict.empty()) {
    const std::string names = ttgir::named_ops(module->loop, module->module, solution.conflict);
    if (!names.empty()) std::cerr << "twill: " << printable(names) << "\n";
  }
  if (code == kNo && !flags.quiet && !flags.options.ii) {
    Interrupt interrupt;
    for (const std::string& offer : offers(flags.work, work, flags.options, interrupt.token()))
      std::cerr << "twill: " << offer << "\n";
  }
  if (work.ranges.empty() || report_ranges(flags, work, all, seconds.count()) || code != kDone)
    return code;
  return kStopped;
}

}  // namespace

Command solve_command(CLI::App& program) {
  auto flags = std::make_shared<SolveFlags>();
  CLI::App* app = program.add_subcommand("solve", "Find the best schedule and prove it");
  flags->work.add_to(*app);
  using enum SearchOption;
  flags->search.add_to(*app, {stages, handover, goals, length_slack, ii, iterations});
  app->add_option(
         "--registers", flags->registers,
         "machine = the counts of the machine file; auto = the best split (setmaxnreg) of the\n"
         "registers that the layout's warpgroups have at launch; -o writes the problem with it")
      ->check(CLI::IsMember({"machine", "auto"}))
      ->capture_default_str();
  flags->search.add_to(*app, {engine, encoding, threads, seed, time_limit, conflict_limit, memory});
  app->add_option("-o,--output", flags->output,
                  "Write the schedule here and, for a kernel, its problem beside it");
  app->add_option("--certificate", flags->certificate,
                  "Write a directory that proves the answer, for twill check");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  auto* json = app->add_flag("--json", flags->json,
                             "Print the schedule, not a picture; of a\n"
                             "machine with ranges of costs, what they mean with it");
  flags->emit.add_to(*app);
  flags->picture.add_to(*app);
  json->excludes(app->get_option("--format"));
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::cli
