#include "graph/replay.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

namespace twill {
namespace {

/// In this order at one cycle: an interval [a, b) does not hold b, and it does hold a.
enum class Kind { end, begin, probe };

struct Event {
  Cycle time;
  Kind kind;
  std::size_t index;  ///< of the train or probe
  bool operator>(const Event& other) const {
    return std::tie(time, kind, index) > std::tie(other.time, other.kind, other.index);
  }
};

/// Merges event sequences that each tick once a period into one sequence in order of time. Memory
/// grows with the number of sequences, not with the number of iterations.
class Sweep {
 public:
  Sweep(Cycle period, Cycle first_cycle, Cycle end_cycle)
      : period_(period), first_cycle_(first_cycle), end_cycle_(end_cycle) {}

  /// Events at first, first + I, ... as far as they are observed.
  void add(Cycle first, Kind kind, std::size_t index) {
    if (first < first_cycle_) first += (first_cycle_ - first + period_ - 1) / period_ * period_;
    if (first < end_cycle_) queue_.push({first, kind, index});
  }

  std::optional<Event> next() {
    if (queue_.empty()) return std::nullopt;
    const Event event = queue_.top();
    queue_.pop();
    if (event.time + period_ < end_cycle_)
      queue_.push({event.time + period_, event.kind, event.index});
    return event;
  }

 private:
  Cycle period_, first_cycle_, end_cycle_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
};

Cycle rounded_up(Cycle a, Cycle b) {
  return (a + b - 1) / b;
}

}  // namespace

Unrolling::Unrolling(const Problem& problem, const Schedule& schedule)
    : period_(schedule.initiation_interval) {
  Cycle distance = 0, hold = 0;
  for (const Edge& edge : problem.edges) {
    distance = std::max<Cycle>(distance, edge.distance);
    hold = std::max(hold, edge.hold);
  }
  const Cycle overlap = std::max(rounded_up(schedule.length, period_), stage_count(schedule));
  iterations_ = overlap + distance + rounded_up(hold, period_) + 2;
  end_cycle_ = iterations_ * period_;
  first_cycle_ = iterations_ <= kMaxReplay ? 0 : end_cycle_ - period_;
}

Iterations Unrolling::covering(const Train& train, Cycle t) const {
  // Iterations 0 .. begun-1 have begun at t, of which 0 .. ended-1 have ended again.
  const auto ticks = [&](Cycle first) {
    return t < first ? 0 : std::min(iterations_, (t - first) / period_ + 1);
  };
  const Cycle begun = ticks(train.first);
  return {std::min(begun, ticks(train.first + train.length)), begun};
}

std::optional<Cycle> Unrolling::first_excess(const std::vector<Train>& trains, Amount limit) const {
  Sweep sweep(period_, first_cycle_, end_cycle_);
  Amount held = 0;
  for (std::size_t i = 0; i < trains.size(); ++i) {
    if (trains[i].length == 0 || trains[i].amount == 0) continue;
    const Cycle copies = covering(trains[i], first_cycle_ - 1).count();
    if (copies > limit / trains[i].amount) return first_cycle_ - 1;  // and no overflow below
    held += copies * trains[i].amount;
    if (held > limit) return first_cycle_ - 1;
    sweep.add(trains[i].first, Kind::begin, i);
    sweep.add(trains[i].first + trains[i].length, Kind::end, i);
  }
  while (const auto event = sweep.next()) {
    const Amount amount = trains[event->index].amount;
    held += event->kind == Kind::begin ? amount : -amount;
    // All that ends in this cycle has ended, so what has begun so far is in it together.
    if (held > limit) return event->time;
  }
  return std::nullopt;
}

std::optional<Unrolling::Clash> Unrolling::first_clash(const std::vector<Train>& executions,
                                                       const std::vector<Train>& probes) const {
  Sweep sweep(period_, first_cycle_, end_cycle_);
  int last_op = -1;
  for (const Train& train : executions) last_op = std::max(last_op, train.op);
  for (const Train& train : probes) last_op = std::max(last_op, train.op);
  std::vector<Cycle> copies(static_cast<std::size_t>(last_op + 1), 0);  // executing, per op
  int executing = 0;                                                    // ops with copies > 0
  const auto count = [&](int op) -> Cycle& { return copies[static_cast<std::size_t>(op)]; };

  for (std::size_t i = 0; i < executions.size(); ++i) {
    const Train& train = executions[i];
    if (train.length == 0) continue;
    count(train.op) = covering(train, first_cycle_ - 1).count();
    executing += count(train.op) > 0;
    sweep.add(train.first, Kind::begin, i);
    sweep.add(train.first + train.length, Kind::end, i);
  }
  for (std::size_t i = 0; i < probes.size(); ++i) sweep.add(probes[i].first, Kind::probe, i);

  while (const auto event = sweep.next()) {
    if (event->kind == Kind::begin) {
      executing += count(executions[event->index].op)++ == 0;
    } else if (event->kind == Kind::end) {
      executing -= --count(executions[event->index].op) == 0;
    } else if (executing > (count(probes[event->index].op) > 0 ? 1 : 0)) {
      return Clash{event->index, event->time};
    }
  }
  return std::nullopt;
}

}  // namespace twill
