// The smallest makespan of a project with few cycles: one formula for all makespans, with starts as
// order literals and units by time-tables (engine/order/time_table.hpp): lazy clause generation.
//
// Source: Schutt, Feydy, Stuckey and Wallace, "Solving RCPSP/max by lazy clause generation",
// Journal of Scheduling 16, 2013.
#pragma once

#include <optional>
#include <stop_token>

#include "bench/lab/makespan.hpp"

namespace twill::bench {

/// Are the starts few enough for order literals, if no makespan above `high` is asked about?
bool few_starts(const Project& project, Cycle high);

/// Raises and lowers the bounds of `found` until they meet or the limits of `options` end it. Its
/// lower bound is proved, and a schedule of its upper one is known; where that is 0 none is, and
/// one no longer than `longest` exists if any does. It asks for the best, below what is found, and
/// for an eighth of the conflicts at the lower bound; all that is learned serves both. `confirm`:
/// what is proved is proved again by CaDiCaL from the clauses and the lemmas, each of which is
/// looked at by itself; throws std::logic_error where that fails, and does not tell what a limit
/// left unconfirmed.
void search_makespan(const Project& project, const Options& options, const std::stop_token& stop,
                     Cycle longest, bool confirm, Makespan& found);

}  // namespace twill::bench
