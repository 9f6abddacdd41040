// What the searches for the smallest initiation interval have in common.
#include "engine/search.hpp"
#include "graph/bounds/next_interval.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/verify.hpp"

namespace twill {

int rotation_pivot(const Problem& problem) {
  if (anchored(problem)) return -1;
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

std::optional<Schedule> tighten_within(const Search& search, const Problem& ordered,
                                       const Schedule& schedule, Cycle low, Cycle high) {
  const auto within = [&](const Schedule& s) {
    return search.stage_limit == 0 || stage_count(s) <= search.stage_limit;
  };
  const auto stop = [&] { return search.budget.spent(); };
  auto best = tighten(search.problem, ordered, schedule, low, high, stop);
  if (!best || within(*best)) return best;
  low = best->initiation_interval + 1;
  best.reset();
  while (low <= high && !stop()) {
    const Cycle middle = low + (high - low) / 2;
    auto next = tighten(search.problem, ordered, schedule, middle, high, stop);
    if (next && within(*next)) {
      high = middle - 1;
      best = std::move(next);
    } else {
      low = middle + 1;
    }
  }
  return best;
}

namespace {

// The next I to ask about: those that arithmetic refutes are passed, but where a refutation of each
// is to be kept.
Cycle next_to_ask(const Search& search, Cycle ii, Cycle last) {
  return search.evidence != nullptr ? ii : next_interval(search.problem, ii, last);
}

}  // namespace

Cycle last_to_ask(const Problem& problem, Cycle low) {
  return std::min(problem.interval.most, std::max(low, serial_ii(problem)));
}

Interval ascend(const Search& search, Interval interval) {
  const Cycle last = last_to_ask(search.problem, interval.low);
  for (;; ++interval.low) {
    interval.low = next_to_ask(search, interval.low, last);
    if (interval.low > last) break;
    search.report.state().ii_low = interval.low;
    Answer answer = search.engine.ask(search, interval.low, interval.max_stages);
    if (answer.verdict == Verdict::unknown) return interval;
    if (answer.verdict == Verdict::sat) {
      interval.best = std::move(answer.schedule);
      return interval;
    }
  }
  interval.none = true;
  return interval;
}

Interval interval_with_pinned_cycles(const Search& search, Interval interval) {
  const Problem& problem = search.problem;
  // Refutes interval.low, or finds a schedule there: false = the search is over.
  const auto ask = [&](Cycle ii) {
    search.report.state().ii_low = interval.low;
    Answer answer = search.engine.ask(search, ii, interval.max_stages);
    if (answer.schedule) interval.best = std::move(answer.schedule);
    return answer.verdict;
  };
  // Without the pins, of which there is one interval at a time, the loop has more schedules: where
  // there are many intervals to ask about, it is asked first.
  constexpr Cycle kMany = 1'000;
  if (latest_pinned_cycle(problem) - interval.low > kMany && search.evidence == nullptr) {
    Problem without = problem;
    std::erase_if(without.pins, [](const Pin& pin) { return pin.kind == Pin::at_cycle; });
    const Interval more = interval_in_range(search.on(without), interval.low);
    if (more.none) {
      interval.none = true;
      return interval;
    }
    interval.low = std::max(interval.low, more.low);
    if (search.budget.spent()) return interval;
  }
  const Cycle latest = std::min(latest_pinned_cycle(problem), problem.interval.most);
  for (; interval.low <= latest; ++interval.low) {
    interval.low = next_to_ask(search, interval.low, latest);
    if (interval.low > latest) break;
    if (ask(interval.low) != Verdict::unsat) return interval;
  }
  const Cycle last = last_to_ask(problem, interval.low);
  interval.none = interval.low > last;
  if (interval.none) return interval;
  if (!single_segments(problem)) return ascend(search, std::move(interval));
  const Cycle bound = interval.low;
  for (Cycle step = 1; !interval.best; step *= 2) {
    const Cycle ii = std::min(last, interval.low + step - 1);
    const Verdict verdict = ask(ii);
    if (verdict == Verdict::unknown) return interval;
    if (verdict == Verdict::sat) break;
    interval.low = ii + 1;
    interval.none = ii == last;
    if (interval.none) interval.low = bound;
    if (interval.none) return interval;
  }
  for (;;) {
    const Cycle found = interval.best->initiation_interval;
    improve(problem, interval.best,
            tighten_within(search, problem, *interval.best, interval.low, found),
            search.stage_limit);
    const Cycle ii = interval.best->initiation_interval - 1;
    search.report.state().ii_high = ii + 1;
    if (ii < interval.low) return interval;
    const Verdict verdict = ask(ii);
    if (verdict == Verdict::unknown) return interval;
    if (verdict == Verdict::unsat) {
      interval.low = ii + 1;
      return interval;
    }
  }
}

Interval interval_with_inner_loops(const Search& search, Interval interval) {
  // Large I are alike (graph/bounds/serial.cpp, claim 4), small ones each their own: one of the
  // large ones gives a first schedule, or says that there is none at any of them.
  search.report.phase("interval");
  const Cycle last = last_to_ask(search.problem, interval.low);
  std::optional<Schedule> far;
  if (interval.low < last) far = search.engine.ask(search, last, interval.max_stages).schedule;
  interval = ascend(search, std::move(interval));
  if (!interval.best && !interval.none) interval.best = std::move(far);
  return interval;
}

Interval interval_in_range(const Search& search, Cycle low) {
  const Problem& problem = search.problem;
  const Cycle most = problem.interval.most;
  // What is not monotone is asked one by one anyway, to the end of the range.
  if (most == kMaxInterval || !monotone_in_ii(problem))
    return search.engine.smallest_interval(search, low);
  Problem open = problem;
  open.interval = {};
  Search all = search.on(open);
  all.evidence = search.evidence;
  Interval end;
  if (most < serial_ii(open)) {
    end = only_interval(all, most);
    if (end.none) {
      end.low = most + 1;
      return end;
    }
  }
  Interval interval = search.engine.smallest_interval(all, low);
  interval.max_stages = std::max(interval.max_stages, end.max_stages);
  interval.none = interval.none || interval.low > most;
  if (interval.best && interval.best->initiation_interval > most) interval.best.reset();
  if (!interval.best && !interval.none) interval.best = std::move(end.best);
  return interval;
}

std::optional<Schedule> serial_schedule(const Search& search, const SerialProblem& serial,
                                        Interval& interval) {
  Search inner = search.on(serial.problem);
  inner.evidence = search.evidence;
  inner.about = About::serial;
  search.report.phase("serial");
  Answer answer = search.engine.ask(inner, serial.ii, interval.max_stages);
  interval.none = answer.verdict == Verdict::unsat;
  return std::move(answer.schedule);
}

bool any_schedule(const Search& search) {
  Interval interval;
  serial_schedule(search, serial_problem(search.problem), interval);
  return !interval.none;
}

Interval only_interval(const Search& search, Cycle ii) {
  Interval interval;
  interval.low = ii;
  search.report.state().ii_low = ii;
  search.report.phase("interval");
  Answer answer = search.engine.ask(search, ii, interval.max_stages);
  interval.none = answer.verdict == Verdict::unsat;
  interval.best = std::move(answer.schedule);
  return interval;
}

}  // namespace twill
