// Unrolled loops: a schedule of the loop that they are unrolled from is most often one of theirs.
#pragma once

#include <optional>

#include "engine/search.hpp"
#include "graph/unroll.hpp"

namespace twill::order {

/// The loop that the search's problem is unrolled from, where nothing but the problem says what a
/// schedule must be.
std::optional<RolledLoop> rolled_of(const Search& search);

/// The best schedule of that loop that a short search finds, once for each copy, where that is a
/// schedule of the unrolled loop. (A loop unrolled four times is one unrolled twice, unrolled
/// twice: the search of that one begins so too.)
std::optional<Schedule> by_copies(const Search& search, const RolledLoop& rolled);

/// A schedule of the loop that is shorter than `best` at its interval, made so of one of that loop
/// at its share of the interval: none where that is no whole number of cycles, or a short search
/// finds none.
std::optional<Schedule> shorter_by_copies(const Search& search, const RolledLoop& rolled,
                                          const Schedule& best);

}  // namespace twill::order
