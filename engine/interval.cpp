// What the searches for the smallest initiation interval have in common.
#include "engine/search.hpp"
#include "graph/serial.hpp"
#include "graph/tighten.hpp"
#include "graph/verify.hpp"

namespace twill {

int rotation_pivot(const Problem& problem) {
  int pivot = 0;
  Cycle longest = -1;
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
    for (const Reservation& r : problem.ops[static_cast<std::size_t>(v)].reservations)
      if (r.length > longest) {
        longest = r.length;
        pivot = v;
      }
  return pivot;
}

bool improve(const Problem& problem, std::optional<Schedule>& best, std::optional<Schedule> next,
             Cycle stage_limit) {
  if (!next || (best && best->initiation_interval <= next->initiation_interval)) return false;
  if (stage_limit > 0 && stage_count(*next) > stage_limit) return false;
  if (verify(problem, *next)) return false;
  best = std::move(next);
  return true;
}

Interval ascend(const Search& search, Interval interval, Cycle stage_limit) {
  for (const Cycle last = serial_ii(search.problem); interval.low <= last; ++interval.low) {
    search.report.state().ii_low = interval.low;
    Answer answer = search.engine.ask(search, interval.low, stage_limit, interval.max_stages);
    if (answer.verdict == SatSolver::Answer::unknown) return interval;
    if (answer.verdict == SatSolver::Answer::sat) {
      interval.best = std::move(answer.schedule);
      return interval;
    }
  }
  interval.none = true;
  return interval;
}

std::optional<Schedule> serial_schedule(const Search& search, const SerialProblem& serial,
                                        Cycle stage_limit, Interval& interval) {
  Search inner = search.on(serial.problem);
  inner.evidence = search.evidence;
  inner.serial = true;
  search.report.phase("serial");
  Answer answer = search.engine.ask(inner, serial.ii, stage_limit, interval.max_stages);
  interval.none = answer.verdict == SatSolver::Answer::unsat;
  return std::move(answer.schedule);
}

bool any_schedule(const Search& search) {
  Interval interval;
  serial_schedule(search, serial_problem(search.problem), 0, interval);
  return !interval.none;
}

Interval only_interval(const Search& search, Cycle ii, Cycle stage_limit) {
  Interval interval;
  interval.low = ii;
  search.report.state().ii_low = ii;
  search.report.phase("interval");
  Answer answer = search.engine.ask(search, ii, stage_limit, interval.max_stages);
  interval.none = answer.verdict == SatSolver::Answer::unsat;
  interval.best = std::move(answer.schedule);
  return interval;
}

}  // namespace twill
