#include "bench/measured.hpp"

#include "engine/cli/cli.hpp"
#include "engine/cli/workload.hpp"
#include "engine/output/style.hpp"
#include "graph/io/json_text.hpp"

namespace twill::bench {
namespace {

constexpr double kOverrun = 60;  // seconds a process may take to notice its own limit

std::vector<std::string> command_line(const std::vector<std::string>& arguments,
                                      const Options& options) {
  std::vector<std::string> line = {this_program()};
  line.insert(line.end(), arguments.begin(), arguments.end());
  const auto add = [&](const char* name, const std::string& value) {
    line.insert(line.end(), {name, value});
  };
  add("--threads", std::to_string(options.threads));
  add("--seed", std::to_string(options.seed));
  add("--engine", options.engine);
  if (!options.encoding.empty()) add("--encoding", options.encoding);
  if (options.time_limit > 0) add("--time-limit", decimal(options.time_limit, 3));
  if (options.conflict_limit > 0) add("--conflict-limit", std::to_string(options.conflict_limit));
  if (options.memory_limit > 0) add("--memory", std::to_string(options.memory_limit));
  return line;
}

std::string failure_text(const ProcessResult& process) {
  switch (process.end) {
    case ProcessResult::End::limit: return "did not keep its limit";
    case ProcessResult::End::output: return "printed too much";
    case ProcessResult::End::stopped: return "stopped";
    case ProcessResult::End::signalled: return "signal " + std::to_string(process.code);
    case ProcessResult::End::exited: break;
  }
  return one_line(process.err.substr(0, process.err.find('\n')));
}

}  // namespace

Measured measure(const std::vector<std::string>& arguments, const Options& options,
                 const std::stop_token& stop) {
  ProcessLimits limits;
  if (options.time_limit > 0) limits.wall_seconds = options.time_limit + kOverrun;
  const ProcessResult process = run_process(command_line(arguments, options), limits, stop);
  if (process.end == ProcessResult::End::exited && process.code == cli::kBadInput) {
    std::string message = process.err.substr(0, process.err.find('\n'));
    if (message.starts_with("twill: ")) message.erase(0, 7);
    throw InputError("twill " + arguments.front(), "a row", quote(message),
                     "must be input that the row accepts");
  }
  Measured row = Measured::parse(process.out, nullptr, false);
  const bool answered = row.is_object();
  if (!answered) row = Measured::object();
  const bool regular =
      process.end == ProcessResult::End::exited &&
      (process.code == cli::kDone || process.code == cli::kNo || process.code == cli::kStopped);
  if (!answered || !regular) row["failure"] = failure_text(process);
  row["wall_seconds"] = process.seconds;
  row["cpu_seconds"] = process.cpu_seconds;
  row["peak_bytes"] = process.peak_bytes;
  return row;
}

std::string usual_machine(const std::string& kernel) {
  std::string best;
  for (const std::string& machine : builtin_machines()) {
    const bool begins = kernel == machine || kernel.starts_with(machine + "-");
    if (begins && machine.size() > best.size()) best = machine;
  }
  return best;
}

std::vector<std::string> attention_kernels() {
  std::vector<std::string> kernels;
  for (const std::string& kernel : builtin_kernels())
    if (!usual_machine(kernel).empty() &&
        (kernel.find("-fwd") != std::string::npos || kernel.find("-bwd") != std::string::npos))
      kernels.push_back(kernel);
  return kernels;
}

std::vector<std::string> layouts_of(const std::string& kernel, const std::string& machine) {
  cli::WorkloadFlags flags;
  flags.input = kernel;
  flags.machine = machine;
  flags.normalize = "none";
  flags.reading = "paper";  // the published questions
  std::vector<std::string> layouts;
  for (const Lowered& lowered : cli::load(flags).problems) layouts.push_back(lowered.layout);
  return layouts;
}

}  // namespace twill::bench
