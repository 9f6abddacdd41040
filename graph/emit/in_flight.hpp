// Work in flight whose end is known by a count alone: products of wgmma, bulk stores. They end in
// their order, and a wait says how many of the newest may be left.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace twill::emit {

/// What a wait for one of those in flight, oldest first, does.
struct EndOfFlights {
  std::size_t ended = 0;  ///< so many of the oldest have ended, whether those in doubt are there
  std::size_t left = 0;   ///< the number that the wait names: of those that may be left
};

/// Of the wait for number `last`: as many may be left as there are behind it for certain. Those in
/// doubt that come next end with it.
template <typename Flight>
EndOfFlights end_of_flights(const std::vector<Flight>& all, std::size_t last) {
  EndOfFlights end{last + 1, 0};
  while (end.ended < all.size() && !all[end.ended].certain) ++end.ended;
  for (std::size_t k = end.ended; k < all.size(); ++k) end.left += all[k].certain ? 1 : 0;
  return end;
}

/// What is in flight where a loop begins again, of which its first iteration finds only `first`.
template <typename Flight>
void mark_certain(std::vector<Flight>& again, const std::vector<Flight>& first) {
  for (Flight& one : again) {
    one.certain = false;
    for (const Flight& other : first)
      one.certain |= other.op == one.op && other.iteration == one.iteration;
  }
}

/// The newest of `first` that is not among those in flight where the loop begins again: its wait
/// may stand in no iteration of the loop, as another one ends it there. It has to end before the
/// loop. nullopt = there is none.
template <typename Flight>
std::optional<std::size_t> last_of_first_alone(const std::vector<Flight>& first,
                                               const std::vector<Flight>& again) {
  for (std::size_t k = first.size(); k-- > 0;) {
    bool found = false;
    for (const Flight& one : again)
      found |= one.op == first[k].op && one.iteration == first[k].iteration;
    if (!found) return k;
  }
  return std::nullopt;
}

}  // namespace twill::emit
