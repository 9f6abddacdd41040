#include "bench/bench.hpp"

#include <oneapi/tbb/global_control.h>

#include "bench/lab/lab.hpp"
#include "encoders/choose.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace twill::bench {

void SearchFlags::add_to(CLI::App& app, const std::string& what_is_limited) {
  search.threads = 1;
  app.add_option("--encoding", search.encoding,
                 "Encodings, as key=value,... of " + encoding_keys() + " (default: auto)");
  app.add_option("--engine", search.engine, "order, order-cadical, time_indexed or auto")
      ->check(CLI::IsMember({"order", "order-cadical", "time_indexed", "cnf", "auto"}))
      ->capture_default_str();
  app.add_option("--threads", search.threads, "Threads (0 = all cores)")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app.add_option("--seed", search.seed, "Seed of the solver")->capture_default_str();
  app.add_option("--time-limit", search.time_limit, what_is_limited + " (0 = none)")
      ->capture_default_str();
  app.add_option("--conflict-limit", search.conflict_limit, "Conflicts a row (0 = none)")
      ->capture_default_str();
  app.add_option("--memory", memory, cli::kMemoryHelp);
}

Options SearchFlags::options() const {
  Options options = search;
  options.explain = false;  // the optimum and its proof are measured
  if (!memory.empty()) options.memory_limit = cli::memory_limit_of(memory);
  return options;
}

cli::Workload SearchFlags::load(const cli::WorkloadFlags& work) const {
  std::optional<oneapi::tbb::global_control> limit;
  if (search.threads > 0 && work.normalizes())
    limit.emplace(oneapi::tbb::global_control::max_allowed_parallelism,
                  static_cast<std::size_t>(search.threads));
  return cli::load(work);
}

}  // namespace twill::bench

namespace twill::cli {

Command bench_command(CLI::App& program, std::string_view word) {
  CLI::App* app = program.add_subcommand("bench", "Measure the solver, alone and beside others");
  app->require_subcommand(1);
  app->footer(
      "Every row is measured in a process of its own: seconds, CPU seconds and peak memory are\n"
      "those of that process, from its start to its end. The build target `bench` runs\n"
      "`twill bench attention`.");
  const Subcommand subcommands[] = {{"attention", bench::attention_command},
                                    {"peers", bench::peers_command},
                                    {"robust", bench::robust_command},
                                    {"scaling", bench::scaling_command},
                                    {"row", bench::row_command},
                                    {"ask", bench::ask_command},
                                    {"list", bench::list_command},
                                    {"instances", bench::instances_command},
                                    {"run", bench::run_command},
                                    {"trial", bench::trial_command},
                                    {"check", bench::check_command},
                                    {"report", bench::report_command},
                                    {"export", bench::export_command},
                                    {"import", bench::import_command},
                                    {"ttgir", bench::ttgir_command}};
  const std::vector<Command> commands = make_called(*app, subcommands, word);
  return {app, [commands] {
            for (const Command& command : commands) {
              if (command.app->parsed()) return command.run();
            }
            return static_cast<int>(kBadInput);
          }};
}

}  // namespace twill::cli
