// The straight-line form: the program Q of Soi et al. (arXiv:2512.18134, 2025), Section 4, as CNF.
// Q is a number of copies of the loop body, each I cycles after the one before, unrolled into T
// cycles; op[v,i,t] says that copy i of v is issued at t, live[v,i,t] that its result is live
// there, opw[v,w] that v is on slot w. One figure a file: straight_line/schedule.cpp (Figure 4),
// straight_line/liveness.cpp (Figure 5), straight_line/warps.cpp (Figure 6); this header is their
// table of contents.
//
// Two variants:
//   literal    as printed: N = ceil(L / I) copies, T = L + (N - 1) I, t < T. Constraints that
//              mention a copy >= N are not emitted, and only the loop-carried results of the last
//              copy are live at T. It errs in both directions. Values that live longer than N I
//              cycles and hand-overs to a copy >= N are not counted, so the loop it accepts may not
//              run; and an op of zero cycles may not start at L, and a value used only in its own
//              issue cycle counts as live from cycle 0 on, so what it refuses may run.
//   corrected  exact, with
//              - K = N + max distance + ceil(max hold / I) copies and T = L + (K - 1) I; at least
//                floor(L / I) + 1 where an op of zero cycles may be issued at L, beside copies that
//                began in the same cycle;
//              - INIT: copy i of v is live at T if and only if its last use lies beyond T, which is
//                a matter of the consumer's start, for every copy;
//              - zero-cycle ops at t = L, and holds;
//              - DEADPROP-1 without the cycle in which v itself is issued, so that a lifetime of
//                zero cycles is not live.
//              Why K is enough: consider the cycles [(K-1) I, K I), or up to T where that is less
//              (behind T nothing is issued until K I, so nothing becomes live). A copy i >= K has
//              not started there. A copy i < 0 would be used last at
//              L + (max distance - 1) I + max hold <= (K-1) I at the latest. So this period of Q
//              shows all copies that are live in the same period of the endless loop, and it alone
//              need be counted: op and live literals of other periods are the same ones shifted,
//              and their sums have fewer terms.
//
// Value precedence of identical slots (the key "symmetry") is not applied: the printed program has
// none.
#pragma once

#include <functional>
#include <vector>

#include "encoders/choose.hpp"
#include "encoders/family_sizes.hpp"
#include "encoders/formula.hpp"
#include "encoders/placement.hpp"
#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

struct StraightLineRequest : PlacementRequest {
  Cycle ii = 1;
  /// L: every op ends in [0, L]; >= 1 in the literal form, >= 0 in the corrected.
  Cycle length = 1;
  bool literal = false;
  Cycle stages = 0;  ///< starts lie in [0, ii * stages) as well; 0 = no limit but the length
};

/// Copies and cycles of the straight-line program.
struct StraightLineShape {
  Cycle copies = 0;   ///< N or K
  Cycle horizon = 0;  ///< T
};
StraightLineShape straight_line_shape(const Problem& problem, const StraightLineRequest& request);

/// Estimate of the number of op and live variables.
double straight_line_variables(const Problem& problem, const StraightLineRequest& request);

/// Everything the figures share while a formula is built.
struct StraightLineModel : PlacementModel {
  StraightLineModel(const Problem& p, Formula& formula, const EncodingChoice& encoding,
                    const StraightLineRequest& straight_line_request)
      : PlacementModel(p, formula, encoding, straight_line_request),
        request(straight_line_request),
        shape(straight_line_shape(p, straight_line_request)) {}

  const StraightLineRequest& request;
  StraightLineShape shape;
  /// literal: issue[v * copies + i][t]; corrected: issue[v][t] of copy 0, the others are this one
  /// shifted. op() reads both.
  std::vector<std::vector<Lit>> issue;
  /// corrected: order[v][t] = M(v) <= t, below the latest start
  std::vector<std::vector<Lit>> order;
  /// live[v * copies + i][t - live_from], t = live_from .. T. Empty = not counted.
  std::vector<std::vector<Lit>> live;
  Cycle live_from = 0;

  int ops() const { return static_cast<int>(problem.ops.size()); }
  const Op& at(int v) const { return problem.ops[static_cast<std::size_t>(v)]; }
  std::size_t copy(int v, Cycle i) const { return static_cast<std::size_t>(v * shape.copies + i); }
  /// The last cycle in which copy 0 of v may be issued (corrected form); negative = nowhere.
  Cycle latest(int v) const;
  /// op[v,i,t]; false outside its range.
  Lit op(int v, Cycle i, Cycle t) const;
  /// M(v) <= t (corrected form).
  Lit issued(int v, Cycle t) const;
  Lit alive(int v, Cycle i, Cycle t) const {
    return live[copy(v, i)][static_cast<std::size_t>(t - live_from)];
  }
  /// Of the corrected form (straight_line/schedule.cpp).
  void precede(int u, int v, Cycle distance, Cycle delay, Lit condition) override;
  /// The cycles [first, last] in which sums of live values are taken.
  Cycle first_sum() const { return request.literal ? 0 : (shape.copies - 1) * request.ii; }
  Cycle last_sum() const;
};

// straight_line/schedule.cpp, Figure 4.
void encode_q_issue(StraightLineModel& m);       // UNIQUENESS, CONSISTENCY, COMPLETION
void encode_q_dependence(StraightLineModel& m);  // DEPENDENCE
void encode_q_capacity(StraightLineModel& m);    // CAPACITY
// straight_line/liveness.cpp, Figure 5.
void encode_q_liveness(StraightLineModel& m);  // INIT, LIVEPROP-1/2, DEADPROP-1/2
void encode_q_memory(StraightLineModel& m);    // MEMORY CAPACITY
/// straight_line/rings.cpp: literal k = 0, 1, ... is implied where the ring of load u has more than
/// k + 1 buffers. More than `most` after the first are forbidden.
std::vector<Lit> q_ring(StraightLineModel& m, int u, Amount most);
// straight_line/warps.cpp, Figure 6.
void encode_q_warps(StraightLineModel& m);        // WARP UNIQUENESS, VARIABLE LATENCY
void encode_q_registers(StraightLineModel& m);    // REGISTER LIMIT
void encode_q_spills(StraightLineModel& m);       // CROSS-WARP SPILLS
void encode_q_concurrency(StraightLineModel& m);  // CONCURRENCY

/// What the search needs back.
struct StraightLineEncoding {
  Cycle ii = 0;
  std::vector<std::vector<Lit>> issue;  ///< per op and cycle, copy 0
  std::vector<std::vector<Lit>> slot;
  std::vector<FamilySize> sizes;  ///< of all that was encoded, a family each
  /// The schedule of a model; `value` gives the truth of a literal that is no constant.
  Schedule decode(const Problem& problem, const std::function<bool(Lit)>& value) const;
};

/// Encodes `request` into f. The problem has passed check(). The size grows with
/// ops * copies * T, and in the literal form with edges * copies * T^2: for costs of some hundred
/// cycles at most.
StraightLineEncoding encode_straight_line(Formula& f, const Problem& problem,
                                          const StraightLineRequest& request,
                                          const EncodingChoice& choice);

}  // namespace twill
