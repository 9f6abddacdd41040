// twill bench readings: every built-in loop in both readings of its machine, side by side: what the
// paper's model promises, and what is left of it when loads take their time, rings their memory and
// channels their cycles.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/bench.hpp"
#include "bench/measured.hpp"
#include "bench/table.hpp"
#include "engine/cli/interrupt.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/index.hpp"
#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"

namespace twill::bench {
namespace {

struct ReadingsFlags {
  SearchFlags search;
  std::vector<std::string> inputs, machines;
  bool json = false;
};

// The best schedule over all layouts, in one reading.
struct Answer {
  std::string layout, binds, rings;
  Status status = Status::unknown;
  Cycle ii = 0, length = 0;
  Amount ring_bytes = 0;
  double seconds = 0;
};

// The bound that is met, as its unit, channel or memory; "search" where none is.
std::string what_binds(const Problem& problem, Cycle ii) {
  for (const Bound& bound : lower_bounds(problem)) {
    if (bound.value != ii) break;
    if (bound.name == "units" || bound.name == "channel" || bound.name == "lifetimes")
      return bound.name + " " + bound.text.substr(0, bound.text.find(':'));
    return bound.name;
  }
  return "search";
}

// "ld_k 2, ld_v 3".
std::string depths_text(const Solution& solution) {
  std::string text;
  for (const auto& [load, depth] : solution.ring_depths)
    text += (text.empty() ? "" : ", ") + load + " " + std::to_string(depth);
  return text.empty() ? "-" : text;
}

// What a kernel allocates for the rings, whether the problem charges them or not.
Amount ring_bytes(Problem problem, const Schedule& schedule) {
  charge_rings(problem);
  Amount sum = 0;
  for (int m = 0; m < static_cast<int>(problem.memories.size()); ++m) {
    const MemoryCharges charges = memory_charges(problem, m);
    for (int u = 0; u < static_cast<int>(problem.ops.size()); ++u)
      if (charges.ring[at(u)] > 0) sum += charges.ring[at(u)] * ring_depth(problem, schedule, u);
  }
  return sum;
}

Answer answer(const ReadingsFlags& flags, const std::string& input, const std::string& machine,
              const std::string& reading, const Options& options, const std::stop_token& stop) {
  cli::WorkloadFlags work;
  work.input = input;
  work.machine = machine;
  work.reading = reading;
  const auto begin = std::chrono::steady_clock::now();
  const LayoutsSolution solved = solve_layouts(flags.search.load(work).problems, options, stop);
  Answer result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.status = solved.status;
  if (!solved.outcomes[solved.chosen].solution || !solved.solution().schedule) return result;
  const Problem& problem = solved.layout().problem;
  const Schedule& schedule = *solved.solution().schedule;
  result.layout = solved.layout().layout;
  result.ii = schedule.initiation_interval;
  result.length = schedule.length;
  result.binds = what_binds(problem, result.ii);
  result.rings = depths_text(solved.solution());
  result.ring_bytes = ring_bytes(problem, schedule);
  return result;
}

std::string number_or(const Answer& a, Cycle value) {
  return (a.ii > 0 ? std::to_string(value) : to_string(a.status)) +
         (a.ii > 0 && a.status != Status::optimal ? "?" : "");
}

nlohmann::ordered_json json_of(const Answer& a) {
  return {{"status", to_string(a.status)},
          {"layout", a.layout},
          {"initiation_interval", a.ii},
          {"length", a.length},
          {"binds", a.binds},
          {"rings", a.rings},
          {"ring_bytes", a.ring_bytes},
          {"wall_seconds", a.seconds}};
}

// The machines whose name the input's begins with, else those that are written for any kernel.
std::vector<std::string> machines_for(const std::string& input) {
  const std::string name = std::filesystem::path(input).stem().string();
  if (const std::string usual = usual_machine(name); !usual.empty()) return {usual};
  return {"hopper", "blackwell"};
}

int run(const ReadingsFlags& flags) {
  const Options options = flags.search.options();
  cli::Interrupt interrupt;
  Table table(std::cout, {{"loop", 30, false},
                          {"machine", 9, false},
                          {"I paper", 7},
                          {"I machine", 9},
                          {"L paper", 7},
                          {"L machine", 9},
                          {"what binds: paper", 17, false},
                          {"machine", 17, false},
                          {"rings: paper", 12, false},
                          {"machine", 12, false},
                          {"KiB paper", 9},
                          {"machine", 7},
                          {"s paper", 7},
                          {"machine", 7}});
  if (!flags.json) table.head();
  std::vector<std::string> inputs = flags.inputs;
  if (inputs.empty())
    for (const std::string& kernel : builtin_kernels())
      if (!kernel.starts_with("fmha-") && kernel != "figure-1" &&
          !kernel.ends_with("-tiles"))  // at their defaults they are among the others
        inputs.push_back(kernel);
  bool all = true;
  for (const std::string& input : inputs)
    for (const std::string& machine :
         flags.machines.empty() ? machines_for(input) : flags.machines) {
      std::optional<Answer> paper, real;
      try {
        paper = answer(flags, input, machine, "paper", options, interrupt.token());
        real = answer(flags, input, machine, "machine", options, interrupt.token());
      } catch (const InputError& error) {
        if (!flags.inputs.empty() && !flags.machines.empty()) throw;
        std::cerr << "twill: " << input << " on " << machine << ": " << error.what() << "\n";
        continue;
      }
      if (interrupt.token().stop_requested()) return cli::kStopped;
      all = all && paper->status == Status::optimal && real->status == Status::optimal;
      const std::string name = std::filesystem::path(input).stem().string();
      if (flags.json) {
        std::cout << nlohmann::ordered_json{{"bench", "readings"},
                                            {"loop", name},
                                            {"machine", machine},
                                            {"paper", json_of(*paper)},
                                            {"machine_reading", json_of(*real)}}
                         .dump()
                  << std::endl;
        continue;
      }
      const auto kib = [](Amount bytes) { return std::to_string((bytes + 1023) / 1024); };
      table.row({name, machine, number_or(*paper, paper->ii), number_or(*real, real->ii),
                 number_or(*paper, paper->length), number_or(*real, real->length), paper->binds,
                 real->binds, paper->rings, real->rings, kib(paper->ring_bytes),
                 kib(real->ring_bytes), short_seconds(paper->seconds),
                 short_seconds(real->seconds)});
    }
  return all ? cli::kDone : cli::kStopped;
}

}  // namespace

cli::Command readings_command(CLI::App& bench) {
  auto flags = std::make_shared<ReadingsFlags>();
  flags->search.search.time_limit = 60;
  CLI::App* app = bench.add_subcommand(
      "readings", "Both readings of a machine side by side: I, L, what binds, rings");
  app->add_option(
      "LOOP", flags->inputs,
      "Built-in kernels, kernel files or TTGIR modules (default: all built-in kernels)");
  app->add_option("--machine", flags->machines,
                  "Machines; may be repeated (default: the one that a loop's name begins with)")
      ->allow_extra_args(false);
  flags->search.add_to(*app, "a solve");
  app->add_flag("--json", flags->json, "A JSON object a loop, a line each");
  app->footer(
      "KiB: what a kernel allocates for the rings of its loads, as deep as the schedule needs "
      "them.\n"
      "Exit codes: 0 all are solved, 3 some are not.");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::bench
