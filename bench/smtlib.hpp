// The straight-line program as SMT-LIB 2, in the form the paper hands to Yices2 (Soi et al.,
// arXiv:2512.18134, 2025, Section 5): one query (I, L), for comparison with other solvers.
//
// The unknowns are the paper's: Booleans op_v_i_t, live_v_i_t and opw_v_w by index of op, copy,
// cycle and slot, one constant for every copy, cycle and slot; sums are sums of (ite b weight 0).
// Written out as printed, the constraints grow with edges * copies * T^2 and with
// edges * slots * ops * copies^2 * T * cycles: gigabytes at costs of some hundred cycles. So these
// are abbreviated, each by what is equal to it given the constraints named:
//
//   window         UNIQUENESS, CONSISTENCY and COMPLETION, written in full, let copy i of v be
//                  issued in [i I, i I + L - cycles] only: elsewhere op_v_i_t counts as false in
//                  all other constraints, and opw_v_w where WARP UNIQUENESS or VARIABLE LATENCY
//                  forbids slot w; what becomes true by that is left out;
//   by_v_i_t       copy i of v is issued in cycle t or before, by_v_i_(t-1) or op_v_i_t. "Not
//                  issued before t + d" (DEPENDENCE), "not issued in [t + d, t + d + spill)"
//                  (CROSS-WARP SPILLS, given DEPENDENCE) and "its last use lies beyond T" (INIT of
//                  the corrected program) are one literal of it;
//   op sums        the sum of op_v_i_u over the cycles (a, b] (CAPACITY, CONCURRENCY), 0 or 1 by
//                  UNIQUENESS, is (and by_v_i_b (not by_v_i_a));
//   liveness       LIVEPROP-1, LIVEPROP-2, DEADPROP-1 and DEADPROP-2 of a copy and cycle, which
//                  between them give the value of live_v_i_(t-1) in every case, are one equality;
//   run_o_t        some copy of o is executing at t;
//   apart_e        the ops of edge e are on different slots: the paper's disjunction over all pairs
//                  of slots (CROSS-WARP SPILLS, CONCURRENCY), once an edge;
//   with_v_o       v and o are on the same slot, not the variable-latency one;
//   busy_v_t       some other op on v's slot is executing at t (CONCURRENCY), once for all edges
//                  and copies of v that have to wait.
//
// by is declared and asserted equal to its definition, since solvers flatten nested disjunctions of
// abbreviated terms and would write the square out again; the others are define-fun. None of this
// changes the answer or a model of the paper's unknowns.
#pragma once

#include <string>

#include "graph/problem.hpp"

namespace twill {

/// The constraints of Figures 4-6 at I = `ii` >= 1 and L = `length` >= 1 in QF_LIA, ended by
/// (check-sat), abbreviated as above; comments give the names of ops and slots. `literal` = as
/// printed, else the corrected program: what differs is described in
/// encoders/straight_line/straight_line.hpp. sat / unsat is the same as that of the CNF. The text
/// grows with ops * (ops + slots * copies) * T + edges * copies * L. Precondition: check() has
/// accepted the problem, and `ii` is no smaller than its channels allow (verify_channels()): the
/// paper's program knows nothing of rule 9.
std::string smtlib(const Problem& problem, Cycle ii, Cycle length, bool literal);

}  // namespace twill
