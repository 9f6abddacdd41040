// The running loop as a trace-event file for chrome://tracing and Perfetto. Format: "Trace Event
// Format", Google, 2016 (JSON object form; complete events "X", instants "i", arrows "s" and "f",
// counters "C", metadata "M").
#pragma once

#include <string>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// What an op did in some iteration, on a unit or a slot.
struct TraceBar {
  int track = 0;  ///< unit or slot
  Cycle begin = 0;
  Cycle length = 0;  ///< 0 = an instant
  int op = 0;
  Cycle iteration = 0;
  Amount amount = 1;
};

/// Prologue and the steady periods after it, one cycle as one microsecond. Process 1 holds the
/// units (an event a reservation), process 2 the warp slots (an event an op, an instant for an op
/// of no cycles); work that overlaps on one of them gets rows of its own. Arrows go from each op of
/// a slot to those that wait for its result. Process 3 counts registers and memory held. `periods`:
/// steady periods to show. Iterations are capped so that the file stays below about 60,000 events.
std::string trace_events(const Problem& problem, const Solution& solution, int periods = 4);

/// The same of something else that happened under the solution's schedule: those bars, no counters.
std::string trace_of(const Problem& problem, const Solution& solution,
                     std::vector<TraceBar> on_units, std::vector<TraceBar> on_slots);

/// How many iterations such a file may have, of `wanted`.
Cycle traced_iterations(const Problem& problem, Cycle wanted);

}  // namespace twill
