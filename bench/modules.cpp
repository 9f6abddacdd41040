// twill bench modules: loops of TTGIR modules, sub-tiled and unrolled, beside CP-SAT on the whole
// optimisation: smallest I, then smallest L, and what each had found and proved when.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "bench/bench.hpp"
#include "bench/curve.hpp"
#include "bench/measured.hpp"
#include "bench/module_loops.hpp"
#include "bench/peer.hpp"
#include "bench/table.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/problem_io.hpp"

namespace twill::bench {
namespace {

// Wall clock for a limit in CPU seconds, for a machine that other jobs share.
constexpr double kWallPerCpuSecond = 20;
constexpr double kLoading = 10;  // CPU seconds of a Python process before it has read its question
constexpr std::int64_t kCpSatMemory = std::int64_t{8} << 30;
constexpr std::int64_t kCpSatOutput = std::int64_t{256} << 20;

struct ModulesFlags {
  SearchFlags search;
  ModuleLoops loops;
  double cpu_limit = 20;
  std::vector<int> peer_threads = {1, 0};  ///< 0 = all cores
  std::string curves;
  bool peers = true, json = false, quiet = false;
};

/// One side's answer.
struct Side {
  std::string solver;  ///< twill, cp-sat or cp-sat-all
  std::vector<CurvePoint> curve;
  double cpu_seconds = 0;
  bool infeasible = false;
  std::string failure;  ///< why there is no answer, or why its schedule is refused
  Cycle within = 0;     ///< its bounds are of schedules no longer than this; 0 = of all
  CurvePoint last() const { return curve.empty() ? CurvePoint{} : curve.back(); }
  bool settled() const { return infeasible || last().proved(); }
};

std::string between(Cycle low, Cycle high) {
  if (high == 0) return low > 0 ? std::to_string(low) + ".." : "-";
  return low == high ? std::to_string(high) : std::to_string(low) + ".." + std::to_string(high);
}

std::string seconds_text(const Side& side) {
  return (side.settled() ? "" : "> ") + short_seconds(side.cpu_seconds);
}

std::string optimum_text(const Side& side) {
  if (side.infeasible) return "none";
  const CurvePoint p = side.last();
  return between(p.ii_low, p.ii_high) +
         (p.ii_high > 0 ? ", " + between(p.length_low, p.length_high) : "");
}

class Modules {
 public:
  Modules(const ModulesFlags& flags, std::stop_token stop)
      : flags_(flags), options_(flags.search.options()), stop_(std::move(stop)) {
    options_.time_limit = kWallPerCpuSecond * flags.cpu_limit;
    file_ = std::filesystem::temp_directory_path() /
            ("twill-modules-" + std::to_string(::getpid()) + ".problem.json");
    if (!flags.peers) return;
    for (Peer& peer : find_peers(stop_))
      if (peer.name == "cp-sat") {
        say("cp-sat: " + (peer.command.empty() ? "not found, skipped" : peer.version));
        if (!peer.command.empty()) peer_ = std::move(peer);
      }
    if (peer_) peer_->command.back() = TWILL_BENCH_FOLDER "/cp_sat_optimum.py";
  }
  ~Modules() {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  int run();

 private:
  void say(const std::string& text) const {
    if (!flags_.quiet) std::cerr << text << "\n" << std::flush;
  }
  void compare(const ModuleLoop& loop);
  Side ask_twill(Measured& row);
  Side ask_cp_sat(const Problem& problem, int threads);
  void write_curve(const std::string& loop, const Side& side);
  /// "" = the two may both be right.
  static std::string contradiction(const Side& a, const Side& b);

  const ModulesFlags& flags_;
  Options options_;
  std::stop_token stop_;
  std::filesystem::path file_;
  std::optional<Peer> peer_;
  std::unique_ptr<Table> table_;
  std::ofstream curves_;
  bool open_ = false, wrong_ = false;
};

Side Modules::ask_twill(Measured& row) {
  Side side{"twill", {}, 0, false, "", 0};
  row = measure(
      {"bench", "row", file_.string(), "--curve", "--cpu-limit", std::to_string(flags_.cpu_limit)},
      options_, stop_);
  side.cpu_seconds = row.value("solve_cpu_seconds", row["cpu_seconds"].get<double>());
  side.failure = row.value("failure", "");
  side.infeasible = row.value("status", "") == "infeasible";
  for (const auto& p : row.value("curve", Measured::array()))
    side.curve.push_back({p[0], p[1], p[2], p[3], p[4]});
  return side;
}

Side Modules::ask_cp_sat(const Problem& problem, int threads) {
  Side side{threads == 1   ? "cp-sat"
            : threads == 0 ? "cp-sat-all"
                           : "cp-sat-" + std::to_string(threads),
            {},
            0,
            false,
            "",
            0};
  std::vector<std::string> line = peer_->command;
  line.insert(line.end(), {file_.string(), "--cpu", decimal(flags_.cpu_limit, 3), "--threads",
                           std::to_string(threads)});
  ProcessLimits limits;
  limits.cpu_seconds = flags_.cpu_limit + kLoading;
  limits.wall_seconds = kWallPerCpuSecond * limits.cpu_seconds;
  limits.memory = kCpSatMemory;
  limits.output = kCpSatOutput;
  limits.group = true;
  const ProcessResult process = run_process(line, limits, stop_);
  std::istringstream lines(process.out);
  PeerAnswer best;
  bool ended = false;
  for (std::string text; std::getline(lines, text);) {
    const auto told = nlohmann::json::parse(text, nullptr, false);
    if (!told.is_object()) continue;
    side.within = told.value("within", side.within);
    if (told.contains("ops")) best.model = text;
    if (!told.contains("ii")) continue;
    CurvePoint p{told["cpu"], told["ii"][0], told["ii"][1], told["length"][0], told["length"][1]};
    side.cpu_seconds = p.cpu_seconds;
    ended = ended || told.value("end", false);
    side.infeasible = told.value("none", false);
    if (side.curve.empty() || !p.same_but_time(side.last())) side.curve.push_back(p);
  }
  if (!ended) {
    side.cpu_seconds = process.cpu_seconds;
    side.failure = one_line(process.err.substr(0, process.err.find('\n')));
    if (side.failure.empty()) side.failure = "stopped";
  }
  if (const CurvePoint p = side.last(); p.ii_high > 0)
    if (const std::string why = refusal_of(best, problem, p.ii_high, p.length_high); !why.empty()) {
      side.failure = "its schedule is refused: " + why;
      wrong_ = true;
    }
  return side;
}

std::string Modules::contradiction(const Side& a, const Side& b) {
  const CurvePoint p = a.last(), q = b.last();
  const bool counts = q.ii_high > 0 && (a.within == 0 || q.length_high <= a.within);
  if (!counts) return "";
  const std::string found =
      b.solver + " has I = " + std::to_string(q.ii_high) + ", L = " + std::to_string(q.length_high);
  if (a.infeasible) return a.solver + " says there is none, " + found;
  if (p.ii_low > q.ii_high)
    return a.solver + " says I >= " + std::to_string(p.ii_low) + ", " + found;
  if (p.ii_high == q.ii_high && p.length_low > q.length_high)
    return a.solver + " says L >= " + std::to_string(p.length_low) + ", " + found;
  return "";
}

// That there is no schedule is known at the end.
void Modules::write_curve(const std::string& loop, const Side& side) {
  if (!curves_.is_open()) return;
  const auto write = [&](const CurvePoint& p, int none) {
    curves_ << loop << "," << side.solver << "," << p.cpu_seconds << "," << p.ii_low << ","
            << p.ii_high << "," << p.length_low << "," << p.length_high << "," << none << std::endl;
  };
  for (const CurvePoint& p : side.curve) write(p, 0);
  CurvePoint last = side.last();
  last.cpu_seconds = side.cpu_seconds;
  if (side.infeasible) write(last, 1);
}

void Modules::compare(const ModuleLoop& loop) {
  const Problem& problem = loop.lowered.problem;
  write_file(file_.string(), problem_text(problem));
  Measured figures;
  std::vector<Side> sides = {ask_twill(figures)};
  for (const int threads : flags_.peer_threads)
    if (peer_ && !stop_.stop_requested()) sides.push_back(ask_cp_sat(problem, threads));
  if (stop_.stop_requested()) return;
  open_ = open_ || !sides.front().settled();
  for (const Side& side : sides)
    if (!side.failure.empty()) say(loop.name + ": " + side.solver + ": " + side.failure);
  for (const Side& a : sides)
    for (const Side& b : sides)
      if (const std::string text = contradiction(a, b); !text.empty()) {
        std::cerr << "twill: internal error: " << loop.name << ": " << text << "\n";
        wrong_ = true;
      }
  for (const Side& side : sides) write_curve(loop.name, side);
  if (flags_.json) {
    Measured row{{"bench", "modules"},
                 {"loop", loop.name},
                 {"layout", loop.lowered.layout},
                 {"ops", problem.ops.size()},
                 {"cpu_limit_s", flags_.cpu_limit},
                 {"twill", figures},
                 {"peers", Measured::array()}};
    for (std::size_t k = 1; k < sides.size(); ++k)
      row["peers"].push_back({{"solver", sides[k].solver},
                              {"version", peer_->version},
                              {"settled", sides[k].settled()},
                              {"cpu_seconds", sides[k].cpu_seconds},
                              {"failure", sides[k].failure},
                              {"length_within", sides[k].within},
                              {"curve", to_json(sides[k].curve)}});
    std::cout << row.dump() << std::endl;
    return;
  }
  std::vector<std::string> cells = {loop.name, loop.lowered.layout,
                                    std::to_string(problem.ops.size())};
  for (const Side& side : sides) {
    cells.push_back(optimum_text(side));
    cells.push_back(seconds_text(side));
  }
  table_->row(cells);
}

int Modules::run() {
  std::vector<Column> columns = {{"loop", 46, false}, {"layout", 16, false}, {"ops", 4}};
  columns.push_back({"Twill: I, L", 20});
  columns.push_back({"CPU s", 7});
  for (const int threads : flags_.peer_threads)
    if (peer_) {
      const std::string who =
          threads == 0 ? "CP-SAT, all threads" : "CP-SAT, " + plural(threads, "thread");
      columns.push_back({who + ": I, L", 24});
      columns.push_back({"CPU s", 7});
    }
  table_ = std::make_unique<Table>(std::cout, columns);
  if (!flags_.curves.empty()) {
    curves_.open(flags_.curves);
    if (!curves_) throw InputError("command line", "--curves", flags_.curves, "cannot be written");
    curves_ << "loop,solver,cpu_s,ii_bound,ii_found,length_bound,length_found,none\n";
  }
  if (!flags_.json) table_->head();
  each_module_loop(
      flags_.loops,
      [&](const ModuleLoop& loop) {
        if (!stop_.stop_requested()) compare(loop);
        return !stop_.stop_requested();
      },
      [&](const std::string& name, const std::string& why) {
        say(name + ": left out: " + one_line(why));
      });
  if (!flags_.json)
    std::cout << "\nTwo numbers: proved bound and found. none = no schedule, proved. CPU s: of the "
                 "search,\nwithout the start of the process; > = stopped at its limit.\n";
  if (wrong_) return cli::kInternal;
  return open_ || stop_.stop_requested() ? cli::kStopped : cli::kDone;
}

}  // namespace

cli::Command modules_command(CLI::App& bench) {
  auto flags = std::make_shared<ModulesFlags>();
  flags->search.search.threads = 1;
  flags->search.memory = "2G";
  CLI::App* app = bench.add_subcommand(
      "modules", "Loops of TTGIR modules, sub-tiled and unrolled, beside CP-SAT, with curves");
  app->add_option("FILE", flags->loops.inputs,
                  "TTGIR modules and folders of them (default: graph/kernels/triton)");
  app->add_option("--subtiles", flags->loops.subtiles, "Ways along M, as 1,2,4")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({1, 2, 4, 8}))
      ->capture_default_str();
  app->add_option("--unrolls", flags->loops.unrolls, "Iterations in one, as 1,2,4")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app->add_flag("!--no-outer", flags->loops.outer, "No loops around others");
  app->add_flag("--all-layouts", flags->loops.all_layouts,
                "Every layout that holds the loop, not the machine's first");
  app->add_option("--only", flags->loops.only, "Loops of these names; may be repeated")
      ->allow_extra_args(false);
  app->add_option("--cpu-limit", flags->cpu_limit, "CPU seconds of each solver for each loop")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  app->add_option("--peer-threads", flags->peer_threads,
                  "CP-SAT with so many threads, as 1,0; 0 = all cores")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  app->add_flag("!--no-peers", flags->peers, "Twill alone");
  app->add_option("--curves", flags->curves,
                  "File for what each had found and proved after how many CPU seconds, CSV");
  flags->search.add_to(*app, "a loop");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  app->add_flag("--json", flags->json, "A JSON object a loop, a line each");
  app->footer(
      "Twill and CP-SAT (bench/cp_sat_optimum.py, where Python has OR-Tools) look for the smallest "
      "I,\nthen the smallest L, of the same problem. CP-SAT's schedules are put before the judge; "
      "its\nbounds are of schedules no longer than all ops one after another.\n"
      "Exit codes: 0 all are settled, 3 Twill was stopped at a limit, 4 two answers contradict "
      "each\n"
      "other, or the judge refuses a schedule.");
  return {app, [flags] {
            if (flags->loops.inputs.empty()) flags->loops.inputs = {module_folder()};
            cli::Interrupt interrupt;
            return Modules(*flags, interrupt.token()).run();
          }};
}

}  // namespace twill::bench
