// Rule 8, concurrency: at the issue of an op that waits, no other op is executing on its slot (Soi
// et al. 2025, Figure 6, CONCURRENCY, and Section 4.3, "a similar constraint for cross-warp
// spills"). An op waits if an incoming edge is blocking or hands a register result over from
// another slot. Ops on the variable-latency slot are exempt.
//
// Instead of one clause per pair of ops and pair of cycles: per slot and residue a ladder over the
// ops that execute there. Variables: waits[v] (only where it is not constant), waits[v] and
// slot[v][w]; per slot and residue: o executes on w at s (a product), the ladder's prefixes "one of
// the first i ops executes", and "an op with cycles > 0 waits here", "a zero-cycle op waits here".
// A waiting op with cycles > 0 executes itself, so at its issue at most one op may execute; at a
// zero-cycle one's, none. Clauses: 4 per op, slot and residue, and one per possible waiter, slot
// and residue. Unit propagation: once slots and the waiter's row are known, every clash is found.
#include "encoders/time_indexed/modulo.hpp"

namespace twill {
namespace {

// Op `issued` is not issued while `executing` executes, where both literals are true: I clauses and
// no variables but those of residues().
void not_issued_in(ModuloModel& m, int issued, int executing, Lit a, Lit b) {
  const std::vector<Lit>& covered =
      m.residues(executing, 0, m.problem.ops[static_cast<std::size_t>(executing)].cycles);
  for (Cycle s = 0; s < m.starts.ii(); ++s)
    m.f.clause({~a, ~b, ~covered[static_cast<std::size_t>(s)], ~m.starts.row_at_least(issued, s),
                m.starts.row_at_least(issued, s + 1)});
}

}  // namespace

void encode_concurrency(ModuloModel& m) {
  const Problem& p = m.problem;
  const Cycle ii = m.starts.ii();
  const int ops = static_cast<int>(p.ops.size());
  const std::vector<Lit> waits = encode_waits(m);
  encode_inner_loops_alone(m, ii, [&](int issued, int executing, Lit a, Lit b) {
    not_issued_in(m, issued, executing, a, b);
  });
  for (int w = 0; w < static_cast<int>(p.warps.size()); ++w) {
    if (p.warps[static_cast<std::size_t>(w)].variable_latency) continue;
    const auto group = m.groups.open("waits on " + p.warps[static_cast<std::size_t>(w)].name);
    std::vector<std::pair<int, Lit>> waiters;  // op, waits here
    std::vector<int> executing;
    for (int v = 0; v < ops; ++v) {
      if (m.on(v, w).is_false()) continue;
      const Lit here = m.f.implied_by_both(waits[static_cast<std::size_t>(v)], m.on(v, w));
      if (!here.is_false()) waiters.emplace_back(v, here);
      if (p.ops[static_cast<std::size_t>(v)].cycles > 0) executing.push_back(v);
    }
    if (waiters.empty() || executing.empty()) continue;
    for (Cycle s = 0; s < ii; ++s) {
      Lit busy_waiter = kFalseLit, idle_waiter = kFalseLit;
      for (const auto& [v, here] : waiters) {
        Lit& waiter = p.ops[static_cast<std::size_t>(v)].cycles > 0 ? busy_waiter : idle_waiter;
        if (waiter.is_false()) waiter = m.f.fresh();
        m.f.clause({~here, ~m.starts.row_at_least(v, s), m.starts.row_at_least(v, s + 1), waiter});
      }
      Lit one = kFalseLit;  // one of the ops so far executes
      for (const int o : executing) {
        const std::vector<Lit>& covered =
            m.residues(o, 0, p.ops[static_cast<std::size_t>(o)].cycles);
        const Lit executes = m.f.implied_by_both(covered[static_cast<std::size_t>(s)], m.on(o, w));
        m.f.clause({~busy_waiter, ~one, ~executes});
        const Lit up_to_here = m.f.fresh();
        m.f.implies(executes, up_to_here);
        m.f.implies(one, up_to_here);
        one = up_to_here;
      }
      m.f.clause({~idle_waiter, ~one});
    }
  }
}

}  // namespace twill
