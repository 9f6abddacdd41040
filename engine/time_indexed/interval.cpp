// The smallest initiation interval by the time-indexed form.
//
// Where feasibility is monotone in I (graph/problem.hpp, monotone_in_ii) the search goes down from
// a schedule and one refutation, at I - 1, proves the optimum:
//   1. Coarse copies of the loop, with 20 to 64 cycles in the bound, are asked at their own bound,
//      two or three stages deep, under a small conflict limit. Each answer, lifted to the real
//      cycles by its orders (graph/bounds/tighten.hpp), is a candidate; most loops are done here.
//   2. Without one, the serial problem (graph/bounds/serial.hpp) decides whether any schedule
//      exists; its orders, tightened, are the first schedule.
//   3. Coarse copies with 24 and 96 cycles are improved step by step, each step lifted.
//   4. At full resolution: ask at best - 1, tighten every answer, until the bound is met or the
//      question is refuted.
// Elsewhere it goes up from the bound and refutes every I on the way.
#include <functional>
#include <stdexcept>

#include "engine/time_indexed/coarse.hpp"
#include "engine/time_indexed/time_indexed.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/bounds/tighten.hpp"

namespace twill::time_indexed {

// Stages to search at `ii`, and the op to pin: with all stages allowed the schedule may be rotated,
// which can add one stage; under a limit it may not.
Answer ask_complete(const Search& search, Cycle ii, Cycle& max_stages) {
  const Cycle enough = stage_bound(search.problem, ii);
  if (search.stage_limit > 0 && search.stage_limit <= enough) {
    max_stages = std::max(max_stages, search.stage_limit);
    return ask(search, ii, search.stage_limit, -1, 0, kWithoutLifetimes);
  }
  max_stages = std::max(max_stages, enough);
  return ask(search, ii, enough + 1, rotation_pivot(search.problem), 0, kWithoutLifetimes);
}

namespace {

// At the bound, easiest first. Few stages make the question easier and the schedule shorter; which
// resolution keeps the bound within reach is a matter of how the cycles round, so several are
// tried.
constexpr CoarseProbe kProbes[] = {{32, 2, 1'000},  {32, 3, 2'000},  {48, 3, 2'000},
                                   {20, 3, 2'000},  {64, 3, 2'000},  {40, 2, 10'000},
                                   {56, 2, 10'000}, {48, 2, 30'000}, {64, 2, 30'000}};
// Just below the best. (Of eight such probes, tried on nine random loops of 24 to 40 ops where the
// bound is out of reach, these found schedules most often.)
constexpr CoarseProbe kRacing[] = {{40, 2, 10'000}, {32, 3, 10'000}, {24, 2, 5'000}};

void tell(const Search& search, const Interval& interval) {
  if (interval.best) search.report.state().ii_high = interval.best->initiation_interval;
  search.report.tell();
}

// One coarse copy of the loop on the way to `interval.best`.
class CoarseLevel {
 public:
  CoarseLevel(const Search& search, Interval& interval, Cycle rows)
      : search_(search),
        interval_(interval),
        grain_(std::max<Cycle>(1, interval.low / rows)),
        coarse_(coarsened(search.problem, grain_)),
        low_(lower_bounds(coarse_).front().value) {}

  // Asks at the coarse bound.
  void probe(Cycle stages, std::int64_t conflicts) { ask_at(low_, stages, conflicts); }

  // At about `ii` of the loop's own cycles.
  void probe_at(Cycle ii, Cycle stages, std::int64_t conflicts) {
    ask_at(std::max(low_, ii / grain_), stages, conflicts);
  }

  // From the coarse schedule with the orders of `best` downward, while questions are answered.
  void descend() {
    here_ = tighten(coarse_, search_.problem, *interval_.best, low_,
                    std::max(low_, serial_ii(coarse_)), stop_);
    while (here_ && here_->initiation_interval > low_ && !done()) {
      const Cycle stages = std::max<Cycle>(stage_count(*here_), 3);
      if (!ask_at(here_->initiation_interval - 1, stages, kCoarseConflicts)) return;
      tell(search_, interval_);
    }
  }

  bool done() const {
    return search_.budget.spent() ||
           (interval_.best && interval_.best->initiation_interval == interval_.low);
  }

 private:
  bool ask_at(Cycle ii, Cycle stages, std::int64_t conflicts) {
    const Search inner = search_.on(coarse_);
    if (search_.stage_limit > 0) stages = std::min(stages, search_.stage_limit);
    const Answer answer =
        ask(inner, ii, stages, search_.stage_limit > 0 ? -1 : rotation_pivot(coarse_), conflicts);
    if (answer.verdict != Verdict::sat) return false;
    auto tighter = tighten(coarse_, coarse_, *answer.schedule, low_, ii, stop_);
    here_ = tighter ? *tighter : *answer.schedule;
    improve(search_.problem, interval_.best,
            tighten_within(search_, coarse_, *here_, interval_.low,
                           std::max(interval_.low, serial_ii(search_.problem))),
            search_.stage_limit);
    return true;
  }

  const Search& search_;
  Interval& interval_;
  Cycle grain_;
  Problem coarse_;
  Cycle low_;
  std::optional<Schedule> here_;
  std::function<bool()> stop_ = [this] { return search_.budget.spent(); };
};

Interval descend(const Search& search, Interval interval) {
  while (interval.best->initiation_interval > interval.low) {
    const Cycle ii = interval.best->initiation_interval - 1;
    const Answer answer = ask_complete(search, ii, interval.max_stages);
    if (answer.verdict == Verdict::unknown) break;
    if (answer.verdict == Verdict::unsat) {
      interval.low = ii + 1;
      break;
    }
    auto tighter = tighten_within(search, search.problem, *answer.schedule, interval.low, ii);
    if (!improve(search.problem, interval.best, std::move(tighter), search.stage_limit))
      interval.best = answer.schedule;
    search.report.state().ii_high = interval.best->initiation_interval;
  }
  return interval;
}

}  // namespace

std::span<const CoarseProbe> racing_probes() {
  return kRacing;
}

std::optional<Schedule> by_coarse_probe(const Search& search, const CoarseProbe& probe, Cycle low,
                                        Cycle ii) {
  Interval interval;
  interval.low = low;
  CoarseLevel(search, interval, probe.rows).probe_at(ii, probe.stages, probe.conflicts);
  return interval.best;
}

Interval smallest_interval(const Search& search, Cycle low) {
  Interval interval;
  interval.low = low;
  search.report.state().ii_low = low;
  const Problem& problem = search.problem;
  if (latest_pinned_cycle(problem) > 0)
    return interval_with_pinned_cycles(search, std::move(interval));
  if (!search.problem.inner_loops.empty())
    return interval_with_inner_loops(search, std::move(interval));
  const SerialProblem serial = serial_problem(problem);
  if (!monotone_in_ii(problem)) {
    if (!serial_schedule(search, serial, interval)) return interval;
    search.report.phase("interval");
    return ascend(search, std::move(interval));
  }
  if (problem.ops.size() > kManyOps && list_can_answer(search)) {
    search.report.phase("list");
    improve(problem, interval.best, by_list(search, low), search.stage_limit);
    if (interval.best) shorten_listed(search, *interval.best);
    tell(search, interval);
  }
  search.report.phase("probe");
  for (const CoarseProbe& probe : kProbes) {
    CoarseLevel level(search, interval, probe.rows);
    level.probe(probe.stages, probe.conflicts);
    tell(search, interval);
    if (level.done()) break;
  }
  if (!interval.best) {
    const auto order = serial_schedule(search, serial, interval);
    if (!order) return interval;
    const Cycle last = std::max(low, serial_ii(problem));
    // At the last I the stages are the serial ones, which are within the limit.
    improve(problem, interval.best, tighten_within(search, serial.problem, *order, low, last),
            search.stage_limit);
    if (!interval.best && search.budget.spent()) return interval;
    if (!interval.best)
      throw std::logic_error("the orders of a serial schedule do not lift to the problem");
  }
  search.report.state().ii_high = interval.best->initiation_interval;
  search.report.phase("coarse");
  for (const Cycle rows : {24, 96}) {
    CoarseLevel level(search, interval, rows);
    if (level.done()) break;
    level.descend();
  }
  search.report.phase("interval");
  return descend(search, std::move(interval));
}

}  // namespace twill::time_indexed
