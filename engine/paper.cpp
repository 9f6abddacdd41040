// Algorithm 1 of Soi et al. 2025 on the modulo form: at each I, upward, the smallest length of a
// schedule under rules 1 and 2 alone, LEN(M), fixes the number of stages; only lengths with
// ceil(L / I) = ceil(LEN(M) / I) are tried. An I can be rejected that a deeper pipeline reaches, and
// nothing is monotone here, so every I on the way is refuted.
#include "engine/search.hpp"
#include "graph/modulo_schedule.hpp"
#include "graph/serial.hpp"

namespace twill {
namespace {

constexpr std::int64_t kNodes = 20'000;  // branch and bound nodes before the solver takes over

// The loop under rules 1 and 2 alone: one slot that holds everything, no liveness, no waits.
Problem without_warps(const Problem& problem) {
  Problem p = problem;
  p.memories.clear();
  p.warps = {{"any", 1, 0, false}};
  for (Op& op : p.ops) {
    op.registers = op.spill = 0;
    op.footprints.clear();
    op.width = 1;
    op.variable_latency = op.streaming = false;
  }
  for (Edge& e : p.edges) {
    e.blocking = false;
    e.hold = 0;
  }
  return p;
}

// LEN(M) at I: proved, or absent (no schedule), or unknown (stopped).
Shortest modulo_length(const Search& search, const Options& options, Cycle ii) {
  ModuloScheduleOptions limits;
  limits.threads = options.threads;
  limits.node_limit = kNodes;
  limits.stop = search.budget.stop_token();
  const ModuloSchedule found = optimal_modulo_schedule(search.problem, ii, limits);
  Shortest result{SatSolver::Answer::unsat, std::nullopt, found.length_lower_bound};
  if (found.start)
    result.best = Schedule{ii, found.length, *found.start,
                           std::vector<int>(search.problem.ops.size(), 0)};
  if (found.proved) {
    if (result.best) result.verdict = SatSolver::Answer::sat;
    return result;
  }
  const Cycle high = result.best ? found.length - 1 : serial_ii(search.problem);
  Shortest rest = shortest_within(search, ii, found.length_lower_bound, high, 0);
  if (rest.verdict == SatSolver::Answer::unsat && result.best) {
    result.verdict = SatSolver::Answer::sat;  // nothing shorter than what the branch and bound has
    return result;
  }
  return rest;
}

}  // namespace

Solution search_paper(const Search& search, const Options& options, Cycle low) {
  Solution solution;
  const Problem bare = without_warps(search.problem);
  const Search bare_search{bare, search.choice, search.seed, search.budget, search.report};
  // A schedule within one stage that exists at any I exists at serial_ii, where the window is one
  // stage: a refutation there is final (graph/serial.cpp, claim 1 keeps the stages).
  const Cycle last = std::max(low, serial_ii(search.problem));
  for (Cycle ii = options.ii.value_or(low); ii <= options.ii.value_or(last); ++ii) {
    solution.ii_lower_bound = ii;
    search.report.state().ii_low = ii;
    search.report.phase("modulo schedule");
    const Shortest modulo = modulo_length(bare_search, options, ii);
    if (modulo.verdict == SatSolver::Answer::unknown) return solution;
    if (modulo.verdict == SatSolver::Answer::unsat) continue;
    const Cycle length = std::max<Cycle>(modulo.best->length, 1);
    const Cycle stages = (length + ii - 1) / ii;
    solution.max_stages = stages;
    search.report.phase("window");
    const Shortest joint = shortest_within(search, ii, length, stages * ii, 0);
    if (joint.best) {
      solution.schedule = joint.best;
      solution.length_lower_bound = joint.low;
      solution.status = joint.verdict == SatSolver::Answer::sat ? Status::optimal : Status::feasible;
      return solution;
    }
    if (joint.verdict == SatSolver::Answer::unknown) return solution;
  }
  solution.status = Status::infeasible;
  solution.conflict = explain_infeasible(search, 0);
  if (solution.conflict.empty())
    solution.conflict = {options.ii ? "no schedule in the paper's window at initiation interval " +
                                          std::to_string(*options.ii)
                                    : std::string("no schedule in the paper's window at any "
                                                  "initiation interval; deeper pipelines exist")};
  return solution;
}

}  // namespace twill
