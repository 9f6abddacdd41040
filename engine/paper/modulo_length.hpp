// LEN(M) of Algorithm 1: the smallest length of a schedule at I under rules 1 and 2 alone.
#pragma once

#include "engine/search.hpp"

namespace twill {

/// sat = found and proved (its slots mean nothing), unsat = rules 1 and 2 have no schedule at `ii`,
/// unknown = stopped. Branch and bound first (graph/branch_and_bound/modulo_schedule.hpp), under a
/// node limit; what it leaves open the modulo form decides.
LengthResult modulo_length(const Search& search, const Options& options, Cycle ii);

}  // namespace twill
