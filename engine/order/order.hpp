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

/// Quick attempts near `best` at its I: replaces it by shorter ones, none below `low`.
void shorten(const Search& search, Schedule& best, Cycle low);

}  // namespace twill::order
