// Some ops of a loop on slots and cycles at one initiation interval, and what that takes: the state
// of the list scheduler. A result is held from its op's issue to the last use among the ops that
// are placed, and for uses that are not placed as long as their delay and hold take at least.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/list_scheduling/profile.hpp"
#include "graph/problem.hpp"
#include "graph/ring_depth.hpp"
#include "graph/schedule.hpp"
#include "graph/wide.hpp"

namespace twill {

/// What a period cannot hold, after an op has been placed.
struct Clash {
  enum Kind {
    dependence,     ///< with op `index`, which is placed
    unit,           ///< unit `index` is full at `when`
    registers,      ///< of slot `index`
    memory,         ///< memory `index`
    waits_for_run,  ///< op `index` waits at `when`, and something executes on its slot
    runs_over_wait  ///< the op executes at `when`, and op `index` waits then on its slot
  } kind = dependence;
  int index = 0;
  Cycle when = 0;    ///< any of the residue
  bool own = false;  ///< of registers and memory: the life of the op's own result
};

class PartialSchedule {
 public:
  /// Do registers and memories clash, or does excess() say by how much they overflow?
  enum class Storage { clashes, may_overflow };
  /// `problem` must outlive it and have no inner loops.
  PartialSchedule(const Problem& problem, Cycle ii, Storage storage = Storage::clashes);

  /// While nothing is placed: a use that is not placed yet is expected that long after its producer
  /// as in these starts.
  void expect(const std::vector<Cycle>& starts) { expected_ = starts; }
  /// While nothing is placed: every op will be on its slot of these. (So what it waits for is known
  /// before that is placed.)
  void plan(const std::vector<int>& slots) { planned_ = slots; }

  Cycle ii() const { return ii_; }
  bool placed(int v) const { return slot_[static_cast<std::size_t>(v)] >= 0; }
  Cycle start(int v) const { return start_[static_cast<std::size_t>(v)]; }
  int slot(int v) const { return slot_[static_cast<std::size_t>(v)]; }
  const std::vector<int>& slots_of(int v) const { return allowed_[static_cast<std::size_t>(v)]; }

  /// When dependences on what is placed allow v on slot w.
  struct Window {
    bool before = false, after = false;  ///< is an op placed that v comes behind, or before?
    Cycle first = 0, last = 0;           ///< where there is such an op
  };
  Window window(int v, int w) const;

  /// The first, or the last, t of [from, to] with room for v on units, between waits, and for the
  /// least of its result. What else it needs is what clash() says.
  std::optional<Cycle> first_room(int v, int w, Cycle from, Cycle to) const;
  std::optional<Cycle> last_room(int v, int w, Cycle from, Cycle to) const;

  /// Puts v on a slot and a cycle, whatever clashes.
  void place(int v, int w, Cycle t);
  void remove(int v);
  /// What clashes since the last place(), the first of it or none.
  std::optional<Clash> clash() const;
  /// The ops whose removal makes a clash less, but for v, ascending.
  std::vector<int> blamed(const Clash& clash, int v) const;
  /// By how much the lives grew at the last place(): the sum of amount x cycles / capacity, times
  /// kGrowthUnit.
  Wide growth() const { return growth_; }
  static constexpr Cycle kGrowthUnit = 1'000;
  /// About what the last place() took above the capacities of registers and memories, amount x
  /// cycles: a life of several periods counts once, one that grew twice can count twice. It is 0
  /// only where nothing more overflows.
  Wide new_excess() const;
  /// What all takes above them.
  Wide excess() const;
  /// What executes on a slot, in cycles.
  Cycle load(int w) const { return load_[static_cast<std::size_t>(w)]; }

  /// All ops are placed. The earliest op starts in the first period, and no earlier than its pin.
  Schedule schedule() const;

 private:
  struct Ring {
    int load = 0;
    std::vector<BufferUse> uses;
    std::vector<std::pair<int, Amount>> amounts;  ///< memory, each buffer
    Cycle depth = 0;                              ///< as counted now; 0 = not placed
  };
  struct Use {
    int op;
    Cycle offset, length;
  };
  struct Touched {
    Clash::Kind kind;
    int index;
    Cycle begin, length;
    bool own;
    Amount amount;
  };

  const Op& op(int v) const { return problem_.ops[static_cast<std::size_t>(v)]; }
  bool crosses(const Edge& e) const;
  bool hands_over(const Edge& e, int w) const;
  bool takes_turns(int w) const { return w != variable_latency_; }
  Cycle life(int v) const;
  Cycle least_life(int v) const;
  void hold(int v, Cycle begin, Cycle end, int sign);
  void stretch(int v);
  void wait(int v, int by);
  void settle_rings(int v);
  Profile& profile(Clash::Kind kind, int index);
  const Profile& profile(Clash::Kind kind, int index) const;
  template <typename Fit>
  std::optional<Cycle> room(int v, int w, Cycle from, Cycle to, const Fit& fit) const;
  bool waits_on(int v, int w) const;
  bool alone_at(int v) const;

  const Problem& problem_;
  Cycle ii_;
  bool soft_;  ///< storage may overflow
  int variable_latency_;
  std::vector<std::vector<int>> allowed_, in_, out_;  // in_ and out_: edges, by op
  std::vector<std::vector<std::pair<int, Amount>>> held_;
  // Who can be blamed, each ascending: by unit, for registers, by memory, for a run.
  std::vector<std::vector<Use>> uses_;
  std::vector<int> in_registers_, executing_ops_;
  std::vector<std::vector<int>> in_memory_;
  std::vector<Ring> rings_;
  std::vector<std::vector<int>> rings_of_;  // by op: of which it is the load or a use
  std::vector<Profile> units_, registers_, memories_;
  std::vector<Profile> executing_, waiting_;  // of slots; one at a time beside a wait
  std::vector<Cycle> start_, life_, load_;
  std::vector<Cycle> expected_;    ///< starts, or empty
  std::vector<int> planned_;       ///< slots, or empty
  std::vector<int> slot_, waits_;  // waits_: for how many edges
  std::vector<Touched> touched_;
  std::vector<int> new_waits_;
  int last_ = -1;
  Wide growth_ = 0;
};

}  // namespace twill
