// What every program with a placement needs of its schedule beyond the problem's rules.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "engine/placement_conflict.hpp"
#include "graph/program/storages.hpp"

namespace twill {

/// Is storage `s` of the draft there only because registers are handed over: does the problem count
/// no bytes of it?
bool handed_over(const program::Draft& draft, int s);

/// Storage `s` of the draft, whatever the schedule.
StorageKey storage_key(const program::Draft& draft, int s);

/// Other ops that read what `op` makes, and how many iterations later.
std::vector<std::pair<int, int>> reading_ops(const program::Draft& draft, int op);

/// What every program with a placement needs of its schedule: whose end it is that writers wait
/// for.
class PlacementNeeds {
 public:
  PlacementNeeds(const Problem& problem, const program::Draft& draft)
      : problem_(problem), draft_(draft) {}

  /// The problem, with operands in memory held until readers have ended whose slot never keeps the
  /// order by itself.
  Problem strengthened();

  /// Cycles from the reader's issue on that writers of this storage wait for; 0 = its slot, or a
  /// queue, keeps the order. After strengthened().
  Cycle hold(const StorageKey& key, int reader) const {
    const auto held = holds_.find({key, reader});
    return held == holds_.end() ? 0 : held->second;
  }

  /// Is `op` the writer itself, or a view of what it made?
  bool shows(int op, int writer) const;

 private:
  /// Is the end of this reader, and nothing less, what writers in the memory come after?
  bool ends_alone(int op, int memory) const;

  /// Does op `v` of the program write into this memory, or hand registers over through it?
  bool writes_there(int v, int memory) const;

  const Problem& problem_;
  const program::Draft& draft_;
  std::map<std::pair<StorageKey, int>, Cycle> holds_;  ///< of a storage and a reader
};

}  // namespace twill
