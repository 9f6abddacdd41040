#include "graph/program/time.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "graph/index.hpp"
#include "graph/program/issue_moment.hpp"
#include "graph/program/loop_view.hpp"

namespace twill::program {

Clock::Clock(const Program& program, const Problem& problem, const Schedule& schedule, int n,
             UnitOrder order)
    : problem_(problem),
      schedule_(schedule),
      n_(n),
      order_(order),
      waits_(program.waits.size()),
      program_ops_(program.ops.size()) {
  add_tasks(program);
  add_code(program);
  add_dependents();
  add_order();
}

void Clock::add_tasks(const Program& program) {
  LoopView view;
  view_loop(problem_, schedule_, view);  // derive() has had it, too
  std::unordered_map<std::string, int> ids;
  for (int v = 0; v < static_cast<int>(problem_.ops.size()); ++v) {
    const twill::Op& op = problem_.ops[at(v)];
    ids.emplace(op.id, v);
    Task task;
    task.cycles = op.cycles;
    task.ends = view.ends[at(v)];
    task.code = view.is_code[at(v)];
    task.slot = schedule_.warp[at(v)];
    for (const Reservation& r : op.reservations)
      if (task.code) task.pieces.push_back({r.unit, r.offset, r.length, r.amount});
    std::stable_sort(task.pieces.begin(), task.pieces.end(),
                     [](const Piece& a, const Piece& b) { return a.offset < b.offset; });
    tasks_.push_back(std::move(task));
  }
  for (const Edge& e : problem_.edges) {
    Task& to = tasks_[at(e.to)];
    const bool crosses = schedule_.warp[at(e.from)] != schedule_.warp[at(e.to)];
    const Cycle spill = crosses ? spill_of(problem_, e) : 0;
    to.edges.push_back({e.from, e.distance, e.delay, spill});
    if ((e.blocking || spill > 0) && to.slot != variable_latency_slot(problem_)) to.alone = true;
  }
  std::vector<int> task_of;
  for (std::size_t k = 0; k < program.ops.size(); ++k) {
    const int v = ids.at(program.ops[k].id);
    task_of.push_back(v);
    tasks_[at(v)].op = static_cast<int>(k);
    tasks_[at(v)].at_once = program.ops[k].ending == Ending::at_once;
  }
  const std::vector<int> writer = writers(program);
  for (std::size_t w = 0; w < program.waits.size(); ++w) {
    const Wait& wait = program.waits[w];
    const Event& event = program.events[at(wait.event)];
    const Op& op = program.ops[at(wait.before)];
    const std::vector<int> ending = ops_of(event);
    for (std::size_t k = 0; k < ending.size(); ++k) {
      // For an operand the edge says when it is there, with what its hand-over costs.
      const bool result = std::any_of(op.reads.begin(), op.reads.end(), [&](const Read& r) {
        return writer[at(r.storage)] == ending[k] && r.distance == wait.offset;
      });
      Awaited awaited{static_cast<int>(w),
                      task_of[at(ending[k])],
                      wait.offset,
                      !event.pending,
                      result,
                      k + 1 == ending.size(),
                      {}};
      const Task& task = tasks_[at(task_of[at(wait.before)])];
      for (const Given& edge : task.edges)
        if (edge.from == awaited.first && edge.distance == wait.offset &&
            edge.delay + edge.spill >= awaited.edge.delay + awaited.edge.spill && result)
          awaited.edge = edge;
      tasks_[at(task_of[at(wait.before)])].waits.push_back(awaited);
    }
  }
}

void Clock::add_code(const Program& program) {
  const std::size_t count = tasks_.size() * static_cast<std::size_t>(n_);
  previous_.assign(count, kNone);
  next_ = ahead_ = behind_ = previous_;
  others_.resize(count);
  waiters_.resize(count);
  std::vector<int> task_of(program.ops.size());
  for (int v = 0; v < static_cast<int>(tasks_.size()); ++v)
    if (tasks_[at(v)].op >= 0) task_of[at(tasks_[at(v)].op)] = v;
  // Zero-cycle ops that wait for something are no code, but what is issued before one of them must
  // have ended, and what is issued later comes after it.
  std::vector<std::vector<int>> waiting(program.slots.size());
  for (int v = 0; v < static_cast<int>(tasks_.size()); ++v)
    if (!tasks_[at(v)].code && tasks_[at(v)].alone) waiting[at(tasks_[at(v)].slot)].push_back(v);
  const Cycle ii = schedule_.initiation_interval;
  const std::int64_t periods = std::int64_t{n_} + stage_count(program) - 1;
  std::vector<std::size_t> last(program.slots.size(), kNone);
  std::vector<std::map<int, std::size_t>> latest(program.slots.size());   // with cycles, by op
  std::vector<std::map<int, std::int64_t>> passed(program.slots.size());  // of those waiting
  std::vector<std::size_t> waiter_of(program.slots.size(), kNone);
  std::map<std::pair<int, std::string>, std::size_t> queued;
  for (std::int64_t t = 0; t < periods; ++t)
    for (std::size_t k = 0; k < program.ops.size(); ++k) {
      const Op& op = program.ops[k];
      const std::int64_t i = t - op.stage;
      if (i < 0 || i >= n_) continue;
      const int v = task_of[k];
      const std::size_t x = instance(v, i);
      const Task& task = tasks_[at(v)];
      previous_[x] = last[at(op.slot)];
      if (last[at(op.slot)] != kNone) next_[last[at(op.slot)]] = x;
      bool alone = task.alone;
      const Cycle when = schedule_.start[at(v)] + i * ii;
      for (const int view : waiting[at(op.slot)])
        for (std::int64_t& j = passed[at(op.slot)][view];
             j < n_ && schedule_.start[at(view)] + j * ii < when; ++j) {
          if (task.cycles > 0) waiters_[x].push_back(instance(view, j));
          alone = true;
        }
      if (alone)
        for (const auto& [other, y] : latest[at(op.slot)])
          if (other != v) others_[x].push_back(y);
      std::size_t& waiter = waiter_of[at(op.slot)];
      if (task.cycles > 0 && waiter != kNone) waiters_[x].push_back(waiter);
      if (task.alone) waiter = x;
      if (task.cycles > 0) latest[at(op.slot)][v] = x;
      last[at(op.slot)] = x;
      if (op.queue.empty()) continue;
      const auto [before, first] = queued.try_emplace({op.slot, op.queue}, x);
      if (!first) {
        ahead_[x] = before->second;
        behind_[before->second] = x;
        before->second = x;
      }
    }
}

int Clock::level(int v, Cycle cycles) const {
  const std::vector<Piece>& pieces = tasks_[at(v)].pieces;
  return static_cast<int>(std::count_if(pieces.begin(), pieces.end(),
                                        [&](const Piece& p) { return p.offset <= cycles; }));
}

void Clock::add_dependents() {
  dependents_.resize(previous_.size());
  open_.assign(previous_.size(), 0);
  const auto tell = [&](int from, std::int64_t i, Cycle after, std::size_t to) {
    if (i < 0 || i >= n_) return;
    dependents_[instance(from, i)].push_back(
        {static_cast<std::uint32_t>(to), level(from, after), after});
    ++open_[to];
  };
  for (int v = 0; v < static_cast<int>(tasks_.size()); ++v)
    for (std::int64_t i = 0; i < n_; ++i) {
      const std::size_t x = instance(v, i);
      for (const Given& edge : tasks_[at(v)].edges)
        tell(edge.from, i - edge.distance, edge.delay, x);
      for (const Awaited& wait : tasks_[at(v)].waits)
        if (!wait.result) tell(wait.first, i - wait.offset, tasks_[at(wait.first)].ends, x);
      for (const std::size_t y : others_[x]) {
        const int other = static_cast<int>(y / static_cast<std::size_t>(n_));
        tell(other, static_cast<std::int64_t>(y % static_cast<std::size_t>(n_)),
             tasks_[at(other)].cycles, x);
      }
      for (const std::size_t y : waiters_[x])
        if (!tasks_[y / static_cast<std::size_t>(n_)].code)  // else its issue is known
          tell(static_cast<int>(y / static_cast<std::size_t>(n_)),
               static_cast<std::int64_t>(y % static_cast<std::size_t>(n_)), 0, x);
      if (previous_[x] != kNone) ++open_[x];
    }
}

void Clock::add_order() {
  // Instances by the schedule's time, each after what it waits for: of those at one moment, too.
  const auto when = [&](std::size_t x) {
    return schedule_.start[x / static_cast<std::size_t>(n_)] +
           static_cast<Cycle>(x % static_cast<std::size_t>(n_)) * schedule_.initiation_interval;
  };
  using Due = std::pair<Cycle, std::size_t>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> free;
  std::vector<int> open = open_;
  for (std::size_t x = 0; x < open.size(); ++x)
    if (open[x] == 0) free.emplace(when(x), x);
  turns_.resize(problem_.units.size());
  std::vector<std::vector<std::tuple<Cycle, std::size_t, std::size_t, int>>> all(turns_.size());
  for (std::size_t place = 0; !free.empty(); ++place) {
    const std::size_t x = free.top().second;
    free.pop();
    const Task& task = tasks_[x / static_cast<std::size_t>(n_)];
    for (std::size_t k = 0; k < task.pieces.size(); ++k)
      all[at(task.pieces[k].unit)].emplace_back(when(x) + task.pieces[k].offset, place, x,
                                                static_cast<int>(k));
    const auto told = [&](std::size_t to) {
      if (--open[to] == 0) free.emplace(when(to), to);
    };
    for (const Dependent& one : dependents_[x]) told(one.who);
    if (next_[x] != kNone) told(next_[x]);
  }
  for (std::size_t f = 0; f < all.size(); ++f) {
    std::sort(all[f].begin(), all[f].end());
    for (const auto& [time, place, x, k] : all[f]) turns_[f].emplace_back(x, k);
  }
}

/// One run, event by event in the order of their moments.
class TimedExecution {
 public:
  TimedExecution(const Clock& clock, const BarrierCosts& costs, const std::vector<int>& factor)
      : c_(clock), n_(static_cast<std::size_t>(clock.n_)), costs_(costs), factor_(factor) {
    const std::size_t count = c_.previous_.size();
    issue_.assign(count, 0);
    start_.assign(count, 0);
    for (const Clock::Task& t : c_.tasks_) {
      first_base_.push_back(base_.size());
      base_.resize(base_.size() + (t.pieces.size() + 1) * n_);
    }
    open_ = c_.open_;
    begins_.assign(count, 1);
    for (std::size_t x = 0; x < count; ++x)
      if (c_.ahead_[x] != Clock::kNone) ++begins_[x];
    turn_.assign(c_.turns_.size(), 0);
    taken_.resize(c_.turns_.size());
    asked_.resize(c_.turns_.size());
    result_.iterations = c_.n_;
    result_.stood.assign(c_.waits_, 0);
    result_.start.assign(c_.program_ops_ * n_, 0);
    result_.late = result_.start;
    result_.end.assign(n_, 0);
  }

  TimedRun run() {
    for (std::size_t x = 0; x < open_.size(); ++x)
      if (c_.open_[x] == 0) ready(x);
    while (!due_.empty()) {
      const Due due = due_.top();
      due_.pop();
      if (due.piece < 0)
        issue(due.x);
      else
        asks(due.x, due.piece, due.time);
    }
    return std::move(result_);
  }

  // For IssueMoment:
  Cycle issued(std::size_t x) const { return issue_[x]; }
  Cycle begun(std::size_t x) const { return start_[x]; }
  /// When so many cycles of its own are over.
  Cycle after(std::size_t x, Cycle cycles) {
    return base(x, c_.level(op(x), cycles)) + cost(x, cycles);
  }

 private:
  struct Due {
    Cycle time = 0;
    std::int64_t iteration = 0;  ///< the older is first
    std::size_t x = 0;
    int piece = -1;  ///< -1 = it is issued
    bool operator>(const Due& other) const {
      return std::tie(time, iteration, x, piece) >
             std::tie(other.time, other.iteration, other.x, other.piece);
    }
  };

  int op(std::size_t x) const { return static_cast<int>(x / n_); }
  const Clock::Task& task(std::size_t x) const { return c_.tasks_[x / n_]; }
  std::int64_t iteration(std::size_t x) const { return static_cast<std::int64_t>(x % n_); }
  /// What a cost of this instance is in this run.
  Cycle cost(std::size_t x, Cycle cycles) const {
    if (factor_.empty() || task(x).op < 0) return cycles;
    return (cycles * factor_[at(task(x).op) * n_ + x % n_] + 500) / 1000;
  }
  /// From where its cycles count when so many of its segments have begun.
  Cycle& base(std::size_t x, int level) {
    return base_[first_base_[x / n_] + x % n_ * (task(x).pieces.size() + 1) + at(level)];
  }
  /// All that it waits for is known.
  void ready(std::size_t x) {
    const Cycle time = issue_moment_.of(*this, x);
    issue_[x] = time;
    if (task(x).code) {
      due_.push({time, iteration(x), x, -1});
    } else {
      base(x, 0) = time;
      begun_pieces(x, 0);
    }
  }

  void issue(std::size_t x) {
    if (!task(x).at_once) told(c_.next_[x]);
    begin(x);
  }

  /// It has been issued, and what is ahead of it in its queue has begun: both are asked for.
  void begin(std::size_t x) {
    if (--begins_[x] > 0) return;
    Cycle time = issue_[x];
    if (c_.ahead_[x] != Clock::kNone) time = std::max(time, start_[c_.ahead_[x]]);
    const std::vector<Clock::Piece>& pieces = task(x).pieces;
    if (pieces.empty() || pieces.front().offset > 0) begins(x, time);
    base(x, 0) = time;
    begun_pieces(x, 0);
    if (!pieces.empty()) due_.push({time + cost(x, pieces.front().offset), iteration(x), x, 0});
  }

  void asks(std::size_t x, int piece, Cycle time) {
    const int unit = task(x).pieces[at(piece)].unit;
    if (c_.order_ == UnitOrder::arrival) {
      serve(x, piece, time);
      return;
    }
    auto& asked = asked_[at(unit)];
    asked.emplace(std::pair(x, piece), time);
    const auto& turns = c_.turns_[at(unit)];
    for (std::size_t& turn = turn_[at(unit)]; turn < turns.size(); ++turn) {
      const auto next = asked.find(turns[turn]);
      if (next == asked.end()) break;
      const auto [who, when] = *next;
      asked.erase(next);
      serve(who.first, who.second, when);
    }
  }

  /// Those served before have what they have until they end.
  void serve(std::size_t x, int piece, Cycle time) {
    const Clock::Task& t = task(x);
    const Clock::Piece& p = t.pieces[at(piece)];
    auto& taken = taken_[at(p.unit)];  // by end
    Amount free = c_.problem_.units[at(p.unit)].capacity - p.amount;
    for (auto last = taken.rbegin(); last != taken.rend() && last->first > time; ++last) {
      if (last->second > free) {
        time = last->first;
        break;
      }
      free -= last->second;
    }
    const std::pair<Cycle, Amount> held{time + cost(x, p.length), p.amount};
    taken.insert(std::upper_bound(taken.begin(), taken.end(), held), held);
    const Cycle from = time - cost(x, p.offset);
    if (piece == 0 && p.offset == 0) begins(x, from);
    base(x, piece + 1) = from;
    begun_pieces(x, piece + 1);
    if (at(piece) + 1 < t.pieces.size())
      due_.push({from + cost(x, t.pieces[at(piece) + 1].offset), iteration(x), x, piece + 1});
  }

  void begins(std::size_t x, Cycle time) {
    start_[x] = time;
    if (task(x).at_once) told(c_.next_[x]);
    if (c_.behind_[x] != Clock::kNone) begin(c_.behind_[x]);
  }

  void begun_pieces(std::size_t x, int level) {
    if (at(level) == task(x).pieces.size()) ended(x);
    for (const Clock::Dependent& one : c_.dependents_[x])
      if (one.level == level) told(one.who);
  }

  /// Its last segment has begun: all that it does is known.
  void ended(std::size_t x) {
    if (task(x).op < 0) return;
    const Cycle last = base(x, static_cast<int>(task(x).pieces.size()));
    const std::size_t k = at(task(x).op) * n_ + x % n_;
    result_.start[k] = start_[x];
    result_.late[k] = last - start_[x];
    Cycle& end = result_.end[x % n_];
    end = std::max(end, last + cost(x, task(x).cycles));
    result_.total = std::max(result_.total, end);
  }

  void told(std::size_t x) {
    if (x != Clock::kNone && --open_[x] == 0) ready(x);
  }

  const Clock& c_;
  std::size_t n_;
  const BarrierCosts& costs_;
  const std::vector<int>& factor_;
  TimedRun result_;
  IssueMoment<TimedExecution, 1> issue_moment_{c_, costs_, result_.stood};
  std::vector<Cycle> issue_, start_;
  std::vector<std::size_t> first_base_;  ///< per op
  std::vector<Cycle> base_;
  std::vector<int> open_, begins_;
  std::vector<std::size_t> turn_;                             ///< per unit
  std::vector<std::vector<std::pair<Cycle, Amount>>> taken_;  ///< per unit: ends, what ends
  std::vector<std::map<std::pair<std::size_t, int>, Cycle>> asked_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

TimedRun Clock::run(const BarrierCosts& costs, const std::vector<int>& factor) const {
  return TimedExecution(*this, costs, factor).run();
}

double middle_clocks(const TimedRun& run) {
  const int from = run.iterations / 4, to = 3 * run.iterations / 4;
  return static_cast<double>(run.end[at(to)] - run.end[at(from)]) / (to - from);
}

std::optional<Steady> steady_state(const TimedRun& run, int stages) {
  constexpr int kMostEvery = 64;
  const int last = run.iterations - std::max(stages, 1);
  for (int every = 1; every <= kMostEvery && every <= last; ++every) {
    const auto gap = [&](int i) { return run.end[at(i)] - run.end[at(i - every)]; };
    int from = last;
    while (from - every >= 0 && gap(from) == gap(last)) --from;
    // The first that ends so long after the one before; several periods of it must be there.
    if (last - from >= std::max(4, 2 * every)) return Steady{from, every, gap(last)};
  }
  return std::nullopt;
}

}  // namespace twill::program
