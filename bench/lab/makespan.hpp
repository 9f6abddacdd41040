// The smallest makespan of a project of the literature (bench/lab/literature.hpp).
#pragma once

#include <optional>
#include <stop_token>

#include "bench/lab/literature.hpp"
#include "engine/include/twill.hpp"

namespace twill::bench {

/// The length of a serial schedule, longest tail first: an upper bound on the optimum. (Kelley,
/// "The critical-path method: resources planning and scheduling", 1963.) Precondition: no lags.
Cycle serial_length(const Problem& problem);

/// A project that has a schedule has one no longer: the sum of what an activity takes or makes
/// others wait. (Bartusch, Moehring and Radermacher, "Scheduling project networks with resource
/// constraints and time windows", Annals of Operations Research 16, 1988.)
Cycle longest_makespan(const Project& project);

/// A lower bound: longest paths, and the work of every unit; nullopt = the lags alone allow no
/// schedule.
std::optional<Cycle> makespan_bound(const Project& project);

struct Makespan {
  Cycle low = 1;      ///< nothing below
  Cycle high = 0;     ///< of a schedule; 0 = none is known
  bool none = false;  ///< there is no schedule of any makespan: proved
  std::int64_t conflicts = 0;
  bool proved() const { return none || low == high; }
};

/// Under the limits, seed and engine of `options`. Where units are shared in parts and cycles are
/// few, so that the engine would be the time-indexed one by itself: with time-tables
/// (bench/lab/project_search.hpp), whose proofs CaDiCaL confirms if `confirm`; throws
/// std::logic_error where it does not. Else by bisection between the bounds, each question decided
/// by the engine.
Makespan smallest_makespan(const Project& project, const Options& options,
                           const std::stop_token& stop, bool confirm = false);

}  // namespace twill::bench
