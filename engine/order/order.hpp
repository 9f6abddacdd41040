// The order engine: parts of its search. See Engine in engine/search.hpp.
#pragma once

#include "engine/search.hpp"

namespace twill::order {

Answer ask_complete(const Search& search, Cycle ii, Cycle stage_limit);
Interval smallest_interval(const Search& search, Cycle low, Cycle stage_limit);
Shortest shortest_within(const Search& search, Cycle ii, Cycle low, Cycle high, Cycle stage_limit,
                         const std::function<void(const Schedule&)>& found);

}  // namespace twill::order
