// Why the storages of one schedule have no placement in a memory, and as little of that as is
// enough.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "graph/problem.hpp"
#include "graph/program/fit.hpp"

namespace twill {

/// A storage, whatever the schedule: an op of the problem and a memory.
using StorageKey = std::pair<int, int>;

/// Blocks of one memory in one schedule, as favourable as the schedules that are looked at can have
/// them. Amounts are the memory's units: bytes of shared memory, columns of tensor memory.
struct PlacementConflict {
  int memory = 0;
  std::vector<StorageKey> keys;
  std::vector<bool> handed;       ///< it is there because registers are handed over
  std::vector<bool> vague;        ///< no footprint counts its copies
  std::vector<bool> there;        ///< not left out by shrink()
  std::vector<int> depth, least;  ///< copies: now, and at least
  std::vector<Amount> stride, size;
  std::vector<Amount> alignment;
  std::vector<program::Meet> meet;
  int barriers = 0, least_barriers = 0;
  Amount capacity = -1;  ///< of the memory; -1 = no limit

  program::Meet& how(std::size_t a, std::size_t b) { return meet[a * keys.size() + b]; }
  program::Meet how(std::size_t a, std::size_t b) const { return meet[a * keys.size() + b]; }

  /// Is it proved that they do not fit?
  bool holds() const;

  /// Leaves as little as it can of what schedules can differ in; what is hard to ask of them goes
  /// first.
  void shrink();

  /// Are both there, and might they meet more than they do?
  bool open(std::size_t a, std::size_t b) const {
    return there[a] && there[b] &&
           (how(a, b) == program::Meet::never || how(a, b) == program::Meet::same);
  }
};

}  // namespace twill
