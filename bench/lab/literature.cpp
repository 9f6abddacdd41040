#include "bench/lab/literature.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>
#include <vector>

#include "graph/check.hpp"
#include "graph/error.hpp"
#include "graph/index.hpp"
#include "graph/io/json_text.hpp"
#include "graph/loop.hpp"

namespace twill::bench {
namespace {

constexpr std::size_t kMostWords = 20'000'000;  // 10,000 activities that need 1,000 units

/// The words of a text with the lines they stand on.
class Words {
 public:
  Words(std::string_view text, std::string source) : source_(std::move(source)) {
    for (std::size_t line = 1; !text.empty(); ++line) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view rest = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      last_line_ = line;
      if (rest.starts_with('#') || rest.starts_with('+')) continue;
      while (true) {
        const std::size_t begin = rest.find_first_not_of(" \t\r");
        if (begin == std::string_view::npos) break;
        rest.remove_prefix(begin);
        const std::size_t size = std::min(rest.find_first_of(" \t\r"), rest.size());
        if (words_.size() == kMostWords)
          throw InputError(source_, "line " + std::to_string(line), "more",
                           "must have at most " + std::to_string(kMostWords) + " words");
        words_.push_back({rest.substr(0, size), line});
        rest.remove_prefix(size);
      }
    }
  }

  bool done() const { return next_ == words_.size(); }
  std::string_view word(const char* what) {
    if (done())
      throw InputError(source_, "line " + std::to_string(last_line_), "the end of the file",
                       std::string("must go on with ") + what);
    return words_[next_++].text;
  }
  std::int64_t number(const char* what, std::int64_t low, std::int64_t high) {
    return number_in(word(what), what, low, high);
  }
  /// A number in brackets, as [-3].
  std::int64_t bracketed(const char* what, std::int64_t low, std::int64_t high) {
    const std::string_view text = word(what);
    if (text.size() < 3 || text.front() != '[' || text.back() != ']')
      refuse(std::string(what) + " must stand in brackets");
    return number_in(text.substr(1, text.size() - 2), what, low, high);
  }
  /// Refuses whatever is left.
  void end(const std::string& last) {
    if (done()) return;
    word("nothing");
    refuse("must end after " + last);
  }
  /// Refuses the word that was read last.
  [[noreturn]] void refuse(const std::string& rule) const {
    const auto& [text, line] = words_[next_ - 1];
    throw InputError(source_, "line " + std::to_string(line), quote(text), rule);
  }
  /// Goes on behind the first line from here on that begins with these words; of a heading, the
  /// rest of its line is skipped.
  void after(std::initializer_list<std::string_view> heading) {
    for (std::size_t w = next_; w + heading.size() <= words_.size(); ++w) {
      const bool begins = w == 0 || words_[w - 1].line < words_[w].line;
      if (!begins || !std::equal(heading.begin(), heading.end(), words_.begin() + offset(w),
                                 [](std::string_view a, const Word& b) { return a == b.text; }))
        continue;
      next_ = w + heading.size();
      return;
    }
    std::string text;
    for (const std::string_view part : heading)
      text += (text.empty() ? "" : " ") + std::string(part);
    throw InputError(source_, "line " + std::to_string(last_line_), "the end of the file",
                     "must have a line \"" + text + "\"");
  }
  void skip_line() {
    const std::size_t line = next_ == 0 ? words_.front().line : words_[next_ - 1].line;
    while (!done() && words_[next_].line == line) ++next_;
  }
  /// Skips whole lines that do not begin with a digit.
  void to_numbers() {
    while (!done() && (words_[next_].text.front() < '0' || words_[next_].text.front() > '9')) {
      ++next_;
      skip_line();
    }
  }

 private:
  struct Word {
    std::string_view text;
    std::size_t line;
  };
  std::int64_t number_in(std::string_view text, const char* what, std::int64_t low,
                         std::int64_t high) const {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size() || n < low || n > high)
      refuse(std::string(what) + " " + range_rule(low, high));
    return n;
  }
  static std::ptrdiff_t offset(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }
  std::string source_;
  std::vector<Word> words_;
  std::size_t next_ = 0, last_line_ = 1;
};

constexpr std::int64_t kMostUnits = kMaxUnits;

Problem empty_project(const std::string& source) {
  Problem p;
  p.name = std::filesystem::path(source).stem().string();
  p.warps = {{"all", 1, 0, false}};
  return p;
}

void add_activity(Problem& p, std::string id, Cycle duration, const std::vector<Amount>& demands) {
  Op op;
  op.id = std::move(id);
  op.cycles = duration;
  // Activities of no duration (the first and the last) take nothing.
  for (std::size_t r = 0; r < demands.size() && duration > 0; ++r)
    if (demands[r] > 0) op.reservations.push_back({static_cast<int>(r), 0, duration, demands[r]});
  p.ops.push_back(std::move(op));
}

void add_precedence(Problem& p, std::size_t from, std::size_t to) {
  p.edges.push_back(
      {static_cast<int>(from), static_cast<int>(to), p.ops[from].cycles, 0, false, 0});
}

Problem parse_psplib(Words words, const std::string& source) {
  Problem p = empty_project(source);
  words.after({"jobs", "(incl.", "supersource/sink", "):"});
  const auto jobs = static_cast<std::size_t>(words.number("the number of jobs", 1, kMaxOps));
  words.after({"-", "renewable", ":"});
  const auto units =
      static_cast<std::size_t>(words.number("the number of renewable resources", 0, kMostUnits));
  words.after({"-", "nonrenewable", ":"});
  words.number("the number of nonrenewable resources: only renewable ones are read, it", 0, 0);
  words.after({"-", "doubly", "constrained", ":"});
  words.number("the number of doubly constrained resources: only renewable ones are read, it", 0,
               0);

  const auto numbered = [&](std::size_t job) {
    words.number("the job's number", static_cast<std::int64_t>(job + 1),
                 static_cast<std::int64_t>(job + 1));
  };
  words.after({"PRECEDENCE", "RELATIONS:"});
  words.to_numbers();
  std::vector<std::vector<std::size_t>> successors(jobs);
  for (std::size_t job = 0; job < jobs; ++job) {
    numbered(job);
    words.number("the number of modes: only one mode a job is read, it", 1, 1);
    const std::int64_t count =
        words.number("the number of successors", 0, static_cast<std::int64_t>(jobs));
    for (std::int64_t s = 0; s < count; ++s)
      successors[job].push_back(static_cast<std::size_t>(
          words.number("a successor", 1, static_cast<std::int64_t>(jobs)) - 1));
  }
  words.after({"REQUESTS/DURATIONS:"});
  words.to_numbers();
  std::vector<Cycle> durations(jobs);
  std::vector<std::vector<Amount>> demands(jobs);
  for (std::size_t job = 0; job < jobs; ++job) {
    numbered(job);
    words.number("the mode", 1, 1);
    durations[job] = words.number("the duration", 0, kMaxCycles);
    for (std::size_t r = 0; r < units; ++r)
      demands[job].push_back(words.number("the demand", 0, kMaxAmount));
  }
  words.after({"RESOURCEAVAILABILITIES:"});
  words.to_numbers();
  for (std::size_t r = 0; r < units; ++r)
    p.units.push_back(
        {"R" + std::to_string(r + 1), words.number("the availability", 1, kMaxAmount)});
  for (std::size_t job = 0; job < jobs; ++job)
    add_activity(p, std::to_string(job + 1), durations[job], demands[job]);
  for (std::size_t job = 0; job < jobs; ++job)
    for (const std::size_t s : successors[job]) add_precedence(p, job, s);
  return p;
}

Problem parse_patterson(Words words, const std::string& source) {
  Problem p = empty_project(source);
  const auto jobs = static_cast<std::size_t>(words.number("the number of activities", 1, kMaxOps));
  const auto units =
      static_cast<std::size_t>(words.number("the number of resources", 0, kMostUnits));
  for (std::size_t r = 0; r < units; ++r)
    p.units.push_back(
        {"R" + std::to_string(r + 1), words.number("the availability", 1, kMaxAmount)});
  std::vector<std::pair<std::size_t, std::size_t>> precedences;
  for (std::size_t job = 0; job < jobs; ++job) {
    const Cycle duration = words.number("the duration", 0, kMaxCycles);
    std::vector<Amount> demands;
    for (std::size_t r = 0; r < units; ++r)
      demands.push_back(words.number("the demand", 0, kMaxAmount));
    add_activity(p, std::to_string(job + 1), duration, demands);
    const std::int64_t count =
        words.number("the number of successors", 0, static_cast<std::int64_t>(jobs));
    for (std::int64_t s = 0; s < count; ++s)
      precedences.emplace_back(job,
                               words.number("a successor", 1, static_cast<std::int64_t>(jobs)) - 1);
  }
  for (const auto& [from, to] : precedences) add_precedence(p, from, to);
  words.end("the last activity");
  return p;
}

/// Lags that need no word of the makespan become edges: those of 0 or more that close no circle.
void split_lags(Project& project) {
  Problem graph = project.problem;  // distance 1: here a circle is no fault
  for (const Lag& lag : project.lags)
    if (lag.cycles >= 0) graph.edges.push_back({lag.from, lag.to, lag.cycles, 1, false, 0});
  const Components components = strongly_connected_components(graph);
  std::vector<Lag> kept;
  for (const Lag& lag : project.lags)
    if (lag.cycles >= 0 && components.of[at(lag.from)] != components.of[at(lag.to)])
      project.problem.edges.push_back({lag.from, lag.to, lag.cycles, 0, false, 0});
    else
      kept.push_back(lag);
  project.lags = std::move(kept);
}

Problem parse_job_shop(Words words, const std::string& source) {
  Problem p = empty_project(source);
  const std::int64_t jobs = words.number("the number of jobs", 1, kMaxOps);
  const std::int64_t machines = words.number("the number of machines", 1, kMostUnits);
  if (jobs * machines > kMaxOps)
    words.refuse("must have at most " + std::to_string(kMaxOps) + " operations");
  for (std::int64_t m = 0; m < machines; ++m) p.units.push_back({"M" + std::to_string(m), 1});
  for (std::int64_t j = 0; j < jobs; ++j)
    for (std::int64_t k = 0; k < machines; ++k) {
      const auto machine = static_cast<std::size_t>(words.number("the machine", 0, machines - 1));
      std::vector<Amount> demands(static_cast<std::size_t>(machines), 0);
      demands[machine] = 1;
      add_activity(p, "j" + std::to_string(j) + "." + std::to_string(k),
                   words.number("the duration", 0, kMaxCycles), demands);
      if (k > 0) add_precedence(p, p.ops.size() - 2, p.ops.size() - 1);
    }
  words.end("the last job");
  return p;
}

/// ProGen/max (Schwindt): activities 0 to n + 1, of which the first and the last are dummies; each
/// has successors with the least time from its start to theirs in brackets. A negative one is the
/// most from the successor's start to its own.
Project parse_progen_max(Words words, const std::string& source) {
  Project project{empty_project(source), {}};
  Problem& p = project.problem;
  const std::int64_t jobs = words.number("the number of activities", 0, kMaxOps - 2) + 2;
  const auto units =
      static_cast<std::size_t>(words.number("the number of resources", 0, kMostUnits));
  words.number("the number of nonrenewable resources: only renewable ones are read, it", 0, 0);
  words.number("the number of doubly constrained resources: only renewable ones are read, it", 0,
               0);
  const auto numbered = [&](std::int64_t job) { words.number("the activity's number", job, job); };
  for (std::int64_t job = 0; job < jobs; ++job) {
    numbered(job);
    words.number("the number of modes: only one mode an activity is read, it", 1, 1);
    const std::int64_t count = words.number("the number of successors", 0, jobs);
    const std::size_t first = project.lags.size();
    for (std::int64_t s = 0; s < count; ++s)
      project.lags.push_back(
          {static_cast<int>(job), static_cast<int>(words.number("a successor", 0, jobs - 1)), 0});
    for (std::size_t lag = first; lag < project.lags.size(); ++lag)
      project.lags[lag].cycles = words.bracketed("the time lag", -kMaxCycles, kMaxCycles);
  }
  std::vector<Cycle> durations;
  std::vector<std::vector<Amount>> demands(static_cast<std::size_t>(jobs));
  for (std::int64_t job = 0; job < jobs; ++job) {
    numbered(job);
    words.number("the mode", 1, 1);
    durations.push_back(words.number("the duration", 0, kMaxCycles));
    for (std::size_t r = 0; r < units; ++r)
      demands[static_cast<std::size_t>(job)].push_back(words.number("the demand", 0, kMaxAmount));
  }
  for (std::size_t r = 0; r < units; ++r)
    p.units.push_back(
        {"R" + std::to_string(r + 1), words.number("the availability", 1, kMaxAmount)});
  for (std::int64_t job = 0; job < jobs; ++job)
    add_activity(p, std::to_string(job), durations[static_cast<std::size_t>(job)],
                 demands[static_cast<std::size_t>(job)]);
  words.end("the availabilities");
  // Some of these projects have no schedule because an activity needs more than there is. No file
  // of a problem says that, so it says as much as there is, and the activity is to start after
  // itself.
  for (std::size_t job = 0; job < p.ops.size(); ++job)
    for (Reservation& r : p.ops[job].reservations) {
      const Amount capacity = p.units[at(r.unit)].capacity;
      if (r.amount <= capacity) continue;
      r.amount = capacity;
      project.lags.push_back({static_cast<int>(job), static_cast<int>(job), 1});
    }
  return project;
}

}  // namespace

bool is_literature_ending(std::string_view ending) {
  return ending == ".sm" || ending == ".rcp" || ending == ".sch" || ending == ".SCH" ||
         ending == ".jss";
}

Project parse_literature(std::string_view text, const std::string& source) {
  const std::string ending = std::filesystem::path(source).extension().string();
  Words words(text, source);
  Project project;
  if (ending == ".sch" || ending == ".SCH") {
    project = parse_progen_max(std::move(words), source);
    split_lags(project);
  } else {
    project.problem = ending == ".sm"    ? parse_psplib(std::move(words), source)
                      : ending == ".rcp" ? parse_patterson(std::move(words), source)
                                         : parse_job_shop(std::move(words), source);
  }
  check(project.problem, source);
  Cycle sum = 0;
  for (const Lag& lag : project.lags) sum += std::abs(lag.cycles);
  for (const Op& op : project.problem.ops) sum += op.cycles;
  if (!project.lags.empty() && sum > kMaxCycles / 2)
    throw InputError(source, "durations and time lags", std::to_string(sum),
                     "must be at most " + std::to_string(kMaxCycles / 2) + " together");
  return project;
}

Problem at_makespan(const Project& project, Cycle makespan) {
  Problem problem = project.problem;
  for (const Lag& lag : project.lags)
    if (makespan + lag.cycles >= 0)
      problem.edges.push_back({lag.from, lag.to, makespan + lag.cycles, 1, false, 0});
  return problem;
}

}  // namespace twill::bench
