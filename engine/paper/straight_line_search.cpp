// Algorithm 1 of Soi et al. 2025 on the straight-line form: I upward, and at each I a new formula
// for every L that is tried.
//
// Corrected form: exact, and feasibility grows with L, so the largest L decides an I; the smallest
// follows by bisection. "No schedule at any I" is decided first, on the serial problem
// (graph/bounds/serial.hpp); in the paper's window, where an I may fail that a larger one does not
// make up for, by the refutation at serial_ii: there the window has one stage, and a one-stage
// schedule that exists at any I exists at that one too.
//
// Literal form: I upward from the bounds of rules 1, 2 and 9 (below them Algorithm 1 only skips;
// the other bounds do not hold for this formula), and L upward by one from LEN(M), as printed,
// because nothing is monotone there. A model is a schedule only if verify() accepts it; otherwise
// the search ends as Algorithm 1 would, with what was accepted and why it is wrong in `conflict`,
// and status unknown. The formula is unsound in both directions, so its refutations prove nothing:
// the bounds of the solution are those that are proved without it (arithmetic bound on I, LEN(M)),
// the status is optimal only where they are met, else feasible, and when no formula up to serial_ii
// has a model it is unknown.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "encoders/straight_line/straight_line.hpp"
#include "engine/options.hpp"
#include "engine/paper/modulo_length.hpp"
#include "engine/search.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/bounds/channel_bounds.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "graph/loop.hpp"
#include "graph/verify.hpp"

namespace twill {
namespace {

constexpr double kMaxVariables = 1e8;  // beyond, the form is hopeless and memory the only limit

std::string place(Cycle ii, Cycle length) {
  return "I = " + std::to_string(ii) + ", L = " + std::to_string(length);
}

// Rules 1, 2 and 9 have no schedule below.
Cycle modulo_low(const Problem& problem) {
  Cycle low = least_by_channels(problem);
  for (const Bound& bound : res_mii(problem)) low = std::max(low, bound.value);
  if (const auto recurrence = rec_mii(problem, false)) low = std::max(low, recurrence->value);
  return low;
}

// The lengths that are tried at one I.
struct Lengths {
  Verdict verdict = Verdict::sat;  // unsat: none can be right; unknown: stopped while finding out
  Cycle low = 0, high = 0;         // none below `low` is a valid schedule's, and that is proved
  Cycle len = 1;                   // max(LEN(M), 1), where it was asked for
  Cycle start_stages = 0;          // starts lie in that many stages; 0 = any
};

class StraightLineSearch {
 public:
  StraightLineSearch(const Search& search, const Options& options)
      : search_(search),
        options_(options),
        literal_(search.choice.form == Form::straight_line_literal),
        paper_(stages_of(options).kind == StageChoice::paper),
        limit_(stages_of(options).most) {}

  Solution run(Cycle low);

 private:
  Lengths lengths(const Problem& problem, Cycle ii);
  Answer ask(const Problem& problem, Cycle ii, Cycle length, Cycle stages);
  LengthResult shortest(Cycle ii, const Lengths& lengths);
  /// Continue with the next I?
  bool corrected_at(Cycle ii, const Lengths& lengths, Solution& solution);
  bool literal_at(Cycle ii, const Lengths& lengths, Cycle low, Solution& solution);
  /// unsat = no schedule at any I.
  Verdict any(Solution& solution);
  Solution nothing(Solution solution, Cycle last);

  const Search& search_;
  const Options& options_;
  const bool literal_, paper_;
  const Cycle limit_;
  std::string too_large_;  // the question that was not asked
};

Lengths StraightLineSearch::lengths(const Problem& problem, Cycle ii) {
  Lengths result;
  if (paper_ || literal_) {
    search_.report.phase("modulo schedule");
    const LengthResult modulo = modulo_length(search_, options_, ii);
    result.verdict = modulo.verdict;
    if (modulo.verdict != Verdict::sat) return result;
    result.low = modulo.best->length;
    result.len = std::max<Cycle>(modulo.best->length, 1);
  }
  // The longest path of dependences with the spills that every schedule pays.
  const auto earliest = earliest_starts(problem, ii, forced_delays(problem));
  if (earliest)
    result.low = std::max(result.low, schedule_length(problem, *earliest));
  else if (!literal_)
    result.verdict = Verdict::unsat;
  if (result.verdict == Verdict::unsat) return result;
  if (paper_) {
    result.high = (result.len + ii - 1) / ii * ii;
    return result;
  }
  if (literal_ && limit_ > 0) {
    result.high = limit_ * ii;
    return result;
  }
  Cycle longest = 1;  // an op that starts in the last stage may end behind it
  for (const Op& op : problem.ops) longest = std::max(longest, op.cycles);
  result.start_stages = stage_bound(problem, ii);
  if (limit_ > 0) result.start_stages = std::min(result.start_stages, limit_);
  result.high = result.start_stages * ii - 1 + longest;
  return result;
}

Answer StraightLineSearch::ask(const Problem& problem, Cycle ii, Cycle length, Cycle stages) {
  StraightLineRequest request;
  request.ii = ii;
  request.length = length;
  request.literal = literal_;
  request.stages = literal_ ? 0 : stages;
  const double variables = straight_line_variables(problem, request);
  if (variables > kMaxVariables) {
    too_large_ = "the straight-line program at " + place(ii, length) + " needs more than " +
                 std::to_string(static_cast<std::int64_t>(kMaxVariables)) +
                 " variables: normalise the costs or use form=modulo";
    return {};
  }
  Answer answer;
  search_.budget.complete([&] {
    SatSolver solver(search_.budget, search_.seed);
    Formula formula(solver);
    const StraightLineEncoding encoding =
        encode_straight_line(formula, problem, request, search_.choice);
    search_.report.formula(formula);
    answer.verdict = solver.solve();
    search_.report.tell();
    if (answer.verdict == Verdict::sat)
      answer.schedule = encoding.decode(problem, [&](Lit l) { return solver.value(l); });
  });
  return answer;
}

LengthResult StraightLineSearch::shortest(Cycle ii, const Lengths& lengths) {
  LengthResult result{Verdict::unknown, std::nullopt, lengths.low};
  Cycle high = lengths.high;
  Cycle length = high;
  while (result.low <= high) {
    Answer answer = ask(search_.problem, ii, length, lengths.start_stages);
    if (answer.verdict == Verdict::unknown) return result;
    if (answer.verdict == Verdict::unsat) {
      result.low = length + 1;
    } else {
      if (const auto violation = verify(search_.problem, *answer.schedule))
        throw std::logic_error("the corrected straight-line formula has a model at " +
                               place(ii, length) + " that verify() refuses: " + violation->text);
      high = answer.schedule->length - 1;
      result.best = std::move(answer.schedule);
      search_.report.state().ii_high = ii;
      search_.report.state().length_high = high + 1;
      search_.report.phase("length");
    }
    length = result.low + (high - result.low) / 2;
  }
  result.verdict = result.best ? Verdict::sat : Verdict::unsat;
  return result;
}

bool StraightLineSearch::corrected_at(Cycle ii, const Lengths& lengths, Solution& solution) {
  LengthResult found = shortest(ii, lengths);
  if (found.verdict == Verdict::unsat) return true;
  if (found.best) {
    solution.length_lower_bound = found.low;
    solution.status = found.verdict == Verdict::sat ? Status::optimal : Status::feasible;
    solution.schedule = std::move(found.best);
  }
  return false;
}

bool StraightLineSearch::literal_at(Cycle ii, const Lengths& lengths, Cycle low,
                                    Solution& solution) {
  for (Cycle length = lengths.len; length <= lengths.high; ++length) {
    Answer answer = ask(search_.problem, ii, length, 0);
    if (answer.verdict == Verdict::unknown) return false;
    if (answer.verdict == Verdict::unsat) continue;
    if (const auto violation = verify(search_.problem, *answer.schedule)) {
      set_reasons(solution,
                  {{Reason::formula, "accepted by the paper's formula at " + place(ii, length) +
                                         ", refused by the verifier: " + violation->text}});
      return false;
    }
    solution.length_lower_bound = lengths.low;  // proved without the formula
    const bool smallest = (options_.ii || ii == low) && answer.schedule->length == lengths.low;
    solution.status = smallest ? Status::optimal : Status::feasible;
    solution.schedule = std::move(answer.schedule);
    return false;
  }
  return true;
}

Verdict StraightLineSearch::any(Solution& solution) {
  search_.report.phase("serial");
  const SerialProblem serial = serial_problem(search_.problem);
  const Lengths tried = lengths(serial.problem, serial.ii);
  if (tried.verdict != Verdict::sat) return tried.verdict;
  const Answer answer = ask(serial.problem, serial.ii, tried.high, tried.start_stages);
  solution.max_stages = std::max(solution.max_stages, tried.start_stages);
  return answer.verdict;
}

Solution StraightLineSearch::nothing(Solution solution, Cycle last) {
  const std::string where = options_.ii ? "initiation interval " + std::to_string(*options_.ii)
                                        : "any initiation interval up to " + std::to_string(last);
  if (literal_) {
    set_reasons(solution,
                {{Reason::formula, "the paper's formula has no model at " + where +
                                       "; it also refuses loops that run, so this is no proof"}});
    return solution;
  }
  solution.status = Status::infeasible;
  if (!options_.ii) set_reasons(solution, explain_infeasible(search_));
  if (!solution.reasons.empty()) return solution;
  if (!paper_)
    set_reasons(solution, {{Reason::interval, "no schedule has " + where}});
  else if (options_.ii)
    set_reasons(solution, {{Reason::window, "no schedule in the paper's window at " + where}});
  else
    set_reasons(
        solution,
        {{Reason::window,
          "no schedule in the paper's window at any initiation interval; deeper pipelines exist"}});
  return solution;
}

Solution StraightLineSearch::run(Cycle low) {
  Solution solution;
  solution.ii_lower_bound = options_.ii.value_or(low);
  if (!literal_ && !paper_ && !options_.ii) {
    const Verdict some = any(solution);
    if (some == Verdict::unsat) return nothing(std::move(solution), serial_ii(search_.problem));
    if (some == Verdict::unknown && too_large_.empty()) return solution;
    too_large_.clear();  // the serial problem may be too large where the smallest I is not
  }
  const Cycle last = options_.ii.value_or(std::max(low, serial_ii(search_.problem)));
  const Cycle first = options_.ii.value_or(literal_ ? modulo_low(search_.problem) : low);
  for (Cycle ii = first; ii <= last; ++ii) {
    if (search_.budget.spent()) return solution;
    search_.report.state().ii_low = ii;
    if (!literal_) solution.ii_lower_bound = ii;
    const Lengths tried = lengths(search_.problem, ii);
    if (tried.verdict == Verdict::unknown) return solution;
    if (tried.verdict == Verdict::unsat) continue;
    solution.max_stages =
        std::max(solution.max_stages,
                 tried.start_stages > 0 ? tried.start_stages : (tried.high + ii - 1) / ii);
    search_.report.phase("interval");
    const bool next =
        literal_ ? literal_at(ii, tried, low, solution) : corrected_at(ii, tried, solution);
    if (next) continue;
    if (!too_large_.empty()) set_reasons(solution, {{Reason::too_large, too_large_}});
    return solution;
  }
  return nothing(std::move(solution), last);
}

}  // namespace

Solution search_straight_line(const Search& search, const Options& options, Cycle low) {
  return StraightLineSearch(search, options).run(low);
}

}  // namespace twill
