// Algorithm 1 of Soi et al. 2025 on the modulo form: at each I, upward, the smallest length of a
// schedule under rules 1 and 2 alone, LEN(M), fixes the number of stages; only lengths with
// ceil(L / I) = ceil(LEN(M) / I) are tried. An I can be rejected that a deeper pipeline reaches,
// and nothing is monotone here, so every I on the way is refuted.
#include "engine/paper/modulo_length.hpp"
#include "engine/search.hpp"
#include "graph/bounds/serial.hpp"

namespace twill {

Solution search_paper(const Search& search, const Options& options, Cycle low) {
  Solution solution;
  if (!options.ii && !any_schedule(search)) {
    solution.status = Status::infeasible;
    set_reasons(solution, explain_infeasible(search));
    return solution;
  }
  // A schedule within one stage that exists at any I exists at serial_ii, where the window is one
  // stage: a refutation there is final (graph/bounds/serial.cpp, claim 1 keeps the stages).
  const Cycle last = std::max(low, serial_ii(search.problem));
  for (Cycle ii = options.ii.value_or(low); ii <= options.ii.value_or(last); ++ii) {
    solution.ii_lower_bound = ii;
    search.report.state().ii_low = ii;
    search.report.phase("modulo schedule");
    const LengthResult modulo = modulo_length(search, options, ii);
    if (modulo.verdict == Verdict::unknown) return solution;
    if (modulo.verdict == Verdict::unsat) continue;
    const Cycle length = std::max<Cycle>(modulo.best->length, 1);
    const Cycle stages = (length + ii - 1) / ii;
    solution.max_stages = stages;
    search.report.phase("window");
    const LengthResult joint = search.engine.shortest_within(search, ii, length, stages * ii, {});
    if (joint.best) {
      solution.schedule = joint.best;
      solution.length_lower_bound = joint.low;
      solution.status = joint.verdict == Verdict::sat ? Status::optimal : Status::feasible;
      return solution;
    }
    if (joint.verdict == Verdict::unknown) return solution;
  }
  solution.status = Status::infeasible;
  set_reasons(solution,
              {{Reason::window, options.ii ? "no schedule in the paper's window at initiation "
                                             "interval " +
                                                 std::to_string(*options.ii)
                                           : std::string("no schedule in the paper's window at any "
                                                         "initiation interval; deeper pipelines "
                                                         "exist")}});
  return solution;
}

}  // namespace twill
