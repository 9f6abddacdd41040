// When an instance of an op is issued: the rule that both replays in time have (time.cpp, where all
// is known ahead, and contended_time.cpp, which goes from moment to moment).
#pragma once

#include <algorithm>
#include <vector>

#include "graph/index.hpp"
#include "graph/program/time.hpp"

namespace twill::program {

/// Of a run that has: issued(x) and begun(x), the moments of an instance, and after(x, cycles),
/// when so many cycles of its own are over. Moments are counted in `kCycle` a cycle.
template <class Run, std::int64_t kCycle>
class IssueMoment {
 public:
  using Moment = std::int64_t;
  IssueMoment(const Clock& clock, const BarrierCosts& costs, std::vector<Cycle>& stood)
      : c_(clock), n_(static_cast<std::size_t>(clock.n_)), costs_(costs), stood_(stood) {}

  /// Of an instance all of whose conditions are known.
  Moment of(Run& run, std::size_t x) const {
    const Clock::Task& t = c_.tasks_[x / n_];
    const auto i = static_cast<std::int64_t>(x % n_);
    Moment time = 0;
    if (c_.previous_[x] != Clock::kNone) {
      const std::size_t p = c_.previous_[x];
      time = c_.tasks_[p / n_].at_once ? run.begun(p) : run.issued(p);
    }
    for (const Clock::Awaited& wait : t.waits) {
      const std::int64_t j = i - wait.offset;
      if (j < 0 || j >= c_.n_) continue;
      const bool counted = wait.result && wait.edge.spill > 0;
      const Moment seen =
          passes(run, wait, t, i) + (wait.barrier && !counted ? costs_.arrive * kCycle : 0);
      if (seen > time) {
        stood_[at(wait.wait)] += rounded(seen) - rounded(time);
        time = seen;
      }
      if (wait.barrier && wait.last) time += costs_.wait * kCycle;
    }
    for (const Clock::Given& edge : t.edges)
      if (i >= edge.distance) time = std::max(time, given(run, edge, i));
    for (const std::size_t y : c_.others_[x])
      time = std::max(time, run.after(y, c_.tasks_[y / n_].cycles));
    for (const std::size_t y : c_.waiters_[x]) time = std::max(time, run.issued(y) + kCycle);
    return time;
  }

  static Cycle rounded(Moment moment) { return (moment + kCycle / 2) / kCycle; }

 private:
  Moment given(Run& run, const Clock::Given& edge, std::int64_t i) const {
    return run.after(c_.instance(edge.from, i - edge.distance), edge.delay) + edge.spill * kCycle;
  }

  Moment passes(Run& run, const Clock::Awaited& wait, const Clock::Task& t, std::int64_t i) const {
    if (!wait.result)
      return run.after(c_.instance(wait.first, i - wait.offset), c_.tasks_[at(wait.first)].ends);
    if (wait.edge.from >= 0) return given(run, wait.edge, i);
    Moment shown = 0;
    for (const Clock::Given& edge : t.edges)
      if (i >= edge.distance && !c_.tasks_[at(edge.from)].code)
        shown = std::max(shown, given(run, edge, i));
    return shown;
  }

  const Clock& c_;
  std::size_t n_;
  const BarrierCosts& costs_;
  std::vector<Cycle>& stood_;
};

}  // namespace twill::program
