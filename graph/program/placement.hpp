// Addresses: where the rings of a program lie, and which storages share a place.
#pragma once

#include <optional>

#include "graph/program/storages.hpp"

namespace twill::program {

/// One storage before another in a place that they share: copy m of `later` is written after
/// copy m - offset of `earlier` was used, and before copy m - offset + depth is written.
struct Sharing {
  int earlier = 0;
  int later = 0;
  std::int64_t offset = 0;
};

/// Can the two have addresses in common, as the schedule has it? Both have one copy, or as many
/// copies that lie on one another. `same_place`: base, size and depth are the same, so that an
/// accumulator may be written over.
std::optional<Sharing> can_share(const Draft& draft, int s, int t, bool same_place);

/// What sharing costs: 0 = an accumulator's own place, 1 = orders of one slot's code, 2 = orders
/// between slots, 3 = and between iterations that only meet in a loop of few of them.
int sharing_cost(const Draft& draft, const Sharing& sharing);

/// Sets base and shares of every storage in memory. The class of placements that is searched: every
/// ring has one base and its copies lie one after the other; storages share addresses only as
/// can_share() says. Sharing is tried in the order of its cost, larger rings first, by
/// depth-first search with a limit of its steps. A Refusal of rule "placement" where
/// nothing is found: that is no proof that there is none.
std::optional<Refusal> place(Draft& draft);

}  // namespace twill::program
