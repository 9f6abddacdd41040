// twill bench check: every SAT row judged by verify(), every UNSAT row proved again by a DRAT proof
// that a checker apart from the solver accepts.
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "bench/lab/lab.hpp"
#include "bench/lab/question.hpp"
#include "bench/lab/rows.hpp"
#include "bench/lab/scramble.hpp"
#include "bench/lab/trial.hpp"
#include "bench/process.hpp"
#include "encoders/choose.hpp"
#include "engine/certificate/drat.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/search_options.hpp"
#include "engine/include/twill.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"

namespace twill::bench {
namespace {

namespace fs = std::filesystem;

struct CheckFlags {
  std::vector<std::string> files;
  std::string instances, out, memory = "4G";
  double cpu = 300;
  int jobs = 0;
  bool quiet = false;
};

/// What became of one row.
struct RowVerdict {
  std::string how;      ///< "model", "drat", "drat and drat-trim"
  std::string failure;  ///< "" = proved
  bool open = false;    ///< a limit came first
};

/// A file of this process in the folder for temporary files, gone with the object.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name)
      : path_((fs::temp_directory_path() / ("twill-" + std::to_string(::getpid()) + "-" + name))
                  .string()) {}
  ~ScratchFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

RowVerdict check_model(const Row& row, const Problem& problem, const Instance& instance) {
  const auto refuse = [](const std::string& text) { return RowVerdict{"model", text, false}; };
  if (text_of(row, "verified") == "refused")
    return refuse("the row itself says that the judge refused the model");
  const auto found = row.find("schedule");
  if (found == row.end() || !found->is_object() || !found->contains("start") ||
      !found->contains("slot"))
    return refuse("no schedule in the row");
  Schedule schedule;
  schedule.initiation_interval = instance.ii;
  try {
    schedule.start = found->at("start").get<std::vector<Cycle>>();
    schedule.warp = found->at("slot").get<std::vector<int>>();
  } catch (const nlohmann::json::exception&) {
    return refuse("the schedule is not one of numbers");
  }
  if (schedule.start.size() != problem.ops.size() || schedule.warp.size() != problem.ops.size())
    return refuse("the schedule is not one of this problem");
  schedule.length = schedule_length(problem, schedule.start);
  if (const auto violation = verify(problem, schedule))
    return refuse(violation->rule + ": " + violation->text);
  if (schedule.length > instance.length) return refuse("the schedule is longer than was asked");
  return {"model", "", false};
}

/// Solves the row's formula once more, with a proof, and checks it.
RowVerdict check_refutation(const Row& row, const Problem& problem, const Instance& instance,
                            const CheckFlags& flags, std::size_t index,
                            const std::string& drat_trim, const std::stop_token& stop) {
  const ScratchFile proof(std::to_string(index) + ".drat");
  Trial trial;
  trial.problem = problem;
  trial.ii = instance.ii;
  trial.length = instance.length;
  // What another solver read in a form without encodings is refuted in the default one.
  const bool encoded =
      !row.contains("format") || takes_encoding(question_format(text_of(row, "format")));
  trial.encoding = encoded ? text_of(row, "encoding") : encoding_text({});
  trial.scramble = scramble_parts(text_of(row, "scramble_parts"));
  trial.scramble.seed = static_cast<std::uint64_t>(number_of(row, "scramble"));
  trial.seed = static_cast<std::uint64_t>(number_of(row, "seed"));
  // A process of its own, so that its CPU time can be limited.
  std::vector<std::string> line = {this_program(), "bench", "trial", instance.file};
  const auto add = [&](const char* name, const std::string& value) {
    line.insert(line.end(), {name, value});
  };
  add("--ii", std::to_string(trial.ii));
  add("--length", std::to_string(trial.length));
  add("--encoding", trial.encoding);
  add("--scramble", std::to_string(trial.scramble.seed));
  add("--scramble-parts", to_string(trial.scramble));
  add("--seed", std::to_string(trial.seed));
  add("--cpu-limit", decimal(flags.cpu, 3));
  add("--memory", std::to_string(cli::parse_bytes(flags.memory)));
  add("--proof", proof.path());
  const ProcessResult process = run_process(line, {}, stop);
  const Row again = Row::parse(process.out, nullptr, false);
  const std::string status = again.is_object() ? text_of(again, "status") : "";
  if (status == "SAT") return {"drat", "the same formula is SAT now", false};
  if (status != "UNSAT") return {"drat", "not refuted again: " + status, true};

  Budget budget(stop, 0, 0, 0);
  const ScrambledCnf formula = scrambled(
      encode_question(problem, trial.ii, trial.length, parse_encoding(trial.encoding), budget).cnf,
      trial.scramble);
  std::vector<int> clauses;
  for (std::size_t c = 0; c < formula.cnf.clauses(); ++c) {
    clauses.insert(clauses.end(), formula.cnf.clause(c).begin(), formula.cnf.clause(c).end());
    clauses.push_back(0);
  }
  const DratVerdict verdict = check_drat(clauses, read_file(proof.path()), ProofFormat::binary);
  if (!verdict.accepted) return {"drat", "the proof is refused: " + verdict.reason, false};
  if (drat_trim.empty()) return {"drat", "", false};
  const ScratchFile dimacs(std::to_string(index) + ".cnf");
  std::ostringstream text;
  formula.cnf.write_dimacs(text);
  write_file(dimacs.path(), text.str());
  const ProcessResult trim =
      run_process({drat_trim, dimacs.path(), proof.path(), "-t", "20000"}, {}, stop);
  if (trim.out.find("s VERIFIED") == std::string::npos)
    return {"drat and drat-trim", "drat-trim does not verify the proof", false};
  return {"drat and drat-trim", "", false};
}

int run(const CheckFlags& flags) {
  const std::vector<Row> rows = merged_rows(flags.files);
  const std::string folder =
      flags.instances.empty() ? flags.files.front() + ".instances" : flags.instances;
  std::map<std::string, Instance> instances;
  std::map<std::string, Problem> problems;
  for (Instance& i : read_instances(folder)) {
    const std::string text = read_file(i.file);
    if (sha256(text) != i.sha256)
      throw InputError(i.file, "file", sha256(text), "must have the SHA-256 " + i.sha256);
    problems.emplace(i.file, parse_problem(text, i.file));
    instances.emplace(i.name, i);
  }
  const std::string drat_trim = find_program("drat-trim");
  cli::Interrupt interrupt;
  std::mutex mutex;
  std::size_t models = 0, refutations = 0, failures = 0, open = 0, unanswered = 0, literal = 0;
  std::string results;
  const int jobs = flags.jobs > 0
                       ? flags.jobs
                       : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  tbb::task_arena arena(jobs);
  arena.execute([&] {
    tbb::parallel_for(std::size_t{0}, rows.size(), [&](std::size_t i) {
      if (interrupt.token().stop_requested()) return;
      const Row& row = rows[i];
      const std::string status = text_of(row, "status"), name = text_of(row, "instance");
      if (status != "SAT" && status != "UNSAT") {
        const std::scoped_lock lock(mutex);
        ++unanswered;
        return;
      }
      RowVerdict verdict;
      const auto instance = instances.find(name);
      // What the literal form accepts need not run: the judge's refusal is its known defect.
      const bool inexact = text_of(row, "encoding").find("form=straight-line-literal") == 0 &&
                           text_of(row, "verified") == "refused";
      if (instance == instances.end() ||
          instance->second.sha256 != text_of(row, "instance_sha256")) {
        verdict.failure = "the instance is not in " + folder;
      } else if (!inexact) {
        const Problem& problem = problems.at(instance->second.file);
        verdict = status == "SAT" ? check_model(row, problem, instance->second)
                                  : check_refutation(row, problem, instance->second, flags, i,
                                                     drat_trim, interrupt.token());
      }
      const std::scoped_lock lock(mutex);
      literal += inexact;
      open += verdict.open;
      if (!verdict.failure.empty() && !verdict.open) {
        ++failures;
        std::cerr << "FAILED " << name << ", " << contestant(row) << ", " << status << ": "
                  << verdict.failure << "\n";
      } else if (!verdict.open && !inexact) {
        ++(status == "SAT" ? models : refutations);
      }
      const Row result = {{"instance", name},
                          {"solver", text_of(row, "solver")},
                          {"encoding", text_of(row, "encoding")},
                          {"scramble", number_of(row, "scramble")},
                          {"status", status},
                          {"checked_by", verdict.how},
                          {"result", verdict.failure.empty() ? "proved"
                                     : verdict.open          ? "open"
                                                             : "failed"},
                          {"text", verdict.failure}};
      results += result.dump() + "\n";
    });
  });
  for (const std::string& text : disagreements(rows)) {
    ++failures;
    std::cerr << "DISAGREEMENT " << text << "\n";
  }
  if (!flags.out.empty()) write_file(flags.out, results);
  std::cout << models << " models verified, " << refutations << " refutations proved by DRAT"
            << (drat_trim.empty() ? "" : " (and drat-trim)") << ", " << open
            << " not refuted again in time, " << unanswered << " rows without an answer, "
            << failures << " failures\n";
  if (literal > 0)
    std::cout << literal << " models of the printed form that the judge refuses, as known\n";
  if (failures > 0) return cli::kNo;
  return open > 0 || interrupt.token().stop_requested() ? cli::kStopped : cli::kDone;
}

}  // namespace

cli::Command check_command(CLI::App& bench) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* app = bench.add_subcommand(
      "check", "Prove the rows of a run: models by the judge, refutations by DRAT");
  app->add_option("ROWS", flags->files, "JSON Lines files of `bench run`")->required();
  app->add_option("--instances", flags->instances,
                  "Folder with instances.jsonl (default: the one beside the first file)");
  app->add_option("-o,--out", flags->out, "Write a line of JSON a row here");
  app->add_option(cli::kCpuLimit, flags->cpu, "CPU seconds to refute a row again")
      ->capture_default_str();
  app->add_option(cli::kMemoryLimit, flags->memory, "Memory to refute a row again")
      ->capture_default_str();
  app->add_option("-j,--jobs", flags->jobs, "Rows at a time (default: one a core)")
      ->check(CLI::Range(0, 4096));
  app->footer(
      "An UNSAT row's formula is built, scrambled and solved again with a proof, which the\n"
      "library's own checker must accept, and drat-trim when it is on the PATH. Exit codes: 0 all\n"
      "proved, 1 a row failed or rows disagree, 3 some were not refuted again in time.");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::bench
