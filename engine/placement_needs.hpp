// What every program with a placement needs of its schedule, stated so that it is never more.
//
// A need is a consequence of how derive() makes programs, in the schedule's own time: a copy of a
// storage is written after the uses of the copy that was there before. Of such a use nothing is
// taken for granted but its issue where some schedule may let the order of a slot's code (or of a
// queue) do the waiting, and its end else. Needs are asked by ops that take no time, are used by
// nobody and show nothing, so that no rule of the model (lifetimes, rings, registers) sees the ops
// of the loop otherwise than before.
#pragma once

#include <optional>
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

class PlacementNeeds {
 public:
  /// `draft` is of some schedule of the problem.
  PlacementNeeds(const Problem& problem, const program::Draft& draft);

  /// An op that reads a result: the same in all schedules. `op` is the problem's.
  struct Reader {
    int op = 0;
    int distance = 0;
    bool accumulates = false;
    auto operator<=>(const Reader&) const = default;
  };
  const std::vector<Reader>& readers(int op) const {
    return readers_[static_cast<std::size_t>(op)];
  }
  /// Without the op itself: those that its result may be handed over to.
  std::vector<Reader> others(int op) const;

  /// Asks that a result in memory has `most` copies at most. False = no schedule has so few.
  bool ask_depth(Problem& problem, const StorageKey& key, int most) const;

  /// Asks that what `op` hands over to `reader` is read before the copy `most` later is made.
  bool ask_read_before(Problem& problem, int op, const Reader& reader, int most) const;

  /// Asks that two storages never have more than `most` copies that hold something. Of one that is
  /// handed over only the `far` reader is looked at.
  void ask_turns(Problem& problem, std::pair<StorageKey, std::optional<Reader>> a,
                 std::pair<StorageKey, std::optional<Reader>> b, Amount most) const;

 private:
  /// Cycles from the issue of op `first` on before which no program lets op `then` write over what
  /// it uses; 0 = a slot, or a queue, may keep the order.
  Cycle wait(int first, int then) const;
  bool can_meet_in_a_slot(int a, int b) const;
  int code(int op) const { return code_[static_cast<std::size_t>(op)]; }

  bool ask_order(Problem& problem, int first, int then, Cycle delay, int offset) const;
  bool ask_interval(Problem& problem, int op, int most) const;
  bool ask_ring(Problem& problem, int load, int most) const;
  void ask_copy(Problem& problem, int memory, const StorageKey& key,
                const std::optional<Reader>& far, int other) const;
  bool charges_only_uses(int load, int other) const;
  void hold_to_the_end(Problem& problem, int load, int other) const;
  bool may_hold(int load, const Reader& reader, Cycle hold) const;
  bool writes_there(int v, int memory) const;
  bool unread_views(int op) const;

  const Problem& problem_;
  const program::Draft& draft_;
  std::vector<int> code_;  ///< per op, its number in the program; -1 = none
  std::vector<std::vector<Reader>> readers_;
  bool has_free_slot_ = false;  ///< for ops that take no time
};

}  // namespace twill
