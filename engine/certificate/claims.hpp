// What a solution claims to be proved, and which arithmetic or refutation proves it. Both the
// writer and the checker of certificates ask here; nothing of it asks a solver.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/certificate/evidence.hpp"
#include "graph/schedule.hpp"

namespace twill {

struct Claim {
  std::string says;     ///< "no schedule has I < 2436"
  std::string because;  ///< the arithmetic, or the refutation and why it is enough
};

struct Claims {
  std::vector<Claim> claims;
  std::vector<std::size_t> needed;  ///< refutations that the claims rest on, ascending
  std::string unproved;             ///< what nothing proves; "" when all is
};

/// Takes the refutations for granted (they are checked one by one) and everything else not: bounds
/// are recomputed, and of every refutation it is asked whether its formula covers all schedules
/// that the claim speaks of: all stages, no rotation under a limit, no more pins than were asked
/// for. `names[i]` is how claims name refutation i.
Claims claims_of(const Problem& problem, const Solution& solution,
                 std::span<const Refutation> refutations, std::span<const std::string> names);

}  // namespace twill
