// `solve` on a machine whose costs are ranges: what is said beside the schedule.
#pragma once

#include <string>

#include "engine/include/twill_ranges.hpp"

namespace twill::cli {

/// A section for a person; `interval`: of the schedule found, 0 = none.
std::string ranges_text(const RangeReport& report, Cycle interval);

/// "" or why the worst case is not proved, on a line: for standard error.
std::string ranges_warning(const RangeReport& report);

}  // namespace twill::cli
