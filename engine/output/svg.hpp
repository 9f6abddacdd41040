// The steady state as one SVG drawing, for a page or a README: no script, no font or picture from
// elsewhere, light and dark.
#pragma once

#include <string>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// One period: a row a unit, a channel that binds, a warp slot; arrows where a result goes to
/// another slot; I, L and what made it above. Without a schedule: what was found, as text.
std::string svg_picture(const Problem& problem, const Solution& solution);

}  // namespace twill
