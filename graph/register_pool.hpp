// Which register counts the warpgroups of a layout may ask for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/problem.hpp"

namespace twill {

/// The register split as a choice: what the warpgroups of a layout share. A kernel is launched with
/// one count for all threads; then each warpgroup gives registers back or takes more (PTX
/// `setmaxnreg`). What is taken must have been given back, so the counts add up to at most what the
/// launch took of the register file. Counts are registers a thread, gross: before the kernel's
/// resident ones are taken off.
struct RegisterPool {
  /// Slots that have one count: a slot of whole warpgroups, or slots that are packed into one.
  struct Share {
    std::vector<int> slots;  ///< ascending
    int warpgroups = 1;      ///< how many have this count
    Amount layout = 0;       ///< the count in the machine file
    bool operator==(const Share&) const = default;
  };
  std::vector<Share> shares;
  Amount granule = 8, min = 24, max = 240;  ///< counts are multiples of granule in [min, max]
  Amount launch = 0;                        ///< registers a thread when the kernel is launched
  Amount resident = 0;                      ///< gross - resident = net, what results may hold
  bool operator==(const RegisterPool&) const = default;
};

/// Gross counts, one a share.
using RegisterCounts = std::vector<Amount>;

/// The smallest count there is, and the largest that the share could have in any split.
Amount least_count(const RegisterPool& pool);
Amount most_of(const RegisterPool& pool, std::size_t share);

/// Sum over warpgroups of their counts; launch * all warpgroups is the most.
Amount registers_used(const RegisterPool& pool, const RegisterCounts& counts);
/// Is it a split: allowed counts that add up to no more than the launch took?
bool is_split(const RegisterPool& pool, const RegisterCounts& counts);

/// The problem with the net registers of these counts, max(0, gross - resident), on its slots.
Problem with_counts(Problem problem, const RegisterPool& pool, const RegisterCounts& counts);

/// "load + aux": its slots.
std::string share_name(const Problem& problem, const RegisterPool::Share& share);

/// What a schedule's options say of a split, each name with its value: that it was a choice, the
/// count at launch, and the gross and net count of every share; with no counts the first two.
std::vector<std::pair<std::string, std::string>> split_options(const Problem& problem,
                                                               const RegisterPool& pool,
                                                               const RegisterCounts& counts);

}  // namespace twill
