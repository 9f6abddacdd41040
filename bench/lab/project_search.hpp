// The smallest makespan of a project with few cycles: one formula for all makespans, with starts as
// order literals and units by time-tables (engine/order/time_table.hpp).
#pragma once

#include <optional>
#include <stop_token>

#include "bench/lab/makespan.hpp"

namespace twill::bench {

/// Are the starts few enough for order literals, if no makespan above `high` is asked about?
bool few_starts(const Project& project, Cycle high);

/// From `found` on, whose bounds are proved and whose schedule is known (high = 0: none is; then
/// one of `longest` exists if any does).
void search_makespan(const Project& project, const Options& options, const std::stop_token& stop,
                     Cycle longest, bool confirm, Makespan& found);

}  // namespace twill::bench
