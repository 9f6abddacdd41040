// The smallest initiation interval.
//
// Where feasibility is monotone in I (graph/problem.hpp, monotone_in_ii) the search goes down from a
// schedule and one refutation, at I - 1, proves the optimum:
//   1. The serial problem (graph/serial.hpp) decides whether any schedule exists; its orders,
//      tightened, are the first one.
//   2. Coarse copies of the loop, at about 24 and 96 cycles per interval, are improved the same
//      way under a conflict limit; each of their schedules, lifted by its orders, is a candidate.
//   3. At full resolution: ask at best - 1, tighten every answer, until the bound is met or the
//      question is refuted.
// Elsewhere it goes up from the bound and refutes every I on the way.
#include "engine/coarse.hpp"
#include "engine/search.hpp"
#include "graph/bounds.hpp"
#include "graph/problem.hpp"
#include "graph/serial.hpp"
#include "graph/stage_bound.hpp"
#include "graph/tighten.hpp"
#include "graph/verify.hpp"

namespace twill {
namespace {

constexpr std::int64_t kProbeConflicts = 2'000, kCoarseConflicts = 20'000;

// Stages to search at `ii`, and the op to pin: with all stages allowed the schedule may be rotated,
// which can add one stage; under a limit it may not.
Answer ask_complete(const Search& search, Cycle ii, Cycle stage_limit, Cycle& max_stages) {
  const Cycle enough = stage_bound(search.problem, ii);
  if (stage_limit > 0 && stage_limit <= enough) {
    max_stages = std::max(max_stages, stage_limit);
    return ask(search, ii, stage_limit, -1);
  }
  max_stages = std::max(max_stages, enough);
  return ask(search, ii, enough + 1, rotation_pivot(search.problem));
}

// Keeps the better of two schedules if verify() accepts the new one.
bool improve(const Problem& problem, std::optional<Schedule>& best, std::optional<Schedule> next,
             Cycle stage_limit) {
  if (!next || (best && best->initiation_interval <= next->initiation_interval)) return false;
  if (stage_limit > 0 && stage_count(*next) > stage_limit) return false;
  if (verify(problem, *next)) return false;
  best = std::move(next);
  return true;
}

void improve_by_coarse(const Search& search, Interval& interval, Cycle stage_limit) {
  const Problem& real = search.problem;
  std::optional<Schedule>& best = interval.best;
  for (const Cycle rows : {24, 96}) {
    const Cycle grain = best->initiation_interval / rows;
    if (best->initiation_interval == interval.low || grain < 2) return;
    const Problem coarse = coarsened(real, grain);
    const Cycle low = lower_bounds(coarse).front().value;
    std::optional<Schedule> here =
        tighten(coarse, real, *best, low, std::max(low, serial_ii(coarse)));
    const Search inner{coarse, search.choice, search.seed, search.budget, search.report};
    // The bound itself is asked first: where it can be met, that is often the easiest question.
    Cycle ii = low;
    std::int64_t limit = kProbeConflicts;
    while (!here || here->initiation_interval > low) {
      if (search.budget.spent() || best->initiation_interval == interval.low) return;
      const Cycle stages = std::min(std::max<Cycle>(here ? stage_count(*here) + 1 : 2, 4),
                                    stage_bound(coarse, ii) + 1);
      const Answer answer =
          ask(inner, ii, stage_limit > 0 ? std::min(stages, stage_limit) : stages,
              stage_limit > 0 ? -1 : rotation_pivot(coarse), limit);
      if (answer.verdict == SatSolver::Answer::sat) {
        auto tighter = tighten(coarse, coarse, *answer.schedule, low, ii);
        here = tighter ? std::move(tighter) : answer.schedule;
        if (improve(real, best, tighten(real, coarse, *here, interval.low, serial_ii(real)),
                    stage_limit)) {
          search.report.state().ii_high = best->initiation_interval;
          search.report.tell();
        }
      } else if (limit == kCoarseConflicts) {
        break;
      }
      limit = kCoarseConflicts;
      ii = here ? here->initiation_interval - 1 : serial_ii(coarse);
    }
  }
}

Interval descend(const Search& search, Interval interval, Cycle stage_limit) {
  while (interval.best->initiation_interval > interval.low) {
    const Cycle ii = interval.best->initiation_interval - 1;
    const Answer answer = ask_complete(search, ii, stage_limit, interval.max_stages);
    if (answer.verdict == SatSolver::Answer::unknown) break;
    if (answer.verdict == SatSolver::Answer::unsat) {
      interval.low = ii + 1;
      break;
    }
    auto tighter = tighten(search.problem, search.problem, *answer.schedule, interval.low, ii);
    if (!improve(search.problem, interval.best, std::move(tighter), stage_limit))
      interval.best = answer.schedule;
    search.report.state().ii_high = interval.best->initiation_interval;
  }
  return interval;
}

Interval ascend(const Search& search, Interval interval, Cycle stage_limit) {
  for (const Cycle last = serial_ii(search.problem); interval.low <= last; ++interval.low) {
    search.report.state().ii_low = interval.low;
    Answer answer = ask_complete(search, interval.low, stage_limit, interval.max_stages);
    if (answer.verdict == SatSolver::Answer::unknown) return interval;
    if (answer.verdict == SatSolver::Answer::sat) {
      interval.best = std::move(answer.schedule);
      return interval;
    }
  }
  interval.none = true;
  return interval;
}

}  // namespace

Interval smallest_interval(const Search& search, Cycle low, Cycle stage_limit) {
  Interval interval;
  interval.low = low;
  search.report.state().ii_low = low;
  search.report.phase("serial");
  const SerialProblem serial = serial_problem(search.problem);
  const Search serial_search{serial.problem, search.choice, search.seed, search.budget,
                             search.report};
  const Answer any = ask_complete(serial_search, serial.ii, stage_limit, interval.max_stages);
  if (any.verdict == SatSolver::Answer::unknown) return interval;
  if (any.verdict == SatSolver::Answer::unsat) {
    interval.none = true;
    return interval;
  }
  if (!monotone_in_ii(search.problem)) {
    search.report.phase("interval");
    return ascend(search, std::move(interval), stage_limit);
  }
  const Cycle last = std::max(low, serial_ii(search.problem));
  improve(search.problem, interval.best,
          tighten(search.problem, serial.problem, *any.schedule, low, last), 0);
  if (!interval.best)
    throw std::logic_error("the orders of a serial schedule do not lift to the problem");
  if (stage_limit > 0 && stage_count(*interval.best) > stage_limit) {
    // Tightening moved an op past the stage limit; the spread-out schedule itself has the stages.
    const auto spread = tighten(search.problem, serial.problem, *any.schedule, last, last);
    if (spread && stage_count(*spread) <= stage_limit && !verify(search.problem, *spread))
      interval.best = spread;
  }
  search.report.state().ii_high = interval.best->initiation_interval;
  search.report.phase("coarse");
  improve_by_coarse(search, interval, stage_limit);
  search.report.phase("interval");
  return descend(search, std::move(interval), stage_limit);
}

Interval only_interval(const Search& search, Cycle ii, Cycle stage_limit) {
  Interval interval;
  interval.low = ii;
  search.report.state().ii_low = ii;
  search.report.phase("interval");
  Answer answer = ask_complete(search, ii, stage_limit, interval.max_stages);
  interval.none = answer.verdict == SatSolver::Answer::unsat;
  interval.best = std::move(answer.schedule);
  return interval;
}

}  // namespace twill
