#include "bench/bench.hpp"

#include <oneapi/tbb/global_control.h>

#include "bench/lab/lab.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace twill::bench {

void SearchFlags::add_to(CLI::App& app, const std::string& limited) {
  using enum cli::SearchOption;
  search.threads = 1;
  cli::SearchFlags::add_to(
      app, {encoding, engine, threads, seed, time_limit, conflict_limit, memory}, limited);
}

Options SearchFlags::options() const {
  Options options = cli::SearchFlags::options();
  options.explain = false;  // the optimum and its proof are measured
  if (memory.empty()) options.memory_limit = 0;
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
                                    {"readings", bench::readings_command},
                                    {"iterations", bench::iterations_command},
                                    {"nested", bench::nested_command},
                                    {"tiles", bench::tiles_command},
                                    {"scaling", bench::scaling_command},
                                    {"hard", bench::hard_command},
                                    {"modules", bench::modules_command},
                                    {"makespan", bench::makespan_command},
                                    {"row", bench::row_command},
                                    {"ask", bench::ask_command},
                                    {"list", bench::list_command},
                                    {"instances", bench::instances_command},
                                    {"run", bench::run_command},
                                    {"trial", bench::trial_command},
                                    {"chain", bench::chain_command},
                                    {"check", bench::check_command},
                                    {"report", bench::report_command},
                                    {"export", bench::export_command},
                                    {"import", bench::import_command},
                                    {"schedule-graph", bench::schedule_graph_command},
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
