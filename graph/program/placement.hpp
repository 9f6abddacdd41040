// Addresses: where the rings of a program lie, and which storages share a place.
//
// The class of placements: every ring has one base, and its copies lie one after the other, each a
// multiple of its alignment; storages share addresses only as can_share() says: with one copy each,
// however they lie over each other, or with equal depth and size, copy on copy.
#pragma once

#include <optional>
#include <vector>

#include "graph/program/fit.hpp"
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

/// Must the two have the same addresses, copy by copy? An MMA adds to tensor memory in its place:
/// `t` is the result of an MMA that adds to `s`.
bool must_share(const Draft& draft, int s, int t);

/// Bytes, or the memory's units, from the first of a ring to its last.
Amount ring_extent(const Storage& storage);

/// The storages of a memory, larger rings first, and how they may meet.
struct MemoryBlocks {
  std::vector<int> storages;
  std::vector<Block> blocks;
  std::vector<Meet> meet;  ///< storages.size() squared
};
MemoryBlocks memory_blocks(const Draft& draft, int memory);

/// Sets base and shares of every storage in memory. Sharing is tried in the order of its cost,
/// larger rings first, then exactly (fit()), both with a limit of their steps. A Refusal of rule
/// "placement" where nothing is found; it says whether this schedule has none of the class.
/// `barriers`: bytes that are left free in the memory of barriers, in one piece.
std::optional<Refusal> place(Draft& draft, Amount barriers = 0);

}  // namespace twill::program
