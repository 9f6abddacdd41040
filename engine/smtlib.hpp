// The straight-line program as SMT-LIB 2, in the form the paper hands to Yices2 (Soi et al.,
// arXiv:2512.18134, 2025, Section 5): one query (I, L), for comparison with other solvers.
#pragma once

#include <string>

#include "graph/problem.hpp"

namespace twill {

/// The constraints of Figures 4-6 at I = `ii` >= 1 and L = `length` >= 1 in QF_LIA, ended by
/// (check-sat). Booleans op_v_i_t, live_v_i_t, opw_v_w by index of op, copy, cycle and slot, named
/// in comments; sums are sums of (ite b weight 0). `literal` = as printed, else the corrected
/// program: what differs is described in encoders/straight_line.hpp. Here every copy, cycle and
/// slot has its own constant and every constraint is written out, in the corrected program too;
/// only what mentions constants outside their range is left out. sat / unsat is the same as that of
/// the CNF. The text grows with ops * copies * T and edges * copies * T^2. Precondition: check()
/// has accepted the problem.
std::string smtlib(const Problem& problem, Cycle ii, Cycle length, bool literal);

}  // namespace twill
