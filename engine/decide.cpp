#include "engine/decide.hpp"

#include <stdexcept>

#include "encoders/straight_line/straight_line.hpp"
#include "engine/options.hpp"
#include "engine/search.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/channel_bounds.hpp"
#include "graph/loop.hpp"

namespace twill {
namespace {

/// Is the question refuted by arithmetic: a bound on I, or the longest path of
/// dependences on L?
bool refuted(const Problem& problem, Cycle ii, Cycle length) {
  if (ii < lower_bounds(problem).front().value) return true;
  const auto earliest = earliest_starts(problem, ii, forced_delays(problem));
  return !earliest || schedule_length(problem, *earliest) > length;
}

/// The program of the paper as CNF.
Verdict ask_straight_line(const Search& search, Cycle ii, Cycle length, std::int64_t limit) {
  StraightLineRequest request;
  request.ii = ii;
  request.length = length;
  request.literal = search.choice.form == Form::straight_line_literal;
  Verdict verdict = Verdict::unknown;
  search.budget.complete([&] {
    SatSolver solver(search.budget, search.seed);
    Formula formula(solver);
    const StraightLineEncoding encoding =
        encode_straight_line(formula, search.problem, request, search.choice);
    search.report.formula(formula);
    verdict = solver.solve({}, limit);
    if (verdict == Verdict::sat && !request.literal) {
      const Schedule schedule =
          encoding.decode(search.problem, [&](Lit l) { return solver.value(l); });
      if (const auto violation = verify(search.problem, schedule)) {
        throw std::logic_error("the exact formula has a model that verify() refuses: " +
                               violation->text);
      }
    }
  });
  return verdict;
}

}  // namespace

Decided decide(const Problem& problem, Cycle ii, Cycle length, const Options& options,
               const std::stop_token& stop) {
  const EncodingChoice choice = parse_encoding(options.encoding);
  Budget budget(stop, options.time_limit, options.conflict_limit, options.memory_limit);
  const ProgressCallback silent;
  Reporter report(silent, budget);
  const Search search{problem, choice, options.seed,
                      budget,  report, chosen_engine(problem, options, choice)};
  Decided decided;
  const bool modulo = choice.form == Form::modulo;  // no straight-line form has rule 9
  if (modulo ? refuted(problem, ii, length) : ii < least_by_channels(problem)) {
    decided.verdict = Verdict::unsat;
    decided.by_bounds = true;
  } else if (!modulo) {
    decided.verdict = ask_straight_line(search, ii, length, options.conflict_limit);
  } else {
    // Nothing shorter is asked for: one question, at this length.
    const LengthResult answer = search.engine.shortest_within(search, ii, length, length, {});
    decided.verdict = answer.best ? Verdict::sat : answer.verdict;
    decided.schedule = answer.best;
  }
  decided.variables = report.largest_variables();
  decided.clauses = report.largest_clauses();
  decided.conflicts = budget.conflicts();
  decided.seconds = budget.elapsed();
  return decided;
}

}  // namespace twill
