// Why a loop has no smaller interval on a layout, with the register split still to choose.
#include <utility>

#include "engine/decide.hpp"
#include "engine/include/twill_explain.hpp"

namespace twill {
namespace {

/// What is to be explained of a layout with a pool: the problem in which every slot has the most of
/// any split, if that refutes the interval, which then holds for all splits; else the one with the
/// best split, whose counts then are part of the reason. Returns the interval.
std::optional<Cycle> choose_split(const Lowered& lowered, std::optional<Cycle> ii,
                                  const Options& options, const std::stop_token& stop,
                                  LayoutExplanation& explained) {
  SplitSolution split = solve_split(lowered.problem, *lowered.pool, options, stop);
  explained.solution = std::move(split.solution);
  if (!ii) ii = interval_to_explain(explained.solution);
  if (!ii) return ii;
  const bool any = *ii == 0;
  const bool none =
      any ? solve(lowered.problem, options, stop).status == Status::infeasible
          : decide_interval(lowered.problem, *ii, options, stop).verdict == Verdict::unsat;
  if (none) {
    explained.split = LayoutExplanation::every;
    return ii;
  }
  // Each slot alone could have enough: the solution says that together they cannot.
  if (any) return std::nullopt;
  explained.problem = std::move(split.problem);
  explained.split = LayoutExplanation::best;
  return ii;
}

}  // namespace

LayoutExplanation explain_layout(const Lowered& lowered, std::optional<Cycle> ii,
                                 const Options& options, const std::stop_token& stop) {
  LayoutExplanation explained;
  explained.problem = lowered.problem;
  Options best_of = options;
  best_of.evidence = best_of.explain = false;
  if (lowered.pool) {
    ii = choose_split(lowered, ii, best_of, stop, explained);
  } else if (!ii) {
    explained.solution = solve(lowered.problem, best_of, stop);
    ii = interval_to_explain(explained.solution);
  }
  if (ii) explained.explanation = explain_interval(explained.problem, *ii, options, stop);
  return explained;
}

}  // namespace twill
