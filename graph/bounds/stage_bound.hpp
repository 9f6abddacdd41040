// How many pipeline stages are enough: if any schedule exists at I, one with this many stages does.
#pragma once

#include "graph/problem.hpp"

namespace twill {

/// B(I), the number of stages that is sufficient at initiation interval I >= 1 for all eight rules:
/// whenever a valid schedule exists, so does one with 1 + max floor(M / I) <= B(I), the same slots,
/// the same rows M mod I, and no start later (so no greater length). The proof is in
/// stage_bound.cpp. Precondition: check() has accepted the problem.
Cycle stage_bound(const Problem& problem, Cycle ii);

/// The same for rules 1 and 2 alone (no slots, no liveness): smaller or equal.
Cycle modulo_stage_bound(const Problem& problem, Cycle ii);

}  // namespace twill
