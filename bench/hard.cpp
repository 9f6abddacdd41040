// twill bench hard: loops built around a hidden schedule (graph/hidden_loop.hpp), in which
// capacities and register files are just large enough for it, by size and by how full they are.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "bench/measured.hpp"
#include "bench/table.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/output/style.hpp"
#include "graph/hidden_loop.hpp"
#include "graph/io/file.hpp"
#include "graph/problem_io.hpp"
#include "graph/schedule_io.hpp"

namespace twill::bench {
namespace {

// Wall clock for a limit in CPU seconds, for a machine that other jobs share.
constexpr double kWallForCpu = 20;

struct HardFlags {
  SearchFlags search;
  std::vector<int> ops = {50, 100, 200, 400, 1000}, filled = {60, 95, 99, 100};
  int seeds = 3, slots = 3, carried = 8;
  Cycle longest = 1000;
  std::string folder;
  bool json = false, quiet = false;
};

/// The runs of one size and fullness.
struct Cell {
  int runs = 0, proved = 0, with_schedule = 0, within = 0;
  std::vector<double> cpu;   ///< seconds, of all runs
  std::vector<double> gaps;  ///< I found / smaller of hidden I and bound - 1
  std::int64_t peak = 0;     ///< bytes
};

double middle(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Hard {
 public:
  Hard(const HardFlags& flags, std::stop_token stop)
      : flags_(flags), options_(flags.search.options()), stop_(std::move(stop)) {
    temporary_ = std::filesystem::temp_directory_path() /
                 ("twill-hard-" + std::to_string(::getpid()) + ".problem.json");
    cpu_limit_ = options_.time_limit;
    options_.time_limit *= kWallForCpu;
  }
  ~Hard() {
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
  }
  Hard(const Hard&) = delete;
  Hard& operator=(const Hard&) = delete;

  int run() {
    if (!flags_.folder.empty()) std::filesystem::create_directories(flags_.folder);
    Table table(std::cout, {{"ops", 4},
                            {"filled %", 8},
                            {"runs", 4},
                            {"proved", 6},
                            {"schedule", 8},
                            {"within 5 %", 10},
                            {"median gap", 10},
                            {"median CPU s", 12},
                            {"most CPU s", 10},
                            {"most MiB", 8}});
    if (!flags_.json) table.head();
    bool all = true;
    for (const int ops : flags_.ops)
      for (const int filled : flags_.filled) {
        Cell cell;
        for (int seed = 1; seed <= flags_.seeds && !stop_.stop_requested(); ++seed)
          measure_one(ops, filled, seed, cell);
        all = all && cell.proved == flags_.seeds;
        if (cell.runs == 0 || flags_.json) continue;
        table.row({std::to_string(ops), std::to_string(filled), std::to_string(cell.runs),
                   std::to_string(cell.proved), std::to_string(cell.with_schedule),
                   std::to_string(cell.within),
                   cell.gaps.empty() ? "-" : percent(middle(cell.gaps)),
                   short_seconds(middle(cell.cpu)),
                   short_seconds(*std::max_element(cell.cpu.begin(), cell.cpu.end())),
                   mebibytes(cell.peak)});
      }
    if (!flags_.json)
      std::cout
          << "\nProved = I and L optimal. Gap: of the I found above the smaller of the hidden "
             "one\nand the best known here (the proved bound where that was reached).\n";
    return all ? cli::kDone : cli::kStopped;
  }

 private:
  void measure_one(int ops, int filled, int seed, Cell& cell) {
    HiddenKnobs knobs;
    knobs.ops = ops;
    knobs.filled = filled;
    knobs.seed = static_cast<std::uint64_t>(seed);
    knobs.slots = flags_.slots;
    knobs.carried = flags_.carried;
    knobs.longest = flags_.longest;
    const HiddenLoop loop = hidden_loop(knobs);
    if (const auto violation = verify(loop.problem, loop.schedule))
      throw std::logic_error("the hidden schedule breaks " + violation->rule);
    std::filesystem::path file = temporary_;
    if (!flags_.folder.empty()) {
      file = std::filesystem::path(flags_.folder) / (loop.problem.name + ".problem.json");
      Solution hidden;
      hidden.problem = loop.problem.name;
      hidden.problem_sha256 = sha256(problem_text(loop.problem));
      hidden.status = Status::feasible;
      hidden.stages = "complete";
      hidden.schedule = loop.schedule;
      write_file(
          (std::filesystem::path(flags_.folder) / (loop.problem.name + ".schedule.json")).string(),
          schedule_text(loop.problem, hidden));
    }
    write_file(file.string(), problem_text(loop.problem));
    const Cycle hidden = loop.schedule.initiation_interval;
    Measured row;
    row["bench"] = "hard";
    row["ops"] = ops;
    row["filled"] = filled;
    row["seed"] = seed;
    row["hidden"] = {{"initiation_interval", hidden}, {"length", loop.schedule.length}};
    row["solver_seed"] = options_.seed;
    row["threads"] = options_.threads;
    row["engine"] = options_.engine;
    row["limit_cpu_s"] = cpu_limit_;
    row.update(measure({"bench", "row", file.string(), "--cpu-limit", std::to_string(cpu_limit_)},
                       options_, stop_));
    if (stop_.stop_requested()) return;
    const std::string status = row.value("status", "failed");
    ++cell.runs;
    cell.proved += status == "optimal";
    cell.cpu.push_back(row.value("solve_cpu_seconds", row["cpu_seconds"].get<double>()));
    cell.peak = std::max(cell.peak, row.value("peak_bytes", std::int64_t{0}));
    std::string found = "no schedule";
    if (row.contains("initiation_interval")) {
      const Cycle ii = row["initiation_interval"];
      const double best = static_cast<double>(std::min(hidden, ii));
      const double gap = static_cast<double>(ii) / best - 1;
      cell.gaps.push_back(gap);
      ++cell.with_schedule;
      cell.within += gap <= 0.05;
      found = "I = " + std::to_string(ii);
    }
    if (flags_.json)
      std::cout << row.dump() << std::endl;
    else if (!flags_.quiet)
      std::cerr << loop.problem.name << ": " << status << ", " << found << ", hidden "
                << std::to_string(hidden)
                << ", I >= " << row.value("/lower_bound/initiation_interval"_json_pointer, Cycle{0})
                << ", " << short_seconds(cell.cpu.back()) << " CPU s\n";
  }

  const HardFlags& flags_;
  Options options_;
  double cpu_limit_ = 0;  ///< seconds, so that a loaded machine says the same; 0 = none
  std::stop_token stop_;
  std::filesystem::path temporary_;
};

}  // namespace

cli::Command hard_command(CLI::App& bench) {
  auto flags = std::make_shared<HardFlags>();
  flags->search.search.time_limit = 60;
  flags->search.memory = "2G";
  CLI::App* app = bench.add_subcommand(
      "hard", "Loops around a hidden schedule, whose capacities are just enough for it");
  app->add_option("--ops", flags->ops, "Sizes, as 50,100")
      ->delimiter(',')
      ->check(CLI::Range(1, 2000))
      ->capture_default_str();
  app->add_option("--filled", flags->filled,
                  "Per cent of register files and memories that the hidden schedule takes")
      ->delimiter(',')
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app->add_option("--seeds", flags->seeds, "Loops of each size and fullness")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app->add_option("--slots", flags->slots, "Slots besides the one of loads")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app->add_option("--carried", flags->carried, "Per cent of ops that a later iteration reads")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  app->add_option("--longest", flags->longest, "Cycles of an op, 1 to this")
      ->check(CLI::Range(Cycle{1}, Cycle{1'000'000}))
      ->capture_default_str();
  flags->search.add_to(*app, "a loop");
  app->get_option("--time-limit")->description("CPU seconds a loop, of all threads (0 = none)");
  app->add_option("-o,--out", flags->folder,
                  "Folder that keeps the problems and their hidden schedules");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  app->add_flag("--json", flags->json, "A JSON object a run, a line each");
  return {app, [flags] {
            cli::Interrupt interrupt;
            return Hard(*flags, interrupt.token()).run();
          }};
}

}  // namespace twill::bench
