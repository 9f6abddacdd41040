#include "bench/lab/literature.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <utility>
#include <vector>

#include "engine/decide.hpp"
#include "graph/check.hpp"
#include "graph/error.hpp"
#include "graph/index.hpp"
#include "graph/io/json_text.hpp"
#include "graph/loop.hpp"
#include "graph/wide.hpp"

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
    const std::string_view text = word(what);
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size() || n < low || n > high)
      refuse(std::string(what) + " " + range_rule(low, high));
    return n;
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
  static std::ptrdiff_t offset(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }
  std::string source_;
  std::vector<Word> words_;
  std::size_t next_ = 0, last_line_ = 1;
};

constexpr std::int64_t kMostUnits = kMaxUnits;
constexpr std::size_t kMostPlaced = 300, kMostUses = 2'000;  // that serial_length() places

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
  if (!words.done()) {
    words.word("nothing");
    words.refuse("must end after the last activity");
  }
  return p;
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
  if (!words.done()) {
    words.word("nothing");
    words.refuse("must end after the last job");
  }
  return p;
}

/// Longest path from each op's issue to the end. Distances are 0, so the edges have no cycle.
std::vector<Cycle> tails_of(const Problem& p) {
  std::vector<Cycle> tail(p.ops.size());
  for (std::size_t v = 0; v < p.ops.size(); ++v) tail[v] = p.ops[v].cycles;
  std::vector<std::vector<const Edge*>> into(p.ops.size());
  for (const Edge& e : p.edges) into[at(e.to)].push_back(&e);
  std::vector<int> order = topological_order(p);
  for (auto v = order.rbegin(); v != order.rend(); ++v)
    for (const Edge* e : into[at(*v)])
      tail[at(e->from)] = std::max(tail[at(e->from)], e->delay + tail[at(*v)]);
  return tail;
}

}  // namespace

Problem parse_literature(std::string_view text, const std::string& source) {
  const std::string ending = std::filesystem::path(source).extension().string();
  Words words(text, source);
  Problem p = ending == ".sm"    ? parse_psplib(std::move(words), source)
              : ending == ".rcp" ? parse_patterson(std::move(words), source)
                                 : parse_job_shop(std::move(words), source);
  check(p, source);
  return p;
}

Cycle one_stage_bound(const Problem& p) {
  Cycle bound = 1;
  for (const Cycle tail : tails_of(p)) bound = std::max(bound, tail);
  std::vector<Wide> work(p.units.size(), 0);
  for (const Op& op : p.ops)
    for (const Reservation& r : op.reservations) work[at(r.unit)] += Wide{r.amount} * r.length;
  for (std::size_t unit = 0; unit < p.units.size(); ++unit) {
    const Amount capacity = p.units[unit].capacity;
    bound = std::max(bound, static_cast<Cycle>((work[unit] + capacity - 1) / capacity));
  }
  return bound;
}

Cycle serial_length(const Problem& p) {
  const std::size_t ops = p.ops.size();
  std::size_t uses = 0;
  for (const Op& op : p.ops) uses += op.reservations.size();
  if (ops > kMostPlaced || uses > kMostUses) {  // one after the other: too many to try all places
    Cycle sum = 1;
    for (const Op& op : p.ops) sum += op.cycles;
    return sum;
  }
  const std::vector<Cycle> tail = tails_of(p);
  std::vector<int> waiting(ops, 0);
  for (const Edge& e : p.edges) ++waiting[static_cast<std::size_t>(e.to)];
  std::vector<Cycle> earliest(ops, 0);
  struct Placed {
    Cycle start, end;
    Amount amount;
  };
  std::vector<std::vector<Placed>> busy(p.units.size());
  std::vector<Cycle> ends;  // of all that is placed
  std::vector<bool> taken(ops, false);
  Cycle length = 1;
  while (ends.size() < ops) {
    std::size_t next = ops;
    for (std::size_t v = 0; v < ops; ++v)
      if (!taken[v] && waiting[v] == 0 && (next == ops || tail[v] > tail[next])) next = v;
    taken[next] = true;
    const Op& op = p.ops[next];
    // Does it fit from `start` on? What is busy grows only where something begins.
    const auto fits = [&](Cycle start) {
      return std::all_of(op.reservations.begin(), op.reservations.end(), [&](const Reservation& r) {
        std::vector<std::pair<Cycle, Amount>> changes;
        for (const Placed& other : busy[at(r.unit)])
          if (other.start < start + r.length && other.end > start) {
            changes.emplace_back(std::max(other.start, start), other.amount);
            changes.emplace_back(other.end, -other.amount);
          }
        std::sort(changes.begin(), changes.end());  // at one cycle what ends comes first
        Amount sum = r.amount;
        return std::all_of(changes.begin(), changes.end(), [&](const auto& change) {
          sum += change.second;
          return sum <= p.units[at(r.unit)].capacity;
        });
      });
    };
    // It fits first at its earliest start or where something ends.
    Cycle start = -1;
    std::vector<Cycle> times = {earliest[next]};
    for (const Cycle end : ends) times.push_back(std::max(earliest[next], end));
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    for (const Cycle t : times)
      if (start < 0 && fits(t)) start = t;
    ends.push_back(start + op.cycles);
    for (const Reservation& r : op.reservations)
      busy[at(r.unit)].push_back({start, start + r.length, r.amount});
    length = std::max(length, start + op.cycles);
    for (const Edge& e : p.edges) {
      if (e.from != static_cast<int>(next)) continue;
      const auto to = static_cast<std::size_t>(e.to);
      --waiting[to];
      earliest[to] = std::max(earliest[to], start + e.delay);
    }
  }
  return length;
}

std::optional<Cycle> smallest_makespan(const Problem& problem, double seconds,
                                       const std::stop_token& stop) {
  const auto begin = std::chrono::steady_clock::now();
  Cycle low = one_stage_bound(problem), high = serial_length(problem);
  Options options;
  options.threads = 1;
  while (low < high) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (spent.count() >= seconds) return std::nullopt;
    options.time_limit = seconds - spent.count();
    const Cycle middle = low + (high - low) / 2;
    const twill::Verdict verdict = decide(problem, middle, middle, options, stop).verdict;
    if (verdict == twill::Verdict::unknown) return std::nullopt;
    if (verdict == twill::Verdict::sat)
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

}  // namespace twill::bench
