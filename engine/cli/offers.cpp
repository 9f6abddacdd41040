#include "engine/cli/offers.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "engine/cli/make_program.hpp"
#include "engine/options.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/program/contended_time.hpp"
#include "graph/program/derive.hpp"
#include "graph/program/judge.hpp"
#include "graph/ttgir/stored_factors.hpp"

namespace twill::cli {
namespace {

constexpr double kSeconds = 5;  // of one try
/// Of one search for a kernel nobody asked for. Counted, not timed: the same answer everywhere.
constexpr std::int64_t kConflicts = 2'000;
constexpr int kReplayed = 64;       // iterations
constexpr double kMuch = 1.0 / 50;  // of a round

/// No schedule of any layout has a smaller I.
Cycle least_interval(const ProgramSource& source) {
  Cycle least = kMaxInterval;
  for (const Lowered& layout : source.layouts)
    least = std::min(least, lower_bounds(layout.problem).front().value);
  return least;
}

/// Clocks an iteration of a program on units that serve whoever comes first.
double replayed(const MadeProgram& made, const program::Program& program) {
  const bool contended = program::can_be_contended(made.problem, kReplayed);
  const program::Clock clock(program, made.problem, *made.solution.schedule, kReplayed,
                             program::UnitOrder::arrival);
  return program::middle_clocks(program::run_in_time(clock, made.barriers.value_or(BarrierCosts{}),
                                                     contended ? made.contention : Contention{}));
}

}  // namespace

std::vector<std::string> offers(const WorkloadFlags& flags, const Workload& work,
                                const Options& options, const std::stop_token& stop) {
  if (!work.from_kernel || flags.input == "-" || flags.pins.any()) return {};
  std::vector<std::pair<std::string, WorkloadFlags>> tries;
  if (!flags.choose_registers) {
    tries.emplace_back("--registers auto", flags);
    tries.back().second.choose_registers = true;
  }
  if (work.module(0) != nullptr && flags.ttgir.factors() == std::vector<int>{1})
    for (const std::string factor : {"M=2", "M=4"}) {
      tries.emplace_back("--subtile " + factor, flags);
      tries.back().second.ttgir.subtile = factor;
    }
  if (const ttgir::LoweredModule* module = work.module(0);
      module != nullptr && flags.ttgir.left_factors.empty() &&
      ttgir::with_stored_factors(module->module)) {
    tries.emplace_back("--left-factors memory", flags);
    tries.back().second.ttgir.left_factors = "memory";
  }
  std::vector<std::string> found;
  for (const auto& [name, other] : tries) {
    Options quick = options;
    quick.time_limit = options.time_limit > 0 ? std::min(options.time_limit, kSeconds) : kSeconds;
    drop_goals(quick);
    quick.evidence = quick.explain = false;
    try {
      const LayoutsSolution all = solve_layouts(load(other).problems, quick, stop);
      const Solution& solution = all.solution();
      if (solution.schedule)
        found.push_back("with " + name +
                        ": I = " + std::to_string(solution.schedule->initiation_interval) +
                        (all.status == Status::optimal ? "" : " or less"));
    } catch (const InputError&) {  // not for this loop
    }
    if (stop.stop_requested()) break;
  }
  return found;
}

std::string faster_kernel(const WorkloadFlags& flags, Cycle interval, const KernelOptions& kernel,
                          const ProgramOptions& options, const std::stop_token& stop) {
  if (flags.ttgir.factors() != std::vector<int>{1} || flags.pins.any()) return "";
  ProgramOptions quick = options;
  quick.search.threads = 1;
  quick.search.conflict_limit = kConflicts;
  quick.search.evidence = quick.search.explain = false;
  for (const std::string factor : {"M=2", "M=4"}) {  // (more only where fewer do not help)
    WorkloadFlags other = flags;
    other.ttgir.subtile = factor;
    try {
      const ProgramSource source = load_source(other);
      if (least_interval(source) >= interval) continue;
      const EmittedKernel made = emit_kernel(source, kernel, quick, stop);
      if (made.text.empty()) continue;
      const Cycle now = made.result.made->program.initiation_interval;
      if (now < interval)
        return "--subtile " + factor + " makes it faster: I = " + std::to_string(now) + ", not " +
               std::to_string(interval);
    } catch (const InputError&) {  // not for this loop
    }
    if (stop.stop_requested()) break;
  }
  return "";
}

std::string faster_with_turns(const MadeProgram& made, const KernelOptions& kernel, bool merge) {
  const auto ii = static_cast<double>(made.program.initiation_interval);
  const double now = replayed(made, made.program);
  if (now <= ii * (1 + kMuch)) return "";
  auto derived =
      program::derive(made.problem, *made.solution.schedule, {program::Turns::needed, merge});
  if (std::holds_alternative<program::Refusal>(derived)) return "";
  MadeProgram other = made;
  other.program = std::get<program::Program>(std::move(derived));
  other.program.meaning = made.program.meaning;
  const double turns = replayed(made, other.program);
  if (turns > now * (1 - kMuch) || program::judge(other.program)) return "";
  if (std::holds_alternative<program::Refusal>(emit_program(other, kernel))) return "";
  const auto clocks = [](double x) { return std::to_string(std::llround(x)); };
  return "replayed in time it takes " + clocks(now) + " clocks an iteration, with --turns " +
         clocks(turns) + " (I = " + std::to_string(made.program.initiation_interval) + ")";
}

}  // namespace twill::cli
