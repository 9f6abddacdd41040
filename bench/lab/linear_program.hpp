// The modulo-scheduling program as an integer linear program.
#pragma once

#include <string>

#include "graph/problem.hpp"

namespace twill::bench {

/// OPTIMAL-MODULO-SCHEDULE(G, I) of Soi et al. (2025), Algorithm 1: dependences and units only, the
/// smallest L at I = `ii`, in CPLEX's LP format; in the row and stage form of Eichenberger and
/// Davidson (PLDI 1997). Binary a_v_r = "op v is issued in row r", integer k_v = its stage, L.
/// Its optimum is optimal_modulo_schedule(problem, ii)'s length
/// (graph/branch_and_bound/modulo_schedule.hpp); stages are bounded as there is always a schedule
/// within the bound, if there is one.
std::string modulo_linear_program(const Problem& problem, Cycle ii);

}  // namespace twill::bench
