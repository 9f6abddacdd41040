// twill bench peers: the same questions for Twill and for other solvers, in one run.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <system_error>

#include "bench/bench.hpp"
#include "bench/measured.hpp"
#include "bench/peer.hpp"
#include "bench/table.hpp"
#include "engine/cli/interrupt.hpp"
#include "engine/cli/workload.hpp"
#include "engine/output/style.hpp"
#include "graph/io/file.hpp"

namespace twill::bench {
namespace {

// Wall clock for a limit in CPU seconds, for a machine that other jobs share.
constexpr double kWallPerCpu = 4;

struct PeersFlags {
  SearchFlags search;
  std::vector<std::string> kernels, machines, normalize, questions;
  std::string layout;
  std::string form = "corrected";
  double limit = 120;
  std::string text_limit = "2G", peer_memory = "8G";
  bool cnf = false;
  bool json = false;
  bool quiet = false;
};

/// A directory for the questions, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "twill-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), name);
    }
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// A problem with Twill's optimum and what finding it took.
struct SolvedProblem {
  std::string kernel, machine, normalize;
  Lowered lowered;
  Measured optimum;
};

/// A question about an instance.
struct Question {
  std::string name;  ///< optimum, ii-1, length-1 or modulo
  Cycle ii = 0, length = 0;
  /// The smallest L at I under dependences and units alone, the linear program's question: the
  /// others are whether there is a schedule at I no longer than L.
  bool modulo() const { return name == "modulo"; }
};

class Comparison {
 public:
  Comparison(const PeersFlags& flags, std::stop_token stop)
      : flags_(flags),
        stop_(std::move(stop)),
        options_(flags.search.options()),
        peers_(find_peers(stop_)),
        table_(std::cout, columns()) {
    text_limit_ = cli::parse_bytes(flags.text_limit);
    limits_.cpu_seconds = flags.limit;
    limits_.wall_seconds = kWallPerCpu * flags.limit;
    limits_.memory = cli::parse_bytes(flags.peer_memory);
  }

  int run();

 private:
  std::vector<Column> columns() const;
  void say(const std::string& text) const {
    if (!flags_.quiet) std::cerr << text << "\n" << std::flush;
  }
  std::optional<SolvedProblem> solved(const std::string& kernel, const std::string& machine,
                                      const std::string& normalize);
  std::vector<Question> questions(const SolvedProblem& instance) const;
  void compare(const SolvedProblem& instance, const Question& question, bool literal);
  Measured ask(const Question& question, const std::string& form);
  /// The question in text_, or why not.
  std::string write_text(const Question& question, bool literal);
  void print(const SolvedProblem& instance, const Question& question, const Measured& row);

  const PeersFlags& flags_;
  std::stop_token stop_;
  Options options_;
  std::vector<Peer> peers_;
  Table table_;
  ProcessLimits limits_;
  std::int64_t text_limit_ = 0;
  ScratchFolder scratch_;
  const std::string problem_ = scratch_ / "question.problem.json";
  const std::string text_ = scratch_ / "question.smt2", program_ = scratch_ / "question.lp";
  bool disagreed_ = false, open_ = false, refused_ = false;
};

std::vector<Column> Comparison::columns() const {
  std::vector<Column> result = {{"graph", 18, false},
                                {"layout", 6, false},
                                {"U", 4},
                                {"solve, CPU s", 12},
                                {"question", 9, false},
                                {"I", 4},
                                {"L", 4},
                                {"form", 9, false},
                                {"text MiB", 8},
                                {"answer", 6, false},
                                {"Twill CPU s", 11}};
  if (flags_.cnf) result.push_back({"paper's form, CNF", 17});
  for (const Peer& peer : peers_) result.push_back({peer.name + " CPU s", 16});
  result.push_back({"ratio", 7});
  return result;
}

std::optional<SolvedProblem> Comparison::solved(const std::string& kernel,
                                                const std::string& machine,
                                                const std::string& normalize) {
  cli::WorkloadFlags work;
  work.input = kernel;
  work.machine = machine;
  work.layout = flags_.layout;
  work.normalize = normalize;
  if (!cli::is_file(kernel)) work.reading = "paper";  // the published questions
  std::optional<SolvedProblem> best;
  for (Lowered& lowered : cli::load(work).problems) {
    write_file(problem_, problem_text(lowered.problem));
    Measured row = measure({"bench", "row", problem_}, options_, stop_);
    if (row.contains("failure")) {
      say(kernel + ", layout " + lowered.layout + ": " + row["failure"].get<std::string>());
      continue;
    }
    if (!row.contains("initiation_interval")) continue;
    const auto key = [](const Measured& r) {
      return std::pair(r["initiation_interval"].get<Cycle>(), r["length"].get<Cycle>());
    };
    if (!best || key(row) < key(best->optimum)) {
      best = SolvedProblem{kernel, machine, normalize, std::move(lowered), std::move(row)};
    }
  }
  return best;
}

std::vector<Question> Comparison::questions(const SolvedProblem& instance) const {
  const auto ii = instance.optimum["initiation_interval"].get<Cycle>();
  const Cycle length = std::max<Cycle>(1, instance.optimum["length"].get<Cycle>());
  std::vector<Question> result;
  for (const std::string& name : flags_.questions) {
    if (name == "optimum") result.push_back({name, ii, length});
    if (name == "ii-1" && ii > 1) result.push_back({name, ii - 1, length});
    if (name == "length-1" && length > 1) result.push_back({name, ii, length - 1});
    if (name == "modulo") result.push_back({name, ii, length});
  }
  return result;
}

Measured Comparison::ask(const Question& question, const std::string& form) {
  Options options = options_;
  if (!form.empty()) {
    options.encoding += (options.encoding.empty() ? "form=" : ",form=") + form;
    options.time_limit = flags_.limit;
  }
  if (question.modulo()) options.time_limit = flags_.limit;
  std::vector<std::string> line = {"bench", "ask", problem_, "--ii", std::to_string(question.ii)};
  if (question.modulo())
    line.emplace_back("--modulo");
  else
    line.insert(line.end(), {"--length", std::to_string(question.length)});
  return measure(line, options, stop_);
}

std::string Comparison::write_text(const Question& question, bool literal) {
  const std::string& file = question.modulo() ? program_ : text_;
  std::vector<std::string> line = {this_program(), "bench", "ask",
                                   problem_,       "--ii",  std::to_string(question.ii)};
  if (question.modulo())
    line.insert(line.end(), {"--lp", file});
  else
    line.insert(line.end(), {"--length", std::to_string(question.length), "--smtlib", file});
  if (literal) line.emplace_back("--literal");
  // The text is put together in memory by a string that doubles, in a process of its own: what is
  // too large ends that process and not this one.
  ProcessLimits limits;
  limits.memory = 3 * text_limit_ + (std::int64_t{1} << 29);
  std::error_code missing;
  std::filesystem::remove(file, missing);
  const ProcessResult process = run_process(line, limits, stop_);
  const auto size = std::filesystem::file_size(file, missing);
  const std::string limit = "more than " + flags_.text_limit + " of text";
  if (process.end == ProcessResult::End::exited && process.code == cli::kDone && !missing) {
    return size > static_cast<std::uintmax_t>(text_limit_) ? limit : "";
  }
  return process.err.find("out of memory") != std::string::npos ? limit : "not written";
}

void Comparison::print(const SolvedProblem& instance, const Question& question,
                       const Measured& row) {
  const auto time = [](const Measured& answer) {
    const std::string text = short_seconds(answer["cpu_seconds"].get<double>());
    const std::string verdict = answer.contains("failure") ? answer["failure"].get<std::string>()
                                                           : answer["verdict"].get<std::string>();
    if (answer.value("verified", "") == "refused") return "refused, " + text;
    const bool decided = verdict == "sat" || verdict == "unsat" || verdict.starts_with("optimal ");
    return decided ? text : verdict == "limit" ? "> " + text : verdict + ", " + text;
  };
  std::vector<std::string> cells = {instance.lowered.problem.name,
                                    instance.lowered.layout.empty() ? "-" : instance.lowered.layout,
                                    instance.normalize,
                                    short_seconds(instance.optimum["cpu_seconds"].get<double>()),
                                    question.name,
                                    std::to_string(question.ii),
                                    question.modulo() ? "-" : std::to_string(question.length),
                                    row["form"].get<std::string>(),
                                    row.contains("text_bytes")
                                        ? mebibytes(row["text_bytes"].get<std::int64_t>())
                                        : row["skipped"].get<std::string>(),
                                    row["answer"].get<std::string>(),
                                    time(row["twill"])};
  if (flags_.cnf)
    cells.push_back(row.contains("twill_cnf") ? time(row["twill_cnf"]) : std::string("-"));
  for (const Peer& peer : peers_) {
    const bool able = question.modulo() == (peer.reads == Peer::Reads::linear_program);
    std::string cell = peer.command.empty() ? "not found" : able ? "skipped" : "-";
    for (const auto& answer : row["peers"]) {
      if (answer["solver"] == peer.name) cell = time(answer);
    }
    cells.push_back(cell);
  }
  cells.push_back(row["ratio"].get<std::string>());
  table_.row(cells);
}

/// CPU seconds of the best peer over Twill's; a lower bound when no peer finished.
std::string ratio_text(const std::vector<PeerAnswer>& answers, double twill) {
  double best = -1, longest = -1;
  for (const PeerAnswer& answer : answers) {
    if (answer.decided() && (best < 0 || answer.cpu_seconds < best)) best = answer.cpu_seconds;
    if (answer.verdict == "limit") {
      longest = longest < 0 ? answer.cpu_seconds : std::min(longest, answer.cpu_seconds);
    }
  }
  if (twill <= 0 || (best < 0 && longest < 0)) return "-";
  const double ratio = (best >= 0 ? best : longest) / twill;
  return (best >= 0 ? "" : "> ") + decimal(ratio, ratio < 10 ? 1 : 0);
}

void Comparison::compare(const SolvedProblem& instance, const Question& question, bool literal) {
  say(instance.kernel + ", U = " + instance.normalize + ": I = " + std::to_string(question.ii) +
      ", L = " + std::to_string(question.length) + " (" + question.name + ")");
  Measured row;
  row["bench"] = "peers";
  row["kernel"] = instance.kernel;
  row["machine"] = instance.machine;
  row["normalize"] = instance.normalize;
  row["layout"] = instance.lowered.layout;
  row["optimum"] = instance.optimum;
  row["question"] = question.name;
  row["initiation_interval"] = question.ii;
  if (!question.modulo()) row["length"] = question.length;
  row["form"] = question.modulo() ? "modulo" : literal ? "literal" : "corrected";
  row["limit_cpu_s"] = limits_.cpu_seconds;
  row["limit_mem"] = limits_.memory;
  row["threads"] = options_.threads;
  row["seed"] = options_.seed;
  const Measured twill = row["twill"] = ask(question, "");
  std::vector<std::string> verdicts;  // of what answers the same question
  const auto note = [&](const Measured& answer) {
    std::string verdict = answer.value("verdict", "unknown");
    if (verdict == "sat" || verdict == "unsat" || verdict.starts_with("optimal "))
      verdicts.push_back(verdict);
    return verdict;
  };
  const std::string truth = literal ? twill.value("verdict", "unknown") : note(twill);
  if (flags_.cnf && !question.modulo()) {
    row["twill_cnf"] = ask(question, literal ? "straight-line-literal" : "straight-line");
    note(row["twill_cnf"]);
  }
  std::vector<PeerAnswer> answers;
  row["peers"] = Measured::array();
  const Peer::Reads text = question.modulo() ? Peer::Reads::linear_program : Peer::Reads::smtlib;
  const bool any = std::any_of(peers_.begin(), peers_.end(), [&](const Peer& p) {
    return p.reads == text && !p.command.empty();
  });
  const std::string skipped = any ? write_text(question, literal) : "no peer";
  const std::string& file = question.modulo() ? program_ : text_;
  if (skipped.empty())
    row["text_bytes"] = std::filesystem::file_size(file);
  else
    row["skipped"] = skipped;
  for (const Peer& peer : peers_) {
    // The modulo form has no literal reading.
    const bool reads_text = peer.reads == text;
    const bool unasked = reads_text
                             ? !skipped.empty()
                             : peer.reads != Peer::Reads::problem || literal || question.modulo();
    if (unasked || peer.command.empty() || stop_.stop_requested()) continue;
    std::vector<std::string> arguments = {file};
    if (!reads_text)
      arguments = {problem_, std::to_string(question.ii), std::to_string(question.length)};
    PeerAnswer answer = ask_peer(peer, arguments, limits_, stop_);
    Measured told = to_json(peer, answer);
    // What prints its schedule is believed when the judge accepts it.
    if (peer.reads == Peer::Reads::problem && answer.verdict == "sat") {
      const std::string why =
          refusal_of(answer, instance.lowered.problem, question.ii, question.length);
      told["verified"] = why.empty() ? "model" : "refused";
      if (!why.empty()) {
        told["refusal"] = why;
        answer.verdict = "failed: its schedule is refused";
        std::cerr << "twill: " << peer.name << " on " << instance.kernel << ", " << question.name
                  << ": " << why << "\n";
        refused_ = true;
      }
    }
    if (answer.decided()) note(told);
    answers.push_back(std::move(answer));
    row["peers"].push_back(std::move(told));
  }
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  const bool disagree = std::any_of(verdicts.begin(), verdicts.end(),
                                    [&](const std::string& v) { return v != verdicts.front(); });
  const std::string answer = verdicts.empty() ? "unknown" : verdicts.front();
  row["agree"] = !disagree;
  // The printed program may be wrong about the loop: then it is said, and is no disagreement.
  const bool wrong = literal && !verdicts.empty() && truth != "unknown" && truth != answer;
  row["answer"] = disagree ? "DISAGREE" : wrong ? answer + " (truth: " + truth + ")" : answer;
  row["ratio"] = ratio_text(answers, twill["cpu_seconds"].get<double>());
  disagreed_ = disagreed_ || disagree;
  open_ = open_ || truth == "unknown";
  if (flags_.json) {
    std::cout << row.dump() << std::endl;
  } else {
    print(instance, question, row);
  }
}

int Comparison::run() {
  for (const Peer& peer : peers_) {
    say(peer.name + ": " +
        (peer.command.empty() ? "not found, skipped"
                              : peer.version + " (" + peer.command.front() + ")"));
  }
  if (!flags_.json) table_.head();
  for (const std::string& kernel : flags_.kernels) {
    std::vector<std::string> machines = flags_.machines;
    if (machines.empty()) machines = {usual_machine(kernel)};
    for (const std::string& machine : machines) {
      for (const std::string& normalize : flags_.normalize) {
        if (stop_.stop_requested()) return cli::kStopped;
        const std::optional<SolvedProblem> instance = solved(kernel, machine, normalize);
        if (!instance) {
          say(kernel + ", U = " + normalize + ": no schedule, so no question");
          open_ = true;
          continue;
        }
        write_file(problem_, problem_text(instance->lowered.problem));
        for (const Question& question : questions(*instance)) {
          for (const bool literal : {false, true}) {
            if (stop_.stop_requested()) return cli::kStopped;
            // The linear program has one form.
            const bool wanted = question.modulo()       ? !literal
                                : flags_.form == "both" ? true
                                                        : (flags_.form == "literal") == literal;
            if (!wanted) continue;
            compare(*instance, question, literal);
          }
        }
      }
    }
  }
  if (refused_) return cli::kInternal;
  if (disagreed_) {
    std::cerr << "twill: internal error: two solvers disagree on the same question\n";
    return cli::kInternal;
  }
  return open_ ? cli::kStopped : cli::kDone;
}

}  // namespace

cli::Command peers_command(CLI::App& bench) {
  auto flags = std::make_shared<PeersFlags>();
  flags->kernels = {"hopper-fwd-plain", "blackwell-fwd-plain"};
  flags->normalize = {"20"};
  flags->questions = {"optimum", "ii-1", "modulo"};
  flags->search.search.time_limit = 600;
  CLI::App* app =
      bench.add_subcommand("peers", "The same questions for Twill, Yices, Z3, CP-SAT and CBC");
  app->add_option("--kernel", flags->kernels,
                  "Built-in kernel, kernel file or problem file; may be repeated")
      ->allow_extra_args(false)
      ->capture_default_str();
  app->add_option("--machine", flags->machines,
                  "Built-in machine or file; may be repeated (default: the one the kernel is "
                  "written for)")
      ->allow_extra_args(false);
  app->add_option("--layout", flags->layout, "Slot layout (default: the best one)");
  app->add_option("--normalize", flags->normalize,
                  "Sum U of the normalised costs, or none; may be repeated")
      ->allow_extra_args(false)
      ->capture_default_str();
  app->add_option(
         "--question", flags->questions,
         "optimum = Twill's own (I, L); ii-1 = (I - 1, L); length-1 = (I, L - 1); modulo = "
         "the smallest L at I under dependences and units alone; may be repeated")
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"optimum", "ii-1", "length-1", "modulo"}))
      ->capture_default_str();
  app->add_option("--form", flags->form,
                  "The paper's program: corrected, literal (as printed) or both")
      ->check(CLI::IsMember({"corrected", "literal", "both"}))
      ->capture_default_str();
  app->add_flag("--cnf", flags->cnf, "Also the paper's program as Twill's CNF");
  app->add_option("--cpu-limit,--limit", flags->limit, "CPU seconds of each peer for each question")
      ->check(CLI::Range(1.0, 1e7))
      ->capture_default_str();
  app->add_option("--peer-memory", flags->peer_memory, "Memory of a peer")->capture_default_str();
  app->add_option("--text-limit", flags->text_limit, "Longest question that is written")
      ->capture_default_str();
  flags->search.add_to(*app);
  app->add_flag("--quiet", flags->quiet, "Nothing on standard error but errors");
  app->add_flag("--json", flags->json, "A JSON object a question, a line each");
  app->footer(
      "Twill first solves the problem (\"solve\" is the CPU time of that on the best layout,\n"
      "proof of the optimum included). Then each question - is there a schedule at this I no\n"
      "longer than this L? - is put to Twill, by its bounds and the modulo form (`twill bench\n"
      "ask`); as SMT-LIB 2 in the form of the paper to yices-smt2 and z3, where they are on the\n"
      "PATH; and in the modulo form to OR-Tools' CP-SAT with one worker, where Python has it\n"
      "(bench/cp_sat.py), whose schedules the judge must accept. The question `modulo` is the\n"
      "paper's modulo-scheduling program, without warps and liveness: for cbc, where it is on the\n"
      "PATH, as a linear program, for Twill by its branch and bound (`twill bench ask --modulo`).\n"
      "Times are CPU seconds of whole processes, reading the question included; \"> s\" is a "
      "limit\n"
      "reached. \"ratio\" is the time of the best peer over Twill's, \"> r\" where none finished.\n"
      "Exit codes: 0 all agree, 3 Twill was stopped at a limit, 4 two solvers disagree, or the\n"
      "judge refuses a peer's schedule.");
  return {app, [flags] {
            cli::Interrupt interrupt;
            return Comparison(*flags, interrupt.token()).run();
          }};
}

}  // namespace twill::bench
