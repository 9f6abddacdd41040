// twill bench run: instances x encodings x scrambles, a process a row, a line of JSON a row.
#include <fcntl.h>
#include <sys/file.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "bench/lab/grid.hpp"
#include "bench/lab/lab.hpp"
#include "bench/lab/question.hpp"
#include "bench/lab/rows.hpp"
#include "bench/lab/runner.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/search_options.hpp"
#include "engine/output/style.hpp"
#include "graph/io/json_text.hpp"
#include "graph/random.hpp"

namespace twill::bench {
namespace {

struct RunFlags {
  std::string grid, instances, encodings, out, scrambles = "0", parts, memory = "2G", shard = "0/1";
  double cpu = 60, budget = 0;
  std::int64_t conflicts = 0;
  std::uint64_t seed = 0, shuffle = 0;
  int jobs = 0;
  std::vector<std::string> solvers;
  double wall = 0;
  bool resume = false, quiet = false, quick = false, others = false;
};

std::int64_t number(const std::string& option, const std::string& text, std::int64_t high) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 0 || n > high)
    throw InputError("command line", option, quote(text),
                     "must be a number, " + range_rule(0, high));
  return n;
}

/// "0,3,5..9".
std::vector<std::uint64_t> scramble_seeds(const std::string& text) {
  std::vector<std::uint64_t> seeds;
  std::stringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    const std::size_t dots = item.find("..");
    const std::int64_t low = number("--scramble", item.substr(0, dots), 1'000'000);
    const std::int64_t high =
        dots == std::string::npos ? low : number("--scramble", item.substr(dots + 2), 1'000'000);
    if (high < low || high - low >= 10'000)
      throw InputError("command line", "--scramble", quote(item), "must be a range of seeds");
    for (std::int64_t s = low; s <= high; ++s) seeds.push_back(static_cast<std::uint64_t>(s));
  }
  if (seeds.empty()) throw InputError("command line", "--scramble", "nothing", "must be seeds");
  return seeds;
}

struct Shard {
  std::size_t index = 0, count = 1;
};
Shard shard_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos)
    throw InputError("command line", "--shard", quote(text), "must be INDEX/COUNT");
  const auto index = static_cast<std::size_t>(number("--shard", text.substr(0, slash), 1'000'000));
  const auto count = static_cast<std::size_t>(number("--shard", text.substr(slash + 1), 1'000'000));
  if (index >= count)
    throw InputError("command line", "--shard", quote(text), "must have INDEX from 0 to COUNT - 1");
  return {index, count};
}

/// One line written by one system call, so that a killed run loses at most the row in flight. The
/// file is locked while one exists: two runs would both find the same rows missing.
class RowWriter {
 public:
  explicit RowWriter(const std::string& path) : path_(path) {
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file_ < 0) throw InputError(path, "file", "a path", "cannot be written");
    if (::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    ::close(file_);
    throw InputError(path, "file", "rows",
                     "another run is writing this file: wait for it, or give it another name");
  }
  ~RowWriter() { ::close(file_); }
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;
  void write(const Row& row) {
    const std::string line = row.dump() + "\n";
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      throw InputError(path_, "file", "a row", "cannot be written");
  }

 private:
  std::string path_;
  int file_ = -1;
};

/// Rows done, and how long the rest may take.
class Bar {
 public:
  Bar(std::size_t rows, bool quiet)
      : rows_(rows), enabled_(!quiet && ::isatty(STDERR_FILENO) == 1) {}
  ~Bar() {
    if (enabled_) std::cerr << "\r\033[K";
  }
  void step(const std::string& last) {
    ++done_;
    if (!enabled_) return;
    const double seconds = elapsed();
    const double left = seconds / static_cast<double>(done_) * static_cast<double>(rows_ - done_);
    constexpr std::size_t kBar = 24;
    const std::size_t filled = kBar * done_ / rows_;
    std::cerr << "\r\033[K[" << std::string(filled, '#') << std::string(kBar - filled, '.') << "] "
              << done_ << "/" << rows_ << "  " << decimal(left, 0) << " s left  " << last
              << std::flush;
  }
  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::size_t rows_, done_ = 0;
  bool enabled_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Fisher and Yates's shuffle, the same on every machine.
void shuffle_instances(std::vector<Instance>& instances, std::uint64_t seed) {
  SplitMix64 random(seed);
  for (std::size_t i = instances.size(); i > 1; --i)
    std::swap(instances[i - 1],
              instances[static_cast<std::size_t>(random.range(0, static_cast<int>(i) - 1))]);
}

int run(RunFlags flags) {
  if (flags.quick) {
    if (flags.grid.empty()) flags.grid = "quick";
    if (flags.cpu == 60) flags.cpu = 2;
  }
  if (flags.grid.empty()) flags.grid = "default";
  if (flags.encodings.empty()) flags.encodings = flags.grid == "quick" ? "quick" : "default";
  const Shard shard = shard_of(flags.shard);
  const std::vector<std::uint64_t> seeds = scramble_seeds(flags.scrambles);
  const std::vector<std::string> encodings = expand_encodings(flags.encodings);
  std::error_code absent;
  if (const auto size = std::filesystem::file_size(flags.out, absent);
      !absent && size > 0 && !flags.resume)
    throw InputError("command line", "--out", quote(flags.out), "must not exist, or give --resume");
  RowWriter writer(flags.out);  // locked before anything is read or made
  if (flags.instances.empty()) {
    flags.instances = flags.out + ".instances";
    if (!std::filesystem::exists(flags.instances + "/instances.jsonl")) {
      Bar bar(1, flags.quiet);
      if (!flags.quiet)
        std::cerr << "instances of the " << flags.grid << " grid: " << flags.instances << "\n";
      for (const std::string& name : write_instances(flags.grid, flags.instances, {}))
        std::cerr << "left out, no answer within the limit: " << name << "\n";
    }
  }
  std::vector<Instance> instances = read_instances(flags.instances);
  if (flags.shuffle > 0) shuffle_instances(instances, flags.shuffle);
  std::set<std::string> done;
  if (std::filesystem::file_size(flags.out) > 0) {
    if (!flags.resume)  // written since
      throw InputError("command line", "--out", quote(flags.out),
                       "must not exist, or give --resume");
    const RowFile file = read_rows(flags.out);
    for (const Row& row : file.rows) {
      const std::string status = text_of(row, "status");
      if (status != "NOTRUN" && status != "STOPPED") done.insert(row_key(row));
    }
    std::filesystem::resize_file(flags.out, file.whole);
  }

  Scramble scramble;
  scramble.seed = 0;
  if (!flags.parts.empty()) scramble = scramble_parts(flags.parts);
  const RowLimits limits{flags.cpu, flags.wall, flags.conflicts, cli::parse_bytes(flags.memory)};
  const Runner runner(instances, limits, scramble, flags.seed);
  cli::Interrupt interrupt;
  std::vector<SolverCommand> others;
  for (const std::string& text : flags.solvers) {
    others.push_back(solver_command(text, interrupt.token()));
    for (std::size_t k = 0; k + 1 < others.size(); ++k)
      if (others[k].name == others.back().name)
        throw InputError("command line", "--solver", quote(others.back().name),
                         "must be the name of one solver only");
  }
  std::vector<const SolverCommand*> solvers;
  if (!flags.others) solvers.push_back(nullptr);
  for (const SolverCommand& solver : others) solvers.push_back(&solver);
  if (solvers.empty())
    throw InputError("command line", "--others-only", "no --solver", "must have solvers");
  std::vector<Work> pending;
  std::size_t all = 0;
  for (const Instance& instance : instances)
    for (const std::string& encoding : encodings)
      for (const std::uint64_t seed : seeds)
        for (const SolverCommand* solver : solvers) {
          Work work{&instance, encoding, seed, solver};
          const auto format = solver == nullptr ? QuestionFormat::cnf : solver->format;
          // Only CNF is scrambled, sums need the modulo form, and some formats have no encodings.
          if (format != QuestionFormat::cnf && seed != seeds.front()) continue;
          if (!takes_encoding(format)) {
            if (encoding != encodings.front()) continue;
            work.encoding = to_string(format);
          } else if (format != QuestionFormat::cnf &&
                     parse_encoding(encoding).form != Form::modulo) {
            continue;
          }
          if (all++ % shard.count != shard.index) continue;
          if (!done.contains(row_key(runner.head(work)))) pending.push_back(std::move(work));
        }
  const int jobs = flags.jobs > 0
                       ? flags.jobs
                       : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (!flags.quiet) {
    std::cerr << instances.size() << " instances x " << encodings.size() << " encodings x "
              << seeds.size() << " scrambles x " << solvers.size() << " solvers; " << pending.size()
              << " rows to run on " << jobs << (jobs == 1 ? " process" : " processes");
    if (flags.cpu > 0) {
      double most = flags.cpu * static_cast<double>(pending.size()) / jobs;
      if (flags.budget > 0) most = std::min(most, flags.budget + flags.cpu);
      std::cerr << "; at most " << decimal(most / 60, 1) << " minutes";
    }
    std::cerr << "\n";
  }
  Bar bar(std::max<std::size_t>(1, pending.size()), flags.quiet);
  std::mutex mutex;
  std::size_t not_run = 0, errors = 0;
  std::vector<Row> answers;
  tbb::task_arena arena(jobs);
  arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, pending.size(), 1),
        [&](const auto& range) {
          for (std::size_t i = range.begin(); i < range.end(); ++i) {
            if (interrupt.token().stop_requested()) return;
            const bool spent = flags.budget > 0 && bar.elapsed() > flags.budget;
            Row row = spent ? runner.head(pending[i]) : runner.run(pending[i], interrupt.token());
            if (spent) row["status"] = "NOTRUN";
            const std::scoped_lock lock(mutex);
            const std::string status = text_of(row, "status");
            if (status == "STOPPED") return;
            writer.write(row);
            not_run += spent;
            if (status == "ERROR" || status == "WRONG") {
              ++errors;
              std::cerr << "\n"
                        << pending[i].instance->name << ", " << contestant(row) << ": "
                        << text_of(row, "error") << "\n";
            }
            bar.step(pending[i].instance->name);
            answers.push_back({{"instance", text_of(row, "instance")},
                               {"instance_sha256", text_of(row, "instance_sha256")},
                               {"solver", text_of(row, "solver")},
                               {"encoding", text_of(row, "encoding")},
                               {"expected", text_of(row, "expected")},
                               {"status", status}});
          }
        },
        tbb::simple_partitioner{});
  });
  const std::vector<std::string> wrong = disagreements(answers);
  for (const std::string& text : wrong) std::cerr << "DISAGREEMENT " << text << "\n";
  if (!wrong.empty() || errors > 0) return cli::kNo;
  if (not_run > 0 && !flags.quiet)
    std::cerr << not_run << " rows not run: the budget is spent; --resume goes on\n";
  return interrupt.token().stop_requested() || not_run > 0 ? cli::kStopped : cli::kDone;
}

}  // namespace

cli::Command run_command(CLI::App& bench) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* app =
      bench.add_subcommand("run", "Instances x encodings x scrambles, a process and a line a row");
  app->add_option("-o,--out", flags->out, "JSON Lines, one row a line, appended to")->required();
  app->add_option(
         "--grid", flags->grid,
         "Built-in instances and encodings: default, quick, or domain (with the default encodings)")
      ->check(CLI::IsMember({"default", "quick", "domain"}));
  app->add_flag("--quick", flags->quick, "The quick grid, 2 CPU seconds a row");
  app->add_option("--instances", flags->instances,
                  "Folder with instances.jsonl (default: the grid's, written beside the rows)");
  app->add_option(
      "--encodings", flags->encodings,
      "Patterns as start=order|direct,pb=*;amo=ladder, or a grid's name; keys and values: " +
          encoding_keys());
  app->add_option("--scramble", flags->scrambles, "Seeds as 0,1,5..9; 0 = as encoded")
      ->capture_default_str();
  app->add_option("--scramble-parts", flags->parts,
                  "Any of variables,polarities,clauses,literals, or none")
      ->default_str(to_string(Scramble{}));
  app->add_option("--seed", flags->seed, "Seed of the solver")->capture_default_str();
  app->add_option(cli::kCpuLimit, flags->cpu, "CPU seconds a row (0 = none)")
      ->check(CLI::Range(0.0, 1e7))
      ->capture_default_str();
  app->add_option(cli::kConflictLimit, flags->conflicts, "Conflicts a row (0 = none)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 60))
      ->capture_default_str();
  app->add_option(cli::kMemoryLimit, flags->memory, "Memory a row")->capture_default_str();
  app->add_option("--wall-limit", flags->wall,
                  "Wall clock seconds a row (default: 20 times the CPU limit and a minute)")
      ->check(CLI::Range(0.0, 1e7));
  app->add_option("--solver", flags->solvers,
                  "NAME=COMMAND: another solver in the same rows; may be repeated")
      ->allow_extra_args(false);
  app->add_flag("--others-only", flags->others, "Without the linked CaDiCaL")->needs("--solver");
  app->add_option("--budget", flags->budget,
                  "Seconds for all rows; those beyond are recorded as NOTRUN (0 = none)")
      ->check(CLI::Range(0.0, 1e9));
  app->add_option("--shuffle", flags->shuffle,
                  "Take the instances in random order by this seed, so that what a budget leaves\n"
                  "is a fair sample (0 = as listed); the same for all shards");
  app->add_option("--shard", flags->shard, "INDEX/COUNT: only every COUNT-th row")
      ->capture_default_str();
  app->add_option("-j,--jobs", flags->jobs, "Rows at a time (default: one a core)")
      ->check(CLI::Range(0, 4096));
  app->add_flag("--resume", flags->resume, "Go on with what is not in the file yet");
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  app->footer(
      "Times are CPU seconds of the row's process, so rows may share the machine. Exit codes: 0\n"
      "done, 1 rows disagree or failed, 3 stopped or rows beyond the budget.\n\n"
      "COMMAND is no shell's: words, '...' and \"...\". Placeholders: {cnf} (default, at the "
      "end),\n"
      "{opb}, {ilp}, {smt2} or {problem}, the question's file; {model}, where the answer is "
      "written if not "
      "to\n"
      "standard output; {proof}, a DRAT proof, which is checked; {seed}; {cpu}, the limit in\n"
      "seconds. The judge decides of every model; an answer that it refuses is a row WRONG, no\n"
      "answer that can be read a row ERROR.");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace twill::bench
