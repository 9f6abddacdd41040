// What a solution claims to be proved, and which arithmetic or refutation proves it. Both the
// writer and the checker of certificates ask here; nothing of it asks a solver.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/certificate/derivation.hpp"
#include "engine/certificate/evidence.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// A goal's bound that a claim rests on, which holds whatever is searched: least_goal_value().
struct GoalBoundUse {
  GoalMeasure goal;
  std::int64_t value = 0;
};

struct Claims {
  std::vector<Claim> claims;
  std::vector<BoundUse> bounds;           ///< that they rest on
  std::vector<TimeUse> times;             ///< likewise
  std::vector<GoalBoundUse> goal_bounds;  ///< likewise
  std::vector<std::size_t> needed;        ///< refutations that the claims rest on, ascending
  std::string unproved;                   ///< what nothing proves; "" when all is
};

/// Takes the refutations for granted (they are checked one by one) and everything else not: see
/// Derivation. `names[i]` is how claims name refutation i. With `split` the bounds of the solution
/// are claimed of every register split of its pool, and the corners must cover all of them.
/// `known`: where bounds are that need not be computed again; null = nowhere.
Claims claims_of(const Problem& problem, const Solution& solution,
                 std::span<const Refutation> refutations, std::span<const std::string> names,
                 const RegisterSplit* split = nullptr, const Evidence* known = nullptr);

}  // namespace twill
