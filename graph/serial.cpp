// Claim 1. If a problem has a schedule at some I0, it has one with the same slots and stages at
// every I >= n G, where G is at least every cycles(v), delay + spill, hold and reservation end,
// and 1.
//
// Proof. Let p be the position of row(v) = M(v) mod I0 among the distinct rows of the schedule, set
// row'(v) = p G and keep stage and slot, at I >= n G. Ops of equal rows stay at equal rows; ops of
// different rows are at least G apart, around the end of the period too.
//  Dependence: let k = stage(v) - stage(u) + distance. From k I0 + row(v) - row(u) >= delay + spill
//  >= 0 follows k >= 0. If k = 0, either row(v) > row(u), and then row' is G apart, or the rows are
//  equal and delay + spill = 0. If k >= 1, k I + row'(v) - row'(u) >= I - (n - 1) G >= G.
//  Capacity: ops that start together use the units together exactly as before, where they met no
//  fewer others; ops that do not are G apart and never meet.
//  Liveness: a value's copies at residue s in [p G, (p + 1) G) number at most those at the old
//  residue of position p: "row'(u) > s" holds if and only if row(u) lies behind position p, and
//  "row'(v) + hold > s" holds only if row(v) lies behind p, or at p with hold > s - p G >= 0, which
//  both held at the old residue. So memories and registers hold no more.
//  Concurrency: o executes at v's issue only if they start together (cycles(o) <= G), which the old
//  schedule excluded.
//
// Claim 2. Whether the premise holds depends on which numbers are positive only, as long as
// reservations are one segment from the op's issue: Claim 1's construction used nothing else, and
// applied to a schedule of the problem with 1 for every positive number it gives a schedule of the
// original one. With several segments or offsets, ops that start together may still meet on a
// unit, so their shape is kept, and with it the cycles.
//
// Pins. Those that name slots hold as before, and an op that is pinned to cycle 0 keeps row 0 and
// stage 0. Let C > 0 be the latest pinned cycle. Claim 3: if there is a schedule at some I0 > C,
// there is one at every I >= C + (n + 1) G. Proof. Rows up to C stay, as do the pinned ops; the
// p-th distinct row above C becomes C + p G. Ops of equal rows stay at equal rows, an op above C is
// at least G behind every row before it, and from the last row on G cycles are left in the period.
// So the cases of Claim 1 hold where one of the two ops is above C. Between ops at rows up to C all
// distances are as before, and nothing reaches around the end of the period; a dependence with
// k >= 1 has I - C >= G. The copies live at a residue up to C are those of before (or fewer: none
// reaches around), those at C < s < C + G at most those at C, the others as in Claim 1. Claim 2
// does not hold, and schedules at I0 <= C are a matter of their own.
//
// In Claim 1 the gap behind position p need only cover the ops at p, so sum over v of G(v), with
// G(v) = max(1, cycles(v), reservation ends, delay + spill out of v, hold of edges into v), is
// enough for I.
#include "graph/serial.hpp"

#include <algorithm>
#include <vector>

namespace twill {

Cycle serial_ii(const Problem& problem) {
  std::vector<Cycle> gap(problem.ops.size(), 1);
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    gap[v] = std::max(gap[v], problem.ops[v].cycles);
  for (const Edge& e : problem.edges) {
    Cycle& out = gap[static_cast<std::size_t>(e.from)];
    out = std::max(out, e.delay + problem.ops[static_cast<std::size_t>(e.from)].spill);
    Cycle& in = gap[static_cast<std::size_t>(e.to)];
    in = std::max(in, e.hold);
  }
  Cycle sum = 0;
  for (const Cycle g : gap) sum += g;
  const Cycle latest = latest_pinned_cycle(problem);
  return latest > 0 ? sum + latest + *std::max_element(gap.begin(), gap.end()) : sum;
}

SerialProblem serial_problem(const Problem& problem) {
  SerialProblem serial{problem, 1};
  Problem& p = serial.problem;
  const auto one = [](Cycle x) { return x > 0 ? Cycle{1} : Cycle{0}; };
  if (latest_pinned_cycle(problem) > 0) {
    serial.ii = serial_ii(p);
    return serial;
  }
  const bool keep_shapes = !single_segments(problem);
  for (Op& op : p.ops) {
    op.spill = one(op.spill);
    if (keep_shapes) continue;
    op.cycles = one(op.cycles);
    for (Reservation& r : op.reservations) r.length = 1;
  }
  for (Edge& e : p.edges) {
    e.delay = one(e.delay);
    e.hold = one(e.hold);
  }
  serial.ii = serial_ii(p);
  return serial;
}

}  // namespace twill
