#include "bench/lab/solver_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <set>

#include "bench/lab/answer.hpp"
#include "engine/output/style.hpp"
#include "graph/error.hpp"
#include "graph/io/file.hpp"
#include "graph/io/json_text.hpp"
#include "graph/problem_io.hpp"

namespace twill::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFileBytes = std::int64_t{2} << 30;     // of a proof or a model
constexpr std::int64_t kOutputBytes = std::int64_t{64} << 20;  // beside 16 a variable
constexpr const char* kFiles[] = {"cnf", "opb", "ilp", "smt2", "problem"};
constexpr double kProofShare = 10;  // checking may take so many times the solver's limit

[[noreturn]] void refuse(const std::string& text, const std::string& rule) {
  throw InputError("command line", "--solver", quote(text), rule);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quoted = 0;
  for (const char c : text) {
    if (quoted != 0 ? c == quoted : c == '\'' || c == '"') {
      quoted = quoted != 0 ? char{0} : c;
      inside = true;
    } else if (quoted == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (inside) words.push_back(word);
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quoted != 0) refuse(text, "must close its quotes");
  if (inside) words.push_back(word);
  return words;
}

/// Placeholders of a word, without their braces.
std::vector<std::string> placeholders(const std::string& word) {
  std::vector<std::string> found;
  for (std::size_t at = word.find('{'); at != std::string::npos; at = word.find('{', at + 1)) {
    const std::size_t end = word.find('}', at);
    if (end == std::string::npos) break;
    found.push_back(word.substr(at + 1, end - at - 1));
  }
  return found;
}

std::string replaced(std::string word, const std::string& name, const std::string& value) {
  const std::string mark = "{" + name + "}";
  for (std::size_t at = word.find(mark); at != std::string::npos;
       at = word.find(mark, at + value.size()))
    word.replace(at, mark.size(), value);
  return word;
}

/// A folder of this process in the one for temporary files, gone with the object.
class QuestionFolder {
 public:
  QuestionFolder() {
    static std::atomic<int> next = 0;
    path_ = fs::temp_directory_path() /
            ("twill-solver-" + std::to_string(::getpid()) + "-" + std::to_string(next++));
    fs::create_directory(path_);
  }
  ~QuestionFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  QuestionFolder(const QuestionFolder&) = delete;
  QuestionFolder& operator=(const QuestionFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string head_line(const std::string& text) {
  return one_line(text.substr(0, text.find('\n')));
}

/// Why there is no answer to read, as a status; "" = there may be one.
void ended(const ProcessResult& process, const SolverLimits& limits, Row& row) {
  using End = ProcessResult::End;
  const auto error = [&](const std::string& text) {
    row["status"] = "ERROR";
    row["error"] = text;
  };
  const bool signalled = process.end == End::signalled;
  const bool memory = (limits.memory > 0 && process.peak_bytes > limits.memory) ||
                      (signalled && (process.err.find("bad_alloc") != std::string::npos ||
                                     process.err.find("emory") != std::string::npos));
  if (process.end == End::limit)
    row["status"] = "TIMEOUT";
  else if (process.end == End::stopped)
    row["status"] = "STOPPED";
  else if (process.end == End::output)
    error("printed more than the limit");
  else if (memory)
    row["status"] = "MEMOUT";
  else if (signalled)
    error("ended by signal " + std::to_string(process.code));
}

/// The answer and what the judge says of it.
void judge(const SolverCommand& solver, const ProcessResult& process, const QuestionFolder& folder,
           const std::string& formula, const Problem& problem, const Instance& instance, bool exact,
           Row& row) {
  const auto error = [&](const char* status, const std::string& text) {
    row["status"] = status;
    row["error"] = text;
  };
  const std::string model = folder / "model";
  std::string output = process.out;
  if (solver.model && fs::exists(model))
    output = read_file(model);
  else if (solver.format == QuestionFormat::cnf || solver.format == QuestionFormat::opb)
    output = answer_lines(output);
  Answer answer;
  try {
    answer = read_answer({read_file(formula), formula}, {output, solver.name}, problem);
  } catch (const InputError& wrong) {
    return error("ERROR", "no answer that can be read: " + wrong.place() + ": " + wrong.rule());
  }
  const bool says_sat = process.code == 10, says_unsat = process.code == 20;
  if (answer.verdict.empty())
    return error("ERROR", "no answer, exit code " + std::to_string(process.code) +
                              (process.err.empty() ? "" : ": " + head_line(process.err)));
  if ((says_sat && answer.verdict == "UNSAT") || (says_unsat && answer.verdict == "SAT"))
    return error("ERROR",
                 "says " + answer.verdict + " and ends with " + std::to_string(process.code));
  row["status"] = answer.verdict;
  if (!answer.schedule) return;
  const std::string refusal = refusal_of(problem, *answer.schedule, instance.length);
  row["verified"] = refusal.empty() ? "model" : "refused";
  row["schedule"] = {{"start", answer.schedule->start},
                     {"slot", answer.schedule->warp},
                     {"length", answer.schedule->length}};
  if (refusal.empty() || !exact) return;
  error("WRONG", answer.missing.empty()
                     ? "the model is refused: " + refusal
                     : "no value of " + std::to_string(answer.missing.size()) +
                           " that the schedule is read from, the first: " + answer.missing.front());
}

/// An UNSAT of which there is a proof.
void check_proof(const QuestionFolder& folder, const std::string& formula,
                 const std::string& problem, const SolverLimits& limits,
                 const std::stop_token& stop, Row& row) {
  ProcessLimits allowed;
  allowed.cpu_seconds = kProofShare * limits.cpu_seconds;
  write_file(folder / "unsat", "s UNSATISFIABLE\n");
  std::string why = "wrote none";
  if (fs::exists(folder / "proof")) {
    const ProcessResult check =
        run_process({this_program(), "bench", "import", folder / "unsat", "--formula", formula,
                     "--problem", problem, "--proof", folder / "proof"},
                    allowed, stop);
    row["proof_bytes"] = fs::file_size(folder / "proof");
    row["proof_check_cpu_s"] = check.cpu_seconds;
    if (check.end != ProcessResult::End::exited) return;  // a limit: neither accepted nor refused
    if (check.out.find("the proof is accepted") != std::string::npos) {
      row["verified"] = "drat";
      return;
    }
    why = head_line(check.out.empty() ? check.err : check.out);
  }
  row["status"] = "WRONG";
  row["verified"] = "refused";
  row["error"] = "the proof: " + why;
}

}  // namespace

SolverCommand solver_command(const std::string& option, const std::stop_token& stop) {
  SolverCommand solver;
  const std::size_t equals = option.find('=');
  if (equals == std::string::npos) refuse(option, "must be NAME=COMMAND");
  solver.name = option.substr(0, equals);
  solver.text = option.substr(equals + 1);
  if (solver.name.empty() || solver.name.size() > 60 ||
      solver.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    ".+-_") != std::string::npos)
    refuse(solver.name, "must be a name of letters, digits and . + - _, at most 60");
  if (solver.name == "cadical") refuse(solver.name, "is the linked solver: take another name");
  solver.words = split(solver.text);
  if (solver.words.empty()) refuse(option, "must have a command");
  std::set<std::string> formats, asked;
  for (const std::string& word : solver.words)
    for (const std::string& name : placeholders(word)) {
      solver.model = solver.model || name == "model";
      solver.proof = solver.proof || name == "proof";
      if (std::find(std::begin(kFiles), std::end(kFiles), name) != std::end(kFiles))
        formats.insert(name);
      else if (name == "ii" || name == "length")
        asked.insert(name);
      else if (name != "model" && name != "proof" && name != "seed" && name != "cpu")
        refuse("{" + name + "}",
               "must be {cnf}, {opb}, {ilp}, {smt2}, {problem} with {ii} and {length}, {model}, "
               "{proof}, {seed} or {cpu}");
    }
  if (formats.size() > 1)
    refuse(solver.text, "must have one of {cnf}, {opb}, {ilp}, {smt2} and {problem}");
  if (asked.size() != (formats.contains("problem") ? 2U : 0U))
    refuse(solver.text, "must have {ii} and {length} with {problem}, and only there");
  if (formats.empty()) solver.words.emplace_back("{cnf}");
  if (formats.contains("opb")) solver.format = QuestionFormat::opb;
  if (formats.contains("ilp")) solver.format = QuestionFormat::ilp;
  if (formats.contains("smt2")) solver.format = QuestionFormat::smtlib;
  if (formats.contains("problem")) solver.format = QuestionFormat::problem;
  if (solver.proof && solver.format != QuestionFormat::cnf)
    refuse(solver.text, "must read {cnf} to write a {proof}");
  std::string& program = solver.words.front();
  if (program.find('/') == std::string::npos) {
    const std::string found = find_program(program);
    if (found.empty()) refuse(program, "must be a program on the PATH");
    program = found;
  } else if (!fs::is_regular_file(program) || ::access(program.c_str(), X_OK) != 0) {
    refuse(program, "must be a program that can be run");
  }
  solver.sha256 = sha256(read_file(program));
  ProcessLimits limits;
  limits.wall_seconds = 10;
  const ProcessResult told = run_process({program, "--version"}, limits, stop);
  // The version of an interpreter is not that of its script.
  const bool script = solver.words.size() > 1 && fs::is_regular_file(solver.words[1]);
  const bool known = !script && told.end == ProcessResult::End::exited && told.code == 0;
  solver.version = known ? head_line(told.out) : "";
  if (solver.version.empty() || solver.version.size() > 100) solver.version = "unknown";
  return solver;
}

Row ask_solver(const SolverCommand& solver, const std::vector<std::string>& write,
               const Problem& problem, const Instance& instance, bool exact, std::uint64_t seed,
               const SolverLimits& limits, const std::stop_token& stop) {
  const QuestionFolder folder;
  const std::string formula = folder / ("question." + ending_of(solver.format));
  std::vector<std::string> line = write;
  line.insert(line.end(), {"--formula", formula, "--format", to_string(solver.format)});
  ProcessLimits allowed;
  allowed.cpu_seconds = limits.cpu_seconds > 0 ? limits.cpu_seconds + 10 : 0;
  allowed.wall_seconds = limits.wall_seconds;
  allowed.memory = limits.memory + (std::int64_t{1} << 30);
  const ProcessResult written = run_process(line, allowed, stop);
  Row row = Row::parse(written.out, nullptr, false);
  if (!row.is_object() || text_of(row, "status") != "WRITTEN") {
    if (!row.is_object() || text_of(row, "status").empty()) row = Row::object();
    if (text_of(row, "status").empty()) {
      ended(written, limits, row);
      if (text_of(row, "status").empty()) {
        row["status"] = "ERROR";
        row["error"] = "no formula: " + head_line(written.err);
      }
    }
    row["verified"] = "none";
    row["cpu_s"] = written.cpu_seconds;
    row["wall_s"] = written.seconds;
    return row;
  }
  const double encoding = number_of(row, "encode_cpu_s");
  line.clear();
  for (const std::string& word : solver.words) {
    std::string ready = word;
    for (const char* name : kFiles) ready = replaced(ready, name, formula);
    ready = replaced(ready, "ii", std::to_string(instance.ii));
    ready = replaced(ready, "length", std::to_string(instance.length));
    ready = replaced(ready, "model", folder / "model");
    ready = replaced(ready, "proof", folder / "proof");
    ready = replaced(ready, "seed", std::to_string(seed));
    ready = replaced(ready, "cpu", decimal(std::ceil(limits.cpu_seconds), 0));
    line.push_back(std::move(ready));
  }
  allowed.cpu_seconds = limits.cpu_seconds > 0 ? std::max(0.01, limits.cpu_seconds - encoding) : 0;
  allowed.group = true;
  allowed.output = kOutputBytes + 16 * static_cast<std::int64_t>(number_of(row, "vars"));
  allowed.file = kFileBytes;
  ProcessResult process;
  row["verified"] = "none";
  row["status"] = "";
  process = run_process(line, allowed, stop);
  ended(process, limits, row);
  if (text_of(row, "status").empty())
    judge(solver, process, folder, formula, problem, instance, exact, row);
  if (text_of(row, "status") == "UNSAT" && exact && instance.expected == "SAT") {
    row["status"] = "WRONG";
    row["error"] = "says UNSAT of a question that has a schedule";
  }
  row["solve_cpu_s"] = process.cpu_seconds;
  row["cpu_s"] = encoding + process.cpu_seconds;
  row["wall_s"] = process.seconds;
  row["mem_kib"] = process.peak_bytes / 1024;
  if (text_of(row, "status") == "UNSAT" && solver.proof)
    check_proof(folder, formula, instance.file, limits, stop, row);
  return row;
}

}  // namespace twill::bench
