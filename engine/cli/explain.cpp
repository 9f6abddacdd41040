// twill explain: why an initiation interval cannot be reached, and what would help.

#include <iostream>
#include <map>
#include <memory>

#include "engine/cli/cli.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/search_options.hpp"
#include "engine/cli/workload.hpp"
#include "engine/include/twill_explain.hpp"
#include "engine/output/style.hpp"

namespace twill::cli {
namespace {

struct ExplainFlags {
  WorkloadFlags work;
  SearchFlags search;
  Options options;  ///< search.options(), and whether evidence is kept
  std::optional<Cycle> ii;
  std::string certificate;
  std::string registers = "machine";
  bool json = false;
};

const char* split_text(LayoutExplanation::Split split) {
  if (split == LayoutExplanation::every)
    return "for every register split: slots with the most of any\n";
  if (split == LayoutExplanation::best)
    return "with the best register split, whose counts are limits below; others were searched\n";
  return "";
}

void print_list(const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  std::cout << title << "\n";
  for (const std::string& line : lines) std::cout << "  " << printable(line) << "\n";
}

/// Those that force the others, or those that do not; so many at most of a kind. JSON has all.
void print_clash(const std::string& title, const std::vector<Reason>& reasons, bool forces) {
  constexpr int kAlike = 8;
  std::map<Reason::Kind, int> alike;
  std::vector<std::string> shown;
  int more = 0;
  for (const Reason& reason : reasons) {
    if (reason.forces() != forces) continue;
    if (++alike[reason.kind] > kAlike)
      ++more;
    else
      shown.push_back(reason.text);
  }
  if (more > 0) shown.push_back("and " + std::to_string(more) + " more of these (--json has all)");
  print_list(title, shown);
}

void print(const Problem& problem, const IntervalExplanation& e) {
  const std::string at = printable(problem.name) + ": I = " + std::to_string(e.ii);
  if (e.verdict() == Verdict::sat) {
    std::cout << at << " can be reached\n";
    return;
  }
  if (e.verdict() == Verdict::unknown) {
    std::cout << at << " was not decided within the limits\n";
    return;
  }
  if (e.ii == 0)
    std::cout << printable(problem.name) << ": no schedule at any I (proved)\n";
  else
    std::cout << at << " cannot be reached (proved)\n";
  print_clash(e.minimal ? "these clash; without any one of them the others can be met"
                        : "these clash; not all was decided, so that some may not be needed",
              e.reasons, false);
  print_clash("forced by", e.reasons, true);
  std::vector<std::string> enough, not_enough, open;
  for (const Relaxation& r : e.relaxations) {
    if (r.tried.verdict == Verdict::sat)
      enough.push_back(
          r.text + (e.ii == 0 && r.tried.solution.schedule
                        ? ": I = " + std::to_string(r.tried.solution.schedule->initiation_interval)
                        : ""));
    else
      (r.tried.verdict == Verdict::unsat ? not_enough : open).push_back(r.text);
  }
  print_list("enough alone, a schedule was found and verified", enough);
  print_list("not enough alone (proved)", not_enough);
  print_list("not decided within the limits", open);
}

/// Where there is nothing to explain: why.
void print_nothing(const LayoutExplanation& explained) {
  const std::string name = printable(explained.problem.name);
  const Solution& solution = explained.solution;
  if (solution.status == Status::infeasible)
    print_list(name + ": no schedule at any I (proved)", solution.conflict);
  else if (solution.schedule && solution.schedule->initiation_interval == 1)
    std::cout << name << ": I = 1 is reached, nothing is smaller\n";
  else
    std::cout << name << ": stopped before the smallest I was proved"
              << (cut_short(solution.stop) ? ": " + stop_text(solution) : "") << "\n";
}

int run(const ExplainFlags& flags) {
  if (!flags.certificate.empty()) refuse_used_directory(flags.certificate);
  const Workload work = load(flags.work);
  Interrupt interrupt;
  int code = kDone;
  for (const Lowered& lowered : work.problems) {
    if (work.problems.size() > 1 && !flags.json)
      std::cout << "layout " << printable(lowered.layout) << "\n";
    const LayoutExplanation explained =
        explain_layout(lowered, flags.ii, flags.options, interrupt.token());
    if (flags.json)
      std::cout << explanation_json(explained, !flags.certificate.empty());
    else
      std::cout << split_text(explained.split);
    if (!explained.explanation) {
      const Status status = explained.solution.status;
      if (status != Status::infeasible && status != Status::optimal) code = kStopped;
      if (!flags.json) print_nothing(explained);
      continue;
    }
    const IntervalExplanation& e = *explained.explanation;
    if (e.verdict() == Verdict::unknown) code = kStopped;
    if (!flags.json) print(explained.problem, e);
    if (!flags.certificate.empty())
      write_explanation(
          work.problems.size() > 1 ? flags.certificate + "/" + lowered.layout : flags.certificate,
          explained.problem, e);
  }
  return code;
}

}  // namespace

Command explain_command(CLI::App& program) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* app = program.add_subcommand(
      "explain", "Why an initiation interval cannot be reached: what clashes, what would help");
  flags->work.add_to(*app);
  app->add_option("--ii", flags->ii, "The interval (default: one below the best)")
      ->check(CLI::Range(Cycle{1}, kMaxCycles));
  flags->search.add_to(*app,
                       {SearchOption::time_limit, SearchOption::memory, SearchOption::engine});
  app->add_option("--certificate", flags->certificate,
                  "Write a directory with a folder for the question and each change, for twill "
                  "check; slower");
  app->add_option("--registers", flags->registers,
                  "machine = the counts of the machine file; auto = of the best split, as solve")
      ->check(CLI::IsMember({"machine", "auto"}))
      ->capture_default_str();
  app->add_flag("--json", flags->json, "Print the explanation as JSON");
  return {app, [flags] {
            flags->work.choose_registers = flags->registers == "auto";
            flags->options = flags->search.options();
            flags->options.evidence = !flags->certificate.empty();
            return run(*flags);
          }};
}

}  // namespace twill::cli
