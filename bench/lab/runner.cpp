#include "bench/lab/runner.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <regex>
#include <sstream>

#include "bench/process.hpp"
#include "engine/cadical.hpp"
#include "engine/include/twill.hpp"
#include "engine/output/style.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/error.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/problem_io.hpp"

namespace twill::bench {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

/// What is the same in every row of this run.
Row machine_part() {
  utsname system{};
  ::uname(&system);
  Row row;
  row["host"] = system.nodename;
  row["cpu_model"] = processor();
  row["os"] = std::string(system.sysname) + " " + system.release;
  row["compiler"] = __VERSION__;
  row["twill"] = version();
  row["program_sha256"] = sha256(read_file(this_program()));
  return row;
}

// The last line is the row's own part; before it CaDiCaL's statistics, "c decisions: 42 ...".
void read_output(const ProcessResult& process, Row& row) {
  std::stringstream lines(process.out);
  static const std::regex statistic(
      R"(^c (decisions|propagations|restarts|learned|conflicts): +([0-9]+).*)");
  std::string last;
  std::map<std::string, std::int64_t> counts;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, statistic))
      counts[match[1]] = std::stoll(match[2]);
    else
      last = line;
  }
  const Row own = Row::parse(last, nullptr, false);
  if (own.is_object() && own.contains("status")) {
    for (const auto& [key, value] : own.items()) row[key] = value;
    for (const auto& [name, count] : counts) row[name] = count;
    return;
  }
  switch (process.end) {
    case ProcessResult::End::limit: row["status"] = "TIMEOUT"; break;
    case ProcessResult::End::stopped: row["status"] = "STOPPED"; break;
    default:
      row["status"] = "ERROR";
      row["error"] = one_line(process.err.substr(0, process.err.find('\n')));
  }
  row["verified"] = "none";
}

bool encoded(const Work& work) {
  return work.solver == nullptr || takes_encoding(work.solver->format);
}

}  // namespace

Runner::Runner(const std::vector<Instance>& instances, const RowLimits& limits,
               const Scramble& scramble, std::uint64_t seed)
    : limits_(limits), machine_(machine_part()), scramble_(scramble), seed_(seed) {
  for (const Instance& i : instances)
    if (!problems_.contains(i.file)) {
      const std::string text = read_file(i.file);
      if (sha256(text) != i.sha256)
        throw InputError(i.file, "file", sha256(text), "must have the SHA-256 " + i.sha256);
      const Problem problem = parse_problem(text, i.file);
      Row facts = {{"ops", problem.ops.size()}, {"edges", problem.edges.size()}};
      const auto units = res_mii(problem);
      Cycle res = 1;
      for (const Bound& b : units) res = std::max(res, b.value);
      facts["mii_res"] = res;
      const auto rec = rec_mii(problem, true);
      facts["mii_rec"] = rec ? rec->value : 0;
      problems_.emplace(i.file, std::move(facts));
      loops_.emplace(i.file, problem);
    }
}

Row Runner::head(const Work& work) const {
  const Instance& i = *work.instance;
  Row row = {
      {"schema", 1}, {"instance", i.name}, {"instance_sha256", i.sha256}, {"family", i.family}};
  row.update(problems_.at(i.file));
  row["I"] = i.ii;
  row["L"] = i.length;
  Row encoder = Row::object();
  std::stringstream items(encoded(work) ? work.encoding : "");
  for (std::string item; std::getline(items, item, ',');)
    encoder[item.substr(0, item.find('='))] = item.substr(item.find('=') + 1);
  row["encoder"] = encoder;
  row["encoding"] = work.encoding;
  row["scramble"] = work.scramble;
  row["scramble_parts"] = to_string(scramble_);
  row["seed"] = seed_;
  row["solver"] = work.solver == nullptr ? "cadical" : work.solver->name;
  row["solver_version"] = work.solver == nullptr ? cadical_version() : work.solver->version;
  if (work.solver != nullptr) {
    row["solver_command"] = work.solver->text;
    row["solver_sha256"] = work.solver->sha256;
    row["format"] = to_string(work.solver->format);
  }
  row["expected"] = i.expected;
  row["limit_cpu_s"] = limits_.cpu;
  if (limits_.wall > 0) row["limit_wall_s"] = limits_.wall;
  row["limit_conflicts"] = limits_.conflicts;
  row["limit_mem"] = limits_.memory;
  return row;
}

Row Runner::run(const Work& work, const std::stop_token& stop) const {
  Row row = head(work);
  std::vector<std::string> line = {this_program(), "bench", "trial", work.instance->file};
  const auto add = [&](const char* name, const std::string& value) {
    line.insert(line.end(), {name, value});
  };
  add("--ii", std::to_string(work.instance->ii));
  add("--length", std::to_string(work.instance->length));
  if (encoded(work)) add("--encoding", work.encoding);
  add("--scramble", std::to_string(work.scramble));
  add("--scramble-parts", to_string(scramble_));
  add("--seed", std::to_string(seed_));
  add("--cpu-limit", decimal(limits_.cpu, 3));
  add("--conflict-limit", std::to_string(limits_.conflicts));
  add("--memory", std::to_string(limits_.memory));
  const double wall = limits_.wall > 0 ? limits_.wall : limits_.cpu > 0 ? 20 * limits_.cpu + 60 : 0;
  const std::string start = now_utc();
  if (work.solver != nullptr) {
    const Instance& i = *work.instance;
    const bool exact = !work.encoding.starts_with("form=straight-line-literal");
    row.update(ask_solver(*work.solver, line, loops_.at(i.file), i, exact, seed_,
                          {limits_.cpu, wall, limits_.memory}, stop));
  } else {
    line.emplace_back("--statistics");
    ProcessLimits limits;
    // The row keeps its limits itself; these end one that does not notice.
    limits.cpu_seconds = limits_.cpu > 0 ? limits_.cpu + 10 : 0;
    limits.wall_seconds = wall;
    limits.memory = limits_.memory + (std::int64_t{1} << 30);
    const ProcessResult process = run_process(line, limits, stop);
    read_output(process, row);
    row["cpu_s"] = process.cpu_seconds;
    row["wall_s"] = process.seconds;
    row["mem_kib"] = process.peak_bytes / 1024;
  }
  row["start_utc"] = start;
  row.update(machine_);
  Row arguments = Row::array();
  for (std::size_t a = 1; a < line.size(); ++a) arguments.push_back(line[a]);
  row["argv"] = arguments;
  return row;
}

}  // namespace twill::bench
