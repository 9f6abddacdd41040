// Work in flight whose end is known by a count alone: products of wgmma, bulk stores. They end in
// their order, and a wait says how many of the newest may be left.
#pragma once

#include <cstddef>
#include <vector>

namespace twill::emit {

/// How many of those in flight, oldest first, are left when a wait ends all up to number `last`: as
/// many as there are behind it for certain, for the wait counts those that may be left.
template <typename Flight>
std::size_t left_in_flight(const std::vector<Flight>& all, std::size_t last) {
  std::size_t left = 0;
  for (std::size_t k = last + 1; k < all.size(); ++k) left += all[k].certain ? 1 : 0;
  return left;
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

}  // namespace twill::emit
