// What narrowed the search that a solution comes from. "Smallest" and "none" are about the
// schedules that were left, so whoever says them says this, too.
#pragma once

#include <string>

#include "graph/schedule.hpp"

namespace twill {

/// The schedules that were searched, from Solution::stages and the options "ii", "interval",
/// "handover" and "pin OP", in words that follow "schedules": "of at most 1 stage, at I = 7,
/// without hand-overs of registers between slots, with S on wg0". "" = all of the problem.
std::string restriction_of(const Solution& solution);

/// The option of a schedule file in which restriction_of() stands, where it is not "".
inline constexpr const char* kRestrictionOption = "searched only";

}  // namespace twill
