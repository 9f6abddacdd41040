// The smallest length at a given initiation interval by the time-indexed form: one formula, one
// incremental solver, lengths by assumption; every answer is tightened by its orders before the
// next question.
#include <stdexcept>

#include "engine/time_indexed/coarse.hpp"
#include "engine/time_indexed/time_indexed.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/tighten.hpp"
#include "graph/loop.hpp"
#include "graph/verify.hpp"

namespace twill::time_indexed {
LengthResult shortest_within(const Search& search, Cycle ii, Cycle low, Cycle high,
                             std::int64_t limit,
                             const std::function<void(const Schedule&)>& found) {
  LengthResult result{Verdict::unknown, std::nullopt, low};
  const bool complete = search.budget.complete([&] {
    for (int detail = limit == 0 ? kWithoutLifetimes : 0;; ++detail) {
      if (high < low) break;
      SatSolver solver(search.budget, search.seed);
      Proving proving(search, solver);
      Formula formula(solver);
      ModuloRequest request = request_of(search, ii, stages_within(search, ii, high), detail);
      request.length_low = low;
      request.length_high = high;
      const bool quick = detail == kWithoutLifetimes;
      const ModuloEncoding encoding =
          encode_modulo(formula, search.problem, request, search.choice);
      search.report.formula(formula);
      bool more_detail = false;
      while (high >= low && !more_detail) {
        const Lit short_enough = encoding.at_most_length(high);
        const Verdict verdict = solver.solve({&short_enough, 1}, quick ? kQuickConflicts : limit);
        search.report.tell();
        if (verdict == Verdict::unknown) {
          if (!quick || search.budget.spent()) throw Budget::Spent{};
          more_detail = true;
          break;
        }
        if (verdict == Verdict::unsat) {
          proving.keep(request, high);
          low = high + 1;
          break;
        }
        const Schedule next =
            encoding.decode(search.problem, [&](Lit l) { return solver.value(l); });
        if (const auto violation = verify(search.problem, next)) {
          if (!quick && !encoding.relaxed)
            throw std::logic_error("the exact formula has a model that verify() refuses: " +
                                   violation->text);
          more_detail = true;
          break;
        }
        result.best = shortened(search, next);
        high = result.best->length - 1;
        if (found) found(*result.best);
      }
    }
  });
  if (!complete) return result;
  // Nothing at `high` or below: whatever was found is the shortest.
  result.low = result.best ? result.best->length : low;
  result.verdict = result.best ? Verdict::sat : Verdict::unsat;
  return result;
}

// Shortens coarse copies of the loop at the interval that best's orders have there; every schedule
// on the way, lifted to the real cycles at best's own interval, is a candidate.
void shorten_by_coarse(const Search& search, Schedule& best, Cycle low) {
  const Problem& real = search.problem;
  const Cycle ii = best.initiation_interval;
  const auto stop = [&] { return search.budget.spent(); };
  for (const Cycle rows : {32, 64}) {
    const Cycle grain = ii / rows;
    if (grain < 2 || best.length == low || !monotone_in_ii(real)) return;
    const Problem coarse = coarsened(real, grain);
    const auto here = tighten(coarse, real, best, 1, serial_ii(coarse), stop);
    if (!here) continue;
    const auto starts = earliest_starts(coarse, here->initiation_interval, forced_delays(coarse));
    if (!starts) continue;
    const Search inner = search.on(coarse);
    shortest_within(inner, here->initiation_interval, schedule_length(coarse, *starts),
                    here->length - 1, kCoarseConflicts, [&](const Schedule& model) {
                      const auto lifted = tighten(real, coarse, model, ii, ii, stop);
                      if (!lifted || lifted->length >= best.length || verify(real, *lifted) ||
                          (search.stage_limit > 0 && stage_count(*lifted) > search.stage_limit))
                        return;
                      best = *lifted;
                      search.report.state().length_high = best.length;
                      search.report.tell();
                    });
  }
}

}  // namespace twill::time_indexed
