#include "graph/moved_together.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "graph/index.hpp"
#include "graph/loop.hpp"
#include "graph/verify.hpp"

namespace twill {
namespace {

class Mover {
 public:
  Mover(const Problem& problem, const Schedule& schedule)
      : problem_(problem), given_(schedule), parts_(weakly_connected_components(problem)) {}

  Schedule run() {
    const Cycle period = given_.initiation_interval;
    if (parts_.count < 2 || period <= 0) return given_;
    find_room();
    later_.assign(at(parts_.count), 0);
    for (bool falls = true; falls;) {
      falls = false;
      for (int part = 0; part < parts_.count; ++part) falls |= move(part);
    }
    Schedule moved = given_;
    for (std::size_t v = 0; v < moved.start.size(); ++v)
      moved.start[v] += later_[at(parts_.of[v])] * period;
    return moved == given_ || verify(problem_, moved) ? given_ : moved;
  }

 private:
  /// Periods by which each part may be later.
  void find_room() {
    const Cycle period = given_.initiation_interval, last_stage = stage_count(given_) - 1;
    room_.assign(at(parts_.count), std::numeric_limits<Cycle>::max());
    for (std::size_t v = 0; v < problem_.ops.size(); ++v) {
      Cycle& most = room_[at(parts_.of[v])];
      const Cycle end = given_.start[v] + problem_.ops[v].cycles;
      most =
          std::min({most, (given_.length - end) / period, last_stage - given_.start[v] / period});
      most = std::max<Cycle>(most, 0);
    }
    for (const Pin& pin : problem_.pins)
      if (pin.kind == Pin::at_cycle || pin.kind == Pin::at_stage)
        room_[at(parts_.of[at(pin.op)])] = 0;
  }

  /// Stages of a slot's ops: of those of a part, and of all others.
  struct Stages {
    Cycle first = std::numeric_limits<Cycle>::max(), last = -1;
    bool none() const { return last < 0; }
    void add(Cycle stage) {
      first = std::min(first, stage);
      last = std::max(last, stage);
    }
  };

  /// Moves a part to where stages between the first and the last op of each slot, all slots
  /// together, are fewest; to the earliest such place, unless it is at one.
  bool move(int part) {
    std::vector<Stages> own(problem_.warps.size()), others(problem_.warps.size());
    for (std::size_t v = 0; v < problem_.ops.size(); ++v) {
      const Cycle stage = given_.start[v] / given_.initiation_interval;
      const bool mine = parts_.of[v] == part;
      (mine ? own : others)[at(given_.warp[v])].add(mine ? stage
                                                         : stage + later_[at(parts_.of[v])]);
    }
    const auto spread = [&](Cycle by) {
      Cycle sum = 0;
      for (std::size_t slot = 0; slot < own.size(); ++slot) {
        if (own[slot].none() || others[slot].none()) continue;
        sum += std::max(own[slot].last + by, others[slot].last) -
               std::min(own[slot].first + by, others[slot].first);
      }
      return sum;
    };
    // It is convex: least where the first or the last ops of a slot meet, or at an end.
    std::vector<Cycle> places{0};
    for (std::size_t slot = 0; slot < own.size(); ++slot) {
      if (own[slot].none() || others[slot].none()) continue;
      for (const Cycle by :
           {others[slot].first - own[slot].first, others[slot].last - own[slot].last})
        places.push_back(std::clamp<Cycle>(by, 0, room_[at(part)]));
    }
    std::sort(places.begin(), places.end());
    Cycle& here = later_[at(part)];
    const Cycle before = here;
    for (const Cycle by : places)
      if (spread(by) < spread(here)) here = by;
    return here != before;
  }

  const Problem& problem_;
  const Schedule& given_;
  Components parts_;
  std::vector<Cycle> room_, later_;
};

}  // namespace

Schedule moved_together(const Problem& problem, const Schedule& schedule) {
  return Mover(problem, schedule).run();
}

}  // namespace twill
