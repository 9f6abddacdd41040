#include "graph/program/contended_time.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "graph/index.hpp"
#include "graph/program/issue_moment.hpp"

namespace twill::program {

/// One run. An op is a runner that stops where a segment of it waits for its unit; a segment that
/// has its unit is one, too, for it ends even while a later one waits.
class ContendedExecution {
 public:
  ContendedExecution(const Clock& clock, const BarrierCosts& costs, const Contention& contention,
                     const std::vector<int>& factor)
      : c_(clock),
        n_(static_cast<std::size_t>(clock.n_)),
        costs_(costs),
        contention_(contention),
        factor_(factor) {
    const std::size_t count = c_.previous_.size();
    ops_.resize(count);
    open_ = c_.open_;
    for (std::size_t x = 0; x < count; ++x) {
      if (c_.ahead_[x] != Clock::kNone) ++ops_[x].to_begin;
      for (const Clock::Dependent& one : c_.dependents_[x]) ops_[x].marks.push_back(one.after);
      for (const Clock::Piece& p : task(x).pieces) ops_[x].marks.push_back(p.offset);
      ops_[x].marks.push_back(task(x).cycles);
      auto& marks = ops_[x].marks;
      std::sort(marks.begin(), marks.end());
      marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
      ops_[x].reached.resize(marks.size());
      ops_[x].segments.resize(task(x).pieces.size());
    }
    units_.resize(c_.turns_.size());
    for (std::size_t u = 0; u < units_.size(); ++u) units_[u].free = c_.problem_.units[u].capacity;
    result_.iterations = c_.n_;
    result_.stood.assign(c_.waits_, 0);
    result_.start.assign(c_.program_ops_ * n_, 0);
    result_.late = result_.slowed = result_.start;
    result_.end.assign(n_, 0);
  }

  TimedRun run() {
    for (std::size_t x = 0; x < open_.size(); ++x)
      if (c_.open_[x] == 0) ready(x);
    while (!due_.empty()) {
      const Due due = due_.top();
      due_.pop();
      now_ = due.time;
      if (due.kind == Kind::segment_ends)
        segment_ends(due.x, due.piece, due.course);
      else if (due.kind == Kind::mark)
        mark(due.x, due.course);
      else if (due.kind == Kind::issue)
        issue(due.x);
      else
        asks(due.x, due.piece);
    }
    return std::move(result_);
  }

  // For IssueMoment:
  std::int64_t issued(std::size_t x) const { return ops_[x].issue; }
  std::int64_t begun(std::size_t x) const { return ops_[x].start; }
  std::int64_t after(std::size_t x, Cycle cycles) const {
    const auto& marks = ops_[x].marks;
    return ops_[x].reached[static_cast<std::size_t>(
        std::lower_bound(marks.begin(), marks.end(), cycles) - marks.begin())];
  }

 private:
  using Moment = std::int64_t;  // thousandths of a cycle
  static constexpr Moment kCycle = 1000;
  using Issue = IssueMoment<ContendedExecution, kCycle>;
  static constexpr std::int64_t kAlone = 1000;  // the pace of what nothing slows down

  static Cycle rounded(Moment moment) { return Issue::rounded(moment); }

  /// Something that advances through cycles of its own at a pace that changes.
  struct Runner {
    Moment place = 0;  ///< cycles of its own, at `since`
    Moment since = 0;
    std::int64_t pace = kAlone;  ///< time for its cycles, in thousandths
    std::uint32_t course = 0;    ///< an event of an older course is void
    bool running = false;

    /// To `now`. Rounded so that it is where it should be at the moment of ends(): not before.
    void advance(Moment now) {
      if (running) place += (now - since) * kAlone / pace;
      since = now;
    }
    /// When it gets to `to`, if its pace stays.
    Moment ends(Moment to) const {
      const Moment left = std::max<Moment>(to - place, 0);
      return since + (left * pace + kAlone - 1) / kAlone;
    }
  };

  /// Of one moment: what is given back first, then what has been reached, then what asks.
  enum class Kind { segment_ends, mark, issue, ask };
  struct Due {
    Moment time = 0;
    Kind kind = Kind::mark;
    std::int64_t iteration = 0;  ///< the older is first
    std::size_t x = 0;
    int piece = -1;
    std::uint32_t course = 0;
    bool operator>(const Due& o) const {
      const auto rank = [](Kind k) { return std::min(static_cast<int>(k), 2); };
      return std::tuple(time, rank(kind), iteration, x, piece, course) >
             std::tuple(o.time, rank(o.kind), o.iteration, o.x, o.piece, o.course);
    }
  };
  struct Op {
    Moment issue = 0, start = 0, halted = 0, halts_since = 0;
    Runner runner;
    std::vector<Cycle> marks;     ///< cycles of its own at which something happens, ascending
    std::vector<Moment> reached;  ///< when
    std::size_t next = 0;         ///< the first mark that is not reached
    int to_begin = 1;
    std::size_t asked = 0;  ///< segments that have their units, or had
    std::vector<Runner> segments;
  };
  struct Unit {
    Amount free = 0;
    std::deque<std::pair<std::size_t, int>> line;  ///< in the order of arrival
    std::size_t turn = 0;                          ///< in the schedule's order
    std::set<std::pair<std::size_t, int>> here;    ///< who has asked, in the schedule's order
    std::map<std::size_t, int> holders;            ///< instance: how many segments of it
  };

  const Clock::Task& task(std::size_t x) const { return c_.tasks_[x / n_]; }
  std::int64_t iteration(std::size_t x) const { return static_cast<std::int64_t>(x % n_); }
  Moment cost(std::size_t x, Cycle cycles) const {
    if (factor_.empty() || task(x).op < 0) return cycles * kCycle;
    return (cycles * factor_[at(task(x).op) * n_ + x % n_] + 500) / 1000 * kCycle;
  }

  /// All that it waits for has happened.
  void ready(std::size_t x) {
    ops_[x].issue = issue_moment_.of(*this, x);
    due_.push({ops_[x].issue, Kind::issue, iteration(x), x, -1, 0});
  }

  void issue(std::size_t x) {
    if (!task(x).code) {
      start(x);
      return;
    }
    if (!task(x).at_once) told(c_.next_[x]);
    begin(x);
  }

  /// It has been issued, and what is ahead of it in its queue has begun: both are asked for.
  void begin(std::size_t x) {
    if (--ops_[x].to_begin > 0) return;
    const std::vector<Clock::Piece>& pieces = task(x).pieces;
    if (pieces.empty() || pieces.front().offset > 0) begins(x);
    start(x);
  }

  void start(std::size_t x) {
    ops_[x].runner.since = now_;
    ops_[x].runner.running = true;
    pass_marks(x);
  }

  void begins(std::size_t x) {
    ops_[x].start = now_;
    if (task(x).op >= 0) result_.start[at(task(x).op) * n_ + x % n_] = rounded(now_);
    if (task(x).at_once) told(c_.next_[x]);
    if (c_.behind_[x] != Clock::kNone) begin(c_.behind_[x]);
  }

  /// All marks that it has reached; stops before one at which a segment still has no unit.
  void pass_marks(std::size_t x) {
    Op& o = ops_[x];
    o.runner.advance(now_);
    while (o.next < o.marks.size() && o.runner.place >= cost(x, o.marks[o.next])) {
      const Cycle here = o.marks[o.next];
      o.runner.place = cost(x, here);
      if (o.asked < o.segments.size() && task(x).pieces[o.asked].offset <= here) {
        o.runner.running = false;
        o.halts_since = now_;
        due_.push({now_, Kind::ask, iteration(x), x, static_cast<int>(o.asked), 0});
        return;
      }
      o.reached[o.next++] = now_;
      if (here == task(x).cycles) ended(x);
      for (const Clock::Dependent& one : c_.dependents_[x])
        if (one.after == here) told(one.who);
    }
    if (o.next == o.marks.size())
      o.runner.running = false;
    else
      go_on(x);
  }

  void go_on(std::size_t x) {
    Op& o = ops_[x];
    due_.push({o.runner.ends(cost(x, o.marks[o.next])), Kind::mark, iteration(x), x, -1,
               ++o.runner.course});
  }

  void mark(std::size_t x, std::uint32_t course) {
    if (ops_[x].runner.running && ops_[x].runner.course == course) pass_marks(x);
  }

  void asks(std::size_t x, int piece) {
    const int unit = task(x).pieces[at(piece)].unit;
    if (c_.order_ == UnitOrder::arrival)
      units_[at(unit)].line.emplace_back(x, piece);
    else
      units_[at(unit)].here.emplace(x, piece);
    serve(unit);
  }

  void serve(int unit) {
    Unit& u = units_[at(unit)];
    const auto& turns = c_.turns_[at(unit)];
    for (;;) {
      std::pair<std::size_t, int> first;
      if (c_.order_ == UnitOrder::arrival) {
        if (u.line.empty()) return;
        first = u.line.front();
      } else {
        if (u.turn == turns.size() || !u.here.contains(turns[u.turn])) return;
        first = turns[u.turn];
      }
      const Clock::Piece& p = task(first.first).pieces[at(first.second)];
      if (p.amount > u.free) return;
      if (c_.order_ == UnitOrder::arrival) {
        u.line.pop_front();
      } else {
        u.here.erase(first);
        ++u.turn;
      }
      u.free -= p.amount;
      ++u.holders[first.first];
      segment_begins(first.first, first.second);
    }
  }

  void segment_begins(std::size_t x, int piece) {
    Op& o = ops_[x];
    const Clock::Piece& p = task(x).pieces[at(piece)];
    Runner& segment = o.segments[at(piece)];
    segment.since = now_;
    segment.running = true;
    running_.emplace_back(x, piece);
    segment.pace = pace_on(p.unit, x);
    if (o.asked == 0 && p.offset == 0)
      begins(x);
    else
      o.halted += now_ - o.halts_since;
    ++o.asked;
    o.runner.since = now_;
    o.runner.running = true;
    ends_segment(x, piece);
    set_pace_of_op(x);
    set_paces(p.unit);
    pass_marks(x);
  }

  void ends_segment(std::size_t x, int piece) {
    Runner& segment = ops_[x].segments[at(piece)];
    due_.push({segment.ends(cost(x, task(x).pieces[at(piece)].length)), Kind::segment_ends,
               iteration(x), x, piece, ++segment.course});
  }

  void segment_ends(std::size_t x, int piece, std::uint32_t course) {
    Runner& segment = ops_[x].segments[at(piece)];
    if (!segment.running || segment.course != course) return;
    segment.running = false;
    std::erase(running_, std::pair(x, piece));
    const Clock::Piece& p = task(x).pieces[at(piece)];
    Unit& u = units_[at(p.unit)];
    u.free += p.amount;
    if (--u.holders[x] == 0) u.holders.erase(x);
    set_pace_of_op(x);
    set_paces(p.unit);
    // Those that ask at this moment come behind those that have asked before: these are served now.
    serve(p.unit);
  }

  bool others_on(int unit, std::size_t x) const {
    const auto& holders = units_[at(unit)].holders;
    return holders.size() > (holders.contains(x) ? 1U : 0U);
  }

  std::int64_t pace_on(int unit, std::size_t x) const {
    std::int64_t pace = kAlone;
    for (const Slowdown& s : contention_)
      if (s.unit == unit && others_on(s.by, x))
        pace = std::min<std::int64_t>((pace * s.thousandths + 500) / 1000, kMostSlowdown);
    return pace;
  }

  /// Who is on `changed` has changed: the paces of what it slows down.
  void set_paces(int changed) {
    for (const auto& [x, piece] : std::vector(running_)) {
      const int unit = task(x).pieces[at(piece)].unit;
      const bool concerned =
          std::any_of(contention_.begin(), contention_.end(),
                      [&](const Slowdown& s) { return s.unit == unit && s.by == changed; });
      if (!concerned) continue;
      Runner& segment = ops_[x].segments[at(piece)];
      const std::int64_t pace = pace_on(unit, x);
      if (pace == segment.pace) continue;
      segment.advance(now_);
      segment.pace = pace;
      ends_segment(x, piece);
      set_pace_of_op(x);
    }
  }

  void set_pace_of_op(std::size_t x) {
    Op& o = ops_[x];
    std::int64_t pace = kAlone;
    for (const Runner& segment : o.segments)
      if (segment.running) pace = std::max(pace, segment.pace);
    if (pace == o.runner.pace) return;
    o.runner.advance(now_);
    o.runner.pace = pace;
    if (o.runner.running && o.next < o.marks.size()) go_on(x);
  }

  void ended(std::size_t x) {
    if (task(x).op < 0) return;
    const Op& o = ops_[x];
    const std::size_t k = at(task(x).op) * n_ + x % n_;
    result_.late[k] = rounded(o.halted);
    result_.slowed[k] = rounded(now_ - o.start - o.halted - cost(x, task(x).cycles));
    Cycle& end = result_.end[x % n_];
    end = std::max(end, rounded(now_));
    result_.total = std::max(result_.total, end);
  }

  void told(std::size_t x) {
    if (x != Clock::kNone && --open_[x] == 0) ready(x);
  }

  const Clock& c_;
  std::size_t n_;
  const BarrierCosts& costs_;
  const Contention& contention_;
  const std::vector<int>& factor_;
  TimedRun result_;
  Issue issue_moment_{c_, costs_, result_.stood};
  Moment now_ = 0;
  std::vector<Op> ops_;
  std::vector<int> open_;
  std::vector<Unit> units_;
  std::vector<std::pair<std::size_t, int>> running_;  ///< segments that have their units
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

bool can_be_contended(const Problem& problem, int n) {
  // All one after the other, each as slow as can be, eleven times its cost (Variation), in
  // thousandths: fewer than 2^63.
  constexpr double kMost = 5e12;
  double cycles = 0;
  for (const twill::Op& op : problem.ops)
    cycles += static_cast<double>(op.cycles) + static_cast<double>(op.spill);
  for (const Edge& edge : problem.edges)
    cycles += static_cast<double>(edge.delay) + static_cast<double>(edge.spill.value_or(0));
  return cycles * n <= kMost;
}

TimedRun run_contended(const Clock& clock, const BarrierCosts& costs, const Contention& contention,
                       const std::vector<int>& factor) {
  return ContendedExecution(clock, costs, contention, factor).run();
}

}  // namespace twill::program
