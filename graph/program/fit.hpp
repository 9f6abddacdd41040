// Places for blocks of memory, exactly: dynamic storage allocation in which some blocks may lie
// over each other. Says nothing of programs.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/problem.hpp"

namespace twill::program {

/// A block: its bytes from the first to the last, and what its base is a multiple of.
struct Block {
  Amount extent = 0;
  Amount alignment = 1;
  bool operator==(const Block&) const = default;
};

/// May two blocks have addresses in common?
enum class Meet : std::uint8_t {
  never,
  same,  ///< only with the same base (and alignment)
  any,
  must,  ///< they have the same base (and are of one extent and alignment)
};

/// What is known of a placement.
enum class Fit {
  found,
  none,     ///< there is none: proved
  unknown,  ///< neither within the steps
};

/// All blocks within [0, capacity), capacity < 0 = without end. `meet` has blocks.size() squared
/// entries, symmetric. `bases` is set where one is found.
///
/// The search is complete: a placement can be pushed down until every block (with those that share
/// its base) lies at 0 or as low as a block allows that it may not lie over; so blocks are placed
/// in the order of their bases, each at 0, at the end of one that is placed, or at the base of one.
/// What is left is given up where blocks of which no two may meet take more than there is.
Fit fit(const std::vector<Block>& blocks, const std::vector<Meet>& meet, Amount capacity,
        std::int64_t steps, std::vector<Amount>& bases);

}  // namespace twill::program
