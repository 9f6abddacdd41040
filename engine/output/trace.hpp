// The running loop as a trace-event file for chrome://tracing and Perfetto. Format: "Trace Event
// Format", Google, 2016 (JSON object form; complete events "X", instants "i", metadata "M").
#pragma once

#include <string>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// Prologue and the steady periods after it, one cycle as one microsecond. Process 1 holds the
/// units (an event a reservation), process 2 the warp slots (an event an op, an instant for an op
/// of no cycles); work that overlaps on one of them gets rows of its own. `periods`: steady periods
/// to show. Iterations are capped so that the file stays below about 60,000 events.
std::string trace_events(const Problem& problem, const Solution& solution, int periods = 4);

}  // namespace twill
