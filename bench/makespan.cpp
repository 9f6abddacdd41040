// twill bench makespan: projects and job shops of the literature, to the proved smallest makespan,
// beside what is published.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "bench/lab/cpu_watch.hpp"
#include "bench/lab/makespan.hpp"
#include "bench/lab/published.hpp"
#include "bench/measured.hpp"
#include "bench/table.hpp"
#include "engine/cli/interrupt.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"

namespace twill::bench {
namespace {

namespace fs = std::filesystem;

struct MakespanFlags {
  SearchFlags search;
  std::vector<std::string> files, lists;
  double cpu_limit = 0;
  bool row = false, json = false, quiet = false, confirm = false;
};

/// One file in this process.
int run_row(const MakespanFlags& flags) {
  const std::string& path = flags.files.front();
  const Project project = parse_literature(read_file(path), path);
  cli::Interrupt interrupt;
  const CpuWatch watch(flags.cpu_limit, interrupt.token());
  const Makespan found =
      smallest_makespan(project, flags.search.options(), watch.token(), flags.confirm);
  nlohmann::ordered_json row;
  row["file"] = path;
  row["activities"] = project.problem.ops.size();
  row["lags"] = project.lags.size();
  row["status"] = found.none       ? "infeasible"
                  : found.proved() ? "optimal"
                  : found.high > 0 ? "feasible"
                                   : "unknown";
  row["lower_bound"] = found.low;
  if (found.high > 0) row["makespan"] = found.high;
  row["conflicts"] = found.conflicts;
  std::cout << row.dump() << "\n";
  if (found.none) return cli::kNo;
  return found.proved() ? cli::kDone : cli::kStopped;
}

/// The files of one folder.
struct Set {
  int files = 0, optimal = 0, none = 0, as_published = 0, closed = 0, refuted = 0;
  std::vector<double> cpu;
  std::int64_t peak = 0;
};

class Makespans {
 public:
  Makespans(const MakespanFlags& flags, std::stop_token stop)
      : flags_(flags), options_(flags.search.options()), stop_(std::move(stop)) {
    for (const std::string& list : flags.lists)
      for (const auto& [name, published] : read_published(list)) published_[name] = published;
    for (const std::string& path : flags.files) add(path);
  }

  int run() {
    for (const std::string& file : files_) {
      if (stop_.stop_requested()) break;
      measure_one(file);
    }
    int open = 0, refuted = 0;
    if (!flags_.json) table();
    for (const auto& [name, set] : sets_) {
      open += set.files - set.optimal - set.none;
      refuted += set.refuted;
    }
    if (refuted > 0) return cli::kNo;
    return open > 0 || stop_.stop_requested() ? cli::kStopped : cli::kDone;
  }

 private:
  void add(const std::string& path) {
    std::error_code none;
    if (!fs::is_directory(path, none)) {
      files_.push_back(path);
      return;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.is_regular_file() && is_literature_ending(entry.path().extension().string()))
        found.push_back(entry.path().string());
    if (found.empty())
      throw InputError("command line", "FILE", quote(path),
                       "must have a file that ends in .sm, .rcp, .sch or .jss");
    std::sort(found.begin(), found.end());
    files_.insert(files_.end(), found.begin(), found.end());
  }

  void measure_one(const std::string& file) {
    Measured row;
    row["bench"] = "makespan";
    row["solver_seed"] = options_.seed;
    row["threads"] = options_.threads;
    row["engine"] = options_.engine;
    row["limit_s"] = options_.time_limit;
    row["limit_cpu_s"] = flags_.cpu_limit;
    std::vector<std::string> arguments = {"bench", "makespan",    "--row",
                                          file,    "--cpu-limit", std::to_string(flags_.cpu_limit)};
    if (flags_.confirm) arguments.emplace_back("--confirm");
    row.update(measure(arguments, options_, stop_));
    if (stop_.stop_requested()) return;
    Set& set = sets_[fs::path(file).parent_path().filename().string()];
    const std::string status = row.value("status", "failed");
    const bool none = status == "infeasible", optimal = status == "optimal";
    const Cycle low = row.value("lower_bound", Cycle{1}), high = row.value("makespan", Cycle{0});
    std::string word;
    const auto known = published_.find(fs::path(file).stem().string());
    if (known != published_.end()) {
      const Published& published = known->second;
      row["published"] = {
          {"low", published.low}, {"high", published.high}, {"none", published.none}};
      // Below what is published, or no schedule where there is one.
      const bool wrong = ((none || optimal) && !published.allows(high, none)) ||
                         (high > 0 && (published.none || high < published.low)) ||
                         (published.high > 0 && low > published.high);
      if (wrong) word = ", NOT AS PUBLISHED";
      set.refuted += wrong;
      set.as_published += (none || optimal) && published.exact() && !wrong;
      set.closed += (none || optimal) && !published.exact() && !wrong;
    }
    ++set.files;
    set.optimal += optimal;
    set.none += none;
    set.cpu.push_back(row["cpu_seconds"]);
    set.peak = std::max(set.peak, row.value("peak_bytes", std::int64_t{0}));
    if (flags_.json)
      std::cout << row.dump() << std::endl;
    else if (!flags_.quiet || !word.empty())
      std::cerr << file << ": " << status << ", " << (none ? "none" : std::to_string(low)) << " to "
                << (high > 0 ? std::to_string(high) : "?") << word << ", "
                << short_seconds(set.cpu.back()) << " CPU s\n";
  }

  void table() const {
    Table table(std::cout, {{"set", 16, false},
                            {"files", 5},
                            {"optimal", 7},
                            {"no schedule", 11},
                            {"as published", 12},
                            {"open before", 11},
                            {"not as published", 16},
                            {"not settled", 11},
                            {"median CPU s", 12},
                            {"most CPU s", 10},
                            {"most MiB", 8}});
    table.head();
    for (const auto& [name, set] : sets_) {
      std::vector<double> cpu = set.cpu;
      std::sort(cpu.begin(), cpu.end());
      table.row(
          {name, std::to_string(set.files), std::to_string(set.optimal), std::to_string(set.none),
           std::to_string(set.as_published), std::to_string(set.closed),
           std::to_string(set.refuted), std::to_string(set.files - set.optimal - set.none),
           short_seconds(cpu[cpu.size() / 2]), short_seconds(cpu.back()), mebibytes(set.peak)});
    }
  }

  const MakespanFlags& flags_;
  Options options_;
  std::stop_token stop_;
  std::vector<std::string> files_;
  std::map<std::string, Published> published_;
  std::map<std::string, Set> sets_;
};

}  // namespace

cli::Command makespan_command(CLI::App& bench) {
  auto flags = std::make_shared<MakespanFlags>();
  flags->search.search.time_limit = 60;
  CLI::App* app = bench.add_subcommand(
      "makespan", "Projects and job shops of the literature, beside published makespans");
  app->add_option("FILE", flags->files,
                  "PSPLIB (.sm), Patterson (.rcp), ProGen/max (.sch), job shop (any other ending), "
                  "or a folder of them (job shops there end in .jss)")
      ->required();
  app->add_option("--optima", flags->lists,
                  "Published makespans: a CSV of FILE,MAKESPAN below a heading; may be repeated");
  flags->search.add_to(*app, "a file");
  app->add_option("--cpu-limit", flags->cpu_limit, "CPU seconds of each file; 0 = none")
      ->check(CLI::NonNegativeNumber);
  app->add_flag("--confirm", flags->confirm,
                "Proofs by time-tables again by CaDiCaL, each lemma checked by itself");
  app->add_flag("--row", flags->row, "One file in this process, its figures as JSON");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but what is not as published");
  app->add_flag("--json", flags->json, "A JSON object a file, a line each");
  app->footer(
      "A makespan is 43, a range as 90..102 or ..102, or unsat. Exit codes: 0 all are settled, 1 "
      "one is\nnot as published, 3 some are not settled.");
  return {app, [flags] {
            if (flags->row) return run_row(*flags);
            cli::Interrupt interrupt;
            return Makespans(*flags, interrupt.token()).run();
          }};
}

}  // namespace twill::bench
