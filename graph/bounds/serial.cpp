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
//  Rings, where G is more than the cycles c of every use of a charged buffer (cycles of the op or
//  hold, buffer_uses()): with k = stage(v) - stage(u) + iterations, a use v makes the depth of u's
//  ring at least 1 + k + floor((row(v) + c - row(u)) / I0). If row(v) >= row(u) the floor was at
//  least 0, and with c < G and rows of at most (n - 1) G it is 0. Else it was at least -1, and now
//  row'(v) + c - row'(u) <= c - G < 0 makes it -1. So no ring is deeper.
//  Concurrency: o executes at v's issue only if they start together (cycles(o) <= G), which the old
//  schedule excluded.
//
// Claim 2. Whether the premise holds depends on which numbers are positive only, as long as
// reservations are one segment from the op's issue: Claim 1's construction used nothing else, and
// applied to a schedule of the problem with 1 for every positive number it gives a schedule of the
// original one. (A ring's depth then depends on stages and on which rows are smaller only, and
// cycles that are 0 stay 0, so that the same ops hold a buffer.) With several segments or offsets,
// ops that start together may still meet on a unit, so their shape is kept, and with it the cycles.
//
// Pins. Those that name slots hold as before, those to stages too, since stages are kept, and an op
// that is pinned to cycle 0 keeps row 0 and stage 0. Let C > 0 be the latest pinned cycle. Claim 3:
// if there is a schedule at some I0 > C, there is one at every I >= C + (n + 1) G. Proof. Rows up
// to C stay, as do the pinned ops; the p-th distinct row above C becomes C + p G. Ops of equal rows
// stay at equal rows, an op above C is at least G behind every row before it, and from the last row
// on G cycles are left in the period. So the cases of Claim 1 hold where one of the two ops is
// above C. Between ops at rows up to C all distances are as before, and nothing reaches around the
// end of the period; a dependence with k >= 1 has I - C >= G. The copies live at a residue up to C
// are those of before (or fewer: none reaches around), those at C < s < C + G at most those at C,
// the others as in Claim 1. Of a ring's floor((row(v) + c - row(u)) / I) with both rows up to C the
// numerator is as before, in (-C, C + G), so that the floor is -1 where it was -1 and else 0; where
// one row is above C it is as in Claim 1, the numerator less than C + (n + 1) G. Claim 2 does not
// hold, and schedules at I0 <= C are a matter of their own.
//
// Inner loops. Claim 4: let S be the sum of G(v) (below) over the ops that are no parts, and, for
// each inner loop, of the largest offset + G over its parts. If there is a schedule at some I > S,
// there is one at every I > S, with the same stages. Proof. The arcs [M(v), M(v) + G(v)), and for a
// loop from its first part to the last end of those of all its parts, cover at most S residues, so
// that there is a residue g in none of them. A cycle can be put in before g in every period, or,
// where I > S + 1, g taken out: every op after it moves by the number of such places before it. No
// arc is cut, so that parts keep their offsets, and segments, executions and holds their lengths.
// Capacity, memories, registers, waits and slots: nothing begins, ends or executes at g, and every
// other residue has what it had, of lives that reach over g too. Dependence: M(v) + distance I >=
// M(u) + delay + spill stays true where a cycle is put in between, for there the left side grows;
// where one is taken out between M(u) and M(v) + distance I, it lies behind M(u) + delay + spill,
// which the left side therefore exceeded. Rings, whose uses end inside arcs (G is more than their
// cycles): as dependences, from the end of a use to the load of `depth` iterations later. Starts
// are counted from the first cycle of iteration 0, and only differences matter. Claims 1 to 3 do
// not hold, and pins to cycles do not stand beside inner loops (check()).
//
// Channels. Rule 9 holds from some I on, whatever the schedule: the serial problem has none, and
// what is said of every I >= n G is said of those at which rule 9 holds. Nor has it a range of I:
// what is said is said of the problem without one.
//
// In Claim 1 the gap behind position p need only cover the ops at p, so sum over v of G(v), with
// G(v) = max(1, cycles(v), reservation ends, delay + spill out of v, hold of edges into v, 1 more
// than the cycles of a use of a charged buffer by v), is enough for I.
#include "graph/bounds/serial.hpp"

#include <algorithm>
#include <vector>

#include "graph/memory_charges.hpp"
#include "graph/ring_depth.hpp"

namespace twill {

Cycle serial_ii(const Problem& problem) {
  std::vector<Cycle> gap(problem.ops.size(), 1);
  for (std::size_t v = 0; v < problem.ops.size(); ++v)
    gap[v] = std::max(gap[v], problem.ops[v].cycles);
  for (const Edge& e : problem.edges) {
    Cycle& out = gap[static_cast<std::size_t>(e.from)];
    out = std::max(out, e.delay + spill_of(problem, e));
    Cycle& in = gap[static_cast<std::size_t>(e.to)];
    in = std::max(in, e.hold);
  }
  for (const int u : charged_loads(problem))
    for (const BufferUse& use : buffer_uses(problem, u)) {
      Cycle& out = gap[static_cast<std::size_t>(use.op)];
      out = std::max(out, use.cycles + 1);
    }
  Cycle sum = 0;
  for (const InnerLoop& loop : problem.inner_loops) {
    Cycle longest = 0;
    for (const InnerPart& part : loop.parts) {
      longest = std::max(longest, part.offset + gap[static_cast<std::size_t>(part.op)]);
      gap[static_cast<std::size_t>(part.op)] = 0;
    }
    sum += longest;
  }
  for (const Cycle g : gap) sum += g;
  if (!problem.inner_loops.empty()) return sum + 1;
  const Cycle latest = latest_pinned_cycle(problem);
  return latest > 0 ? sum + latest + *std::max_element(gap.begin(), gap.end()) : sum;
}

SerialProblem serial_problem(const Problem& problem) {
  SerialProblem serial{problem, 1};
  Problem& p = serial.problem;
  drop_channels(p);  // rule 9 holds from some I on
  p.interval = {};   // any I stands for all large ones
  const auto one = [](Cycle x) { return x > 0 ? Cycle{1} : Cycle{0}; };
  if (latest_pinned_cycle(problem) > 0 || !problem.inner_loops.empty()) {
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
    if (e.spill) e.spill = one(*e.spill);
  }
  serial.ii = serial_ii(p);
  return serial;
}

}  // namespace twill
