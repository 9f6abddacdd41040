// The best schedule whose program has a placement: a branch and bound over what placements ask of
// schedules.
//
// A schedule has no placement because of a conflict: some rings are so deep, some pairs of storages
// are used at the same time, some registers are handed over through memory, and blocks like these
// do not fit (graph/program/fit.hpp proves it). Every other schedule that has one escapes the
// conflict somewhere: one of these rings is less deep, one of these pairs shares a place, one of
// these results is not handed over. Each way is a problem with more in it: a memory of its own for
// a ring or for a pair, as large as the copies that it may have, or pins to one slot. In which
// order the two of a pair come (the direction of the overlay) is left to the search. What is added
// is never more than a placement needs (placement_needs.hpp), so the bounds are those of all
// schedules whose program has a placement. The problem with the smallest (I, L) is taken first: if
// its schedule has a placement, it is the best.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/include/twill_program.hpp"
#include "engine/limits_left.hpp"

namespace twill {

/// What is known of all schedules whose program has a placement. The class of placements is that of
/// graph/program/placement.hpp, the storages and hand-overs those that derive() makes.
struct Placement {
  int ways = 0;       ///< problems with more in them that were solved
  bool none = false;  ///< no schedule has a placement
  /// No schedule with a placement is better: of this I none is shorter.
  Cycle ii_lower_bound = 0, length_lower_bound = 0;
  bool reached = false;  ///< the schedule found is at these bounds
};

struct PlacedSearch {
  /// The best schedule with a placement, and its program; none where it was not come to.
  std::optional<Solution> solution;
  std::optional<program::Program> program;
  Placement placement;
};

/// What earlier searches of the same problem and options have solved: it is not solved again. (They
/// begin at the same schedule and go the same ways, with other limits.)
class PlacedAnswers {
 public:
  PlacedAnswers();
  ~PlacedAnswers();
  PlacedAnswers(const PlacedAnswers&) = delete;
  PlacedAnswers& operator=(const PlacedAnswers&) = delete;

 private:
  friend class PlacedSearcher;
  struct Known;
  std::unique_ptr<Known> known_;
};

struct PlacedLimits {
  int ways = 200;  ///< that are solved, at most
  /// I and L of a schedule with a placement that is known: only better ones are sought.
  std::optional<std::pair<Cycle, Cycle>> incumbent = {};
};

/// `found` is optimal for `problem`, and its program has no placement. Each search has the limits
/// of `options`, all together what is `left`.
PlacedSearch search_placed(const Problem& problem, const Solution& found, const Options& options,
                           LimitsLeft& left, const program::DeriveOptions& how,
                           const PlacedLimits& limits, PlacedAnswers& answers);

}  // namespace twill
