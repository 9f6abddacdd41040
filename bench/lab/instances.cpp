// Questions of the built-in loops (bench/lab/loops.hpp) and of files. Every loop gives up to three
// questions: at the best that the order engine finds (SAT), one shorter at the same I, and at one I
// less with the same length (UNSAT where that best is proved, else not known); questions that a
// bound answers are left out.
#include <tbb/parallel_for.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>

#include "bench/lab/literature.hpp"
#include "bench/lab/loops.hpp"
#include "bench/lab/makespan.hpp"
#include "bench/lab/question.hpp"
#include "bench/measured.hpp"
#include "engine/cli/workload.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/length_bound.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/loop.hpp"
#include "graph/synthetic.hpp"

namespace twill::bench {
namespace {

constexpr double kMost = 60;                     // seconds for a makespan
constexpr std::int64_t kMostConflicts = 30'000;  // for a loop's optimum
constexpr std::string_view kProblemEnding = ".problem.json";
constexpr const char* kBenchexecProperty = "schedule.prp";
constexpr std::size_t kLongestName = 190;  // an instance's has up to 200

Instance question(const Loop& loop, const char* suffix, Cycle ii, Cycle length,
                  const char* expected) {
  Instance q;
  q.name = loop.name + suffix;
  q.family = loop.family;
  q.file = loop.name + ".problem.json";
  q.ii = ii;
  q.length = length;
  q.expected = expected;
  return q;
}

std::vector<Instance> questions_of(const Loop& loop, bool& settled) {
  Options options;
  options.threads = 1;
  options.conflict_limit = kMostConflicts;  // not seconds: the same questions on every machine
  const Solution best = solve(loop.problem, options);
  std::vector<Instance> questions;
  settled = best.schedule.has_value() || best.status == Status::infeasible;
  if (!best.schedule) return questions;
  const bool proved = best.status == Status::optimal;
  const Cycle ii = best.schedule->initiation_interval, length = best.schedule->length;
  const auto add = [&](const char* suffix, Cycle at, Cycle most, const char* expected) {
    questions.push_back(question(loop, suffix, at, most, expected));
  };
  add("-sat", ii, std::max<Cycle>(1, length), "SAT");
  const char* below = proved ? "UNSAT" : "";
  const auto earliest = earliest_starts(loop.problem, ii, forced_delays(loop.problem));
  if (length > 1 && earliest && schedule_length(loop.problem, *earliest) < length)
    add("-short", ii, length - 1, below);
  if (ii > lower_bounds(loop.problem).front().value)
    add("-fast", ii - 1, std::max<Cycle>(1, length),
        ii - 1 < best.ii_lower_bound ? "UNSAT" : below);
  return questions;
}

Loop problem_loop(const std::string& path) {
  Problem problem = read_problem(path);
  if (!problem.channels.empty())
    throw InputError(path, "/channels", std::to_string(problem.channels.size()),
                     "must be none: formulas do not say what channels carry");
  std::string name = std::filesystem::path(path).filename().string();
  name.resize(name.size() - kProblemEnding.size());
  if (name.size() > kLongestName)
    throw InputError(path, "name", quote(name),
                     "must have at most " + std::to_string(kLongestName) + " bytes");
  return {std::move(name), "problem", std::move(problem)};
}

std::string literature_family(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".sm" || ending == ".rcp") return "rcpsp";
  return ending == ".sch" || ending == ".SCH" ? "rcpsp-max" : "job-shop";
}

/// A loop and what is asked about it.
using Asked = std::pair<Loop, std::vector<Instance>>;

/// Is there a schedule of the makespan, and of one less? Where there is none at all, of the longest
/// that one could need. Lags make a problem of each makespan.
std::vector<Asked> makespan_questions(const QuestionFile& file, bool& settled) {
  const Project project = parse_literature(read_file(file.path), file.path);
  const auto bound = makespan_bound(project);
  Cycle optimum = file.published.high;
  bool none = file.published.none || !bound;
  if (!file.published.exact() && !none) {
    Options options;
    options.threads = 1;
    options.time_limit = kMost;
    const Makespan found = smallest_makespan(project, options, {});
    settled = found.proved();
    if (!settled) return {};
    optimum = found.high;
    none = found.none;
  }
  std::vector<Asked> asked;
  const auto ask = [&](const char* suffix, Cycle makespan, const char* expected) {
    Loop loop{project.problem.name, literature_family(file.path), at_makespan(project, makespan)};
    if (!project.lags.empty()) loop.name += "-at" + std::to_string(makespan);
    Instance q = question(loop, suffix, makespan, makespan, expected);
    if (project.lags.empty() && !asked.empty())
      asked.front().second.push_back(std::move(q));
    else
      asked.emplace_back(std::move(loop), std::vector{std::move(q)});
  };
  if (none) {
    if (bound) ask("-none", std::max(*bound, longest_makespan(project)), "UNSAT");
    return asked;
  }
  ask("-sat", optimum, "SAT");
  if (bound && optimum > *bound) ask("-short", optimum - 1, "UNSAT");
  return asked;
}

std::string yaml_text(const std::string& raw) {
  std::string text = "'";
  for (const char c : raw) text += c == '\'' ? std::string("''") : std::string(1, c);
  return text + "'";
}

/// The question as a task of BenchExec (bench/benchexec_twill): the property is that there is a
/// schedule, and its verdict is given where it is known.
std::string benchexec_task(const Instance& q, const std::string& file) {
  std::string text = "format_version: '2.0'\ninput_files: " + yaml_text(file) +
                     "\nproperties:\n  - property_file: " + kBenchexecProperty + "\n";
  if (!q.expected.empty())
    text += std::string("    expected_verdict: ") + (q.expected == "SAT" ? "true" : "false") + "\n";
  return text + "options:\n  ii: " + std::to_string(q.ii) +
         "\n  length: " + std::to_string(q.length) + "\n";
}

/// The problems, instances.jsonl and the tasks of BenchExec.
void write_questions(const std::vector<Loop>& loops,
                     const std::vector<std::vector<Instance>>& questions,
                     const std::string& folder) {
  namespace fs = std::filesystem;
  fs::create_directories(folder);
  std::string list;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (questions[i].empty()) continue;
    const std::string text = problem_text(loops[i].problem);
    const std::string file = loops[i].name + ".problem.json";
    write_file((fs::path(folder) / file).string(), text);
    for (const Instance& q : questions[i]) {
      const nlohmann::ordered_json line = {{"name", q.name},
                                           {"family", q.family},
                                           {"problem", file},
                                           {"problem_sha256", sha256(text)},
                                           {"ii", q.ii},
                                           {"length", q.length},
                                           {"expected", q.expected}};
      list += line.dump() + "\n";
      write_file((fs::path(folder) / (q.name + ".yml")).string(), benchexec_task(q, file));
    }
  }
  write_file((fs::path(folder) / "instances.jsonl").string(), list);
  write_file((fs::path(folder) / kBenchexecProperty).string(),
             "There is a schedule at the task's I (options, ii) no longer than its length.\n");
}

}  // namespace

std::vector<std::string> write_instances(
    const std::string& grid, const std::string& folder,
    const std::function<void(std::size_t, std::size_t)>& progress) {
  const std::vector<Loop> loops = grid_loops(grid);
  std::vector<std::vector<Instance>> questions(loops.size());
  std::vector<std::string> left_out;
  std::mutex mutex;
  std::size_t done = 0;
  tbb::parallel_for(std::size_t{0}, loops.size(), [&](std::size_t i) {
    bool settled = false;
    questions[i] = questions_of(loops[i], settled);
    const std::scoped_lock lock(mutex);
    if (!settled) left_out.push_back(loops[i].name);
    if (progress) progress(++done, loops.size());
  });
  std::sort(left_out.begin(), left_out.end());
  write_questions(loops, questions, folder);
  return left_out;
}

bool is_problem_file(const std::string& path) {
  return path.ends_with(kProblemEnding);
}

std::vector<std::string> write_file_questions(const std::vector<QuestionFile>& files,
                                              const std::string& folder) {
  std::vector<std::vector<Asked>> asked(files.size());
  std::vector<std::string> names, left_out;
  for (const QuestionFile& f : files) {
    std::string name = is_problem_file(f.path)
                           ? problem_loop(f.path).name
                           : parse_literature(read_file(f.path), f.path).problem.name;
    if (std::find(names.begin(), names.end(), name) != names.end())
      throw InputError(f.path, "name", quote(name), "must be the name of one file only");
    names.push_back(std::move(name));
  }
  std::mutex mutex;
  tbb::parallel_for(std::size_t{0}, files.size(), [&](std::size_t i) {
    bool settled = true;
    if (is_problem_file(files[i].path)) {
      const Loop loop = problem_loop(files[i].path);
      asked[i] = {{loop, files[i].ii > 0
                             ? std::vector{question(loop, "", files[i].ii, files[i].length, "")}
                             : questions_of(loop, settled)}};
    } else {
      asked[i] = makespan_questions(files[i], settled);
    }
    if (settled) return;
    const std::scoped_lock lock(mutex);
    left_out.push_back(names[i]);
  });
  std::vector<Loop> loops;
  std::vector<std::vector<Instance>> questions;
  for (std::vector<Asked>& file : asked)
    for (auto& [loop, of_loop] : file) {
      loops.push_back(std::move(loop));
      questions.push_back(std::move(of_loop));
    }
  std::sort(left_out.begin(), left_out.end());
  write_questions(loops, questions, folder);
  return left_out;
}

}  // namespace twill::bench
