// twill bench schedule-graph: loops and schedules of Meta's Triton fork, judged and solved.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "bench/bench.hpp"
#include "bench/joint_problem.hpp"
#include "bench/schedule_graph.hpp"
#include "bench/table.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/io/file.hpp"
#include "graph/io/sha256.hpp"
#include "graph/verify.hpp"

namespace twill::bench {
namespace {

struct Flags {
  std::vector<std::string> files;
  std::string out, ddg, solution;
  double time_limit = 60;
};

std::string pair_text(const Schedule& schedule) {
  return std::to_string(schedule.initiation_interval) + ", " + std::to_string(schedule.length);
}

/// Their schedule as a schedule file of ours.
std::string as_file(const Problem& problem, const Schedule& schedule) {
  Solution solution;
  solution.problem = problem.name;
  solution.problem_sha256 = sha256(problem_text(problem));
  solution.schedule = schedule;
  solution.status = Status::feasible;
  solution.max_stages = stage_count(schedule);
  solution.stages = std::to_string(solution.max_stages);
  solution.engine = "import";
  return schedule_text(problem, solution);
}

class Report {
 public:
  explicit Report(const Flags& flags)
      : flags_(flags),
        table_(std::cout, {{"loop", 28, false},
                           {"ops", 4},
                           {"theirs: I, L", 14},
                           {"the judge", 10, false},
                           {"bound stated", 12},
                           {"bound", 8},
                           {"best: I, L", 14},
                           {"", 8, false}}) {
    table_.head();
  }

  int run() {
    std::optional<Occupancies> occupancies;
    if (!flags_.ddg.empty()) occupancies = parse_occupancies(read_file(flags_.ddg), flags_.ddg);
    bool unreadable = false;
    const Occupancies* taken = occupancies ? &*occupancies : nullptr;
    for (const std::string& file : flags_.files) {
      try {
        for (GraphLoop& loop : parse_schedule_graph(read_file(file), file, taken)) {
          if (!flags_.solution.empty()) {
            if (!loop.asked || flags_.files.size() > 1)
              throw InputError("command line", "--solution", flags_.solution,
                               "needs one FILE alone, a problem of the joint solver");
            loop.schedule =
                parse_joint_solution(read_file(flags_.solution), flags_.solution, loop.problem);
          }
          row(file, loop);
        }
      } catch (const InputError& error) {  // the other files are read all the same
        refusals_.emplace_back(error.what());
        unreadable = true;
      }
    }
    for (const std::string& line : refusals_) std::cerr << line << "\n";
    return unreadable ? cli::kBadInput : open_ ? cli::kStopped : cli::kDone;
  }

 private:
  void row(const std::string& file, const GraphLoop& loop) {
    const Problem& problem = loop.problem;
    std::string judged = "-";
    if (loop.schedule) {
      const auto violation = verify(problem, *loop.schedule);
      judged = violation ? "refused" : "accepted";
      if (violation)
        refusals_.push_back(file + ", " + problem.name + ": " + violation->rule + ": " +
                            violation->text);
    }
    if (!flags_.out.empty()) write(file, loop, judged == "accepted");
    Options options;
    options.time_limit = flags_.time_limit;
    const Solution best = solve(problem, options);
    open_ = open_ || best.status == Status::unknown || best.status == Status::feasible;
    table_.row({problem.name, std::to_string(problem.ops.size()),
                loop.schedule ? pair_text(*loop.schedule) : "-", judged,
                loop.stated_bound ? std::to_string(*loop.stated_bound) : "-",
                std::to_string(lower_bounds(problem).front().value),
                best.schedule ? pair_text(*best.schedule) : "-", to_string(best.status)});
  }

  void write(const std::string& file, const GraphLoop& loop, bool accepted) const {
    namespace fs = std::filesystem;
    fs::create_directories(flags_.out);
    const std::string stem = fs::path(file).stem().string() + "-" + loop.problem.name;
    const std::string path = (fs::path(flags_.out) / stem).string();
    write_file(path + ".problem.json", problem_text(loop.problem));
    if (accepted) write_file(path + ".schedule.json", as_file(loop.problem, *loop.schedule));
  }

  const Flags& flags_;
  Table table_;
  std::vector<std::string> refusals_;
  bool open_ = false;
};

}  // namespace

cli::Command schedule_graph_command(CLI::App& bench) {
  auto flags = std::make_shared<Flags>();
  CLI::App* app = bench.add_subcommand(
      "schedule-graph", "Loops and schedules of Meta's Triton fork, judged and solved");
  app->add_option("FILE", flags->files,
                  "ddg.json, schedule_graph.json, or a problem of the joint solver (repeatable)")
      ->required();
  app->add_option("--ddg", flags->ddg,
                  "The dependence graph of a schedule: it knows how long pipelines are taken");
  app->add_option("--solution", flags->solution,
                  "The joint solver's answer to FILE, to be judged beside ours");
  app->add_option("-o,--out", flags->out,
                  "Folder for their loops as problem files, and for the schedules that the judge "
                  "accepts");
  app->add_option("--time-limit", flags->time_limit, "Seconds of wall time for each loop")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->footer(
      "What the files say of pipelines, latencies, warp groups and buffers becomes a problem;\n"
      "what they do not say (costs of hand-overs, registers) is left out, so that the best I is\n"
      "a lower bound of theirs. Exit codes: 3 some loop was not decided within its time, 2 a file "
      "was not read.");
  return {app, [flags] { return Report(*flags).run(); }};
}

}  // namespace twill::bench
