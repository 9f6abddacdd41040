// The order engine: parts of its search. See Engine in engine/search.hpp.
#pragma once

#include "engine/search.hpp"

namespace twill::order {

/// Does the engine search through CaDiCaL's propagator interface? Else by Cdcl.
bool through_cadical(const Engine& engine);

Answer ask_complete(const Search& search, Cycle ii);
Interval smallest_interval(const Search& search, Cycle low);
LengthResult shortest_within(const Search& search, Cycle ii, Cycle low, Cycle high,
                             const std::function<void(const Schedule&)>& found);

/// Of loops of more ops a formula near a schedule takes too long.
inline constexpr std::size_t kMostNear = 400;

/// Replaces `best`, a schedule that is as short as is asked for but for little, by ones near it of
/// smaller I, none below `low`, and little longer. Loops of more than kMostNear ops, and schedules
/// far above `low`, stay as they are. Precondition: list_can_answer().
void fall_near(const Search& search, Schedule& best, Cycle low);

/// Quick attempts near `best` at its I: replaces it by shorter ones, none below `low`.
void shorten(const Search& search, Schedule& best, Cycle low);

/// The same by neighbourhoods of `best` alone, with about `most` conflicts (0 = as many as it
/// pays). `best.length` > `low`. Throws Budget::Spent.
void shorten_near(const Search& search, Schedule& best, Cycle low, std::int64_t most);

}  // namespace twill::order
