// A program in time: how long a run takes when ops take their cycles. Everything happens as early
// as the program lets it: nothing waits for the cycle that the schedule has for it. Shares no code
// with the judge (judge.hpp), which asks what may happen in any order; this is one run.
//
// A slot issues its code in order. An op is issued when the one before it has been (or, where that
// one ends at once, has begun), when its waits have passed, when the edges into it are kept
// (delays, hand-overs) and, where it executes a blocking wait, when nothing else executes on its
// slot (rule 8). Then it asks for its units, segment by segment; where one is late, what follows
// moves with it. An op that ends later leaves its slot free while it is in the queue.
//
// In the order of the schedule no op ever begins later than the schedule has it, M(v) + i I: that
// holds for what is issued first, and each of these conditions is one that the schedule keeps
// (rules 1, 2, 7, 8, and the orders of the waits), each growing with the moments it is made of. So
// the loop is never slower than I. It may be faster where I is bound by what a program fixes
// otherwise: registers, memory, whole cycles.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/barrier_costs.hpp"
#include "graph/problem.hpp"
#include "graph/program/program.hpp"
#include "graph/schedule.hpp"

namespace twill::program {

/// Who is first at a unit that several ask for.
enum class UnitOrder {
  schedules,  ///< whoever is in the schedule: as with turns
  arrival,    ///< whoever comes first, of two at once the one of the older iteration: what a
              ///< program does that has no turns
};

using twill::BarrierCosts;

struct TimedRun {
  int iterations = 0;
  /// Per op and iteration, op * iterations + i.
  std::vector<Cycle> start;
  std::vector<Cycle> late;  ///< by how much its last segment is later than its first would have it
  std::vector<Cycle> slowed;  ///< by how much other units made it longer; empty = not at all
  std::vector<Cycle> end;     ///< per iteration, when all its ops have had their cycles
  Cycle total = 0;            ///< when all have
  /// Per wait, cycles that slots stood at it, in all iterations.
  std::vector<Cycle> stood;
};

/// Iterations end `clocks` every `every` of them, from iteration `from` on.
struct Steady {
  int from = 0;
  int every = 1;
  Cycle clocks = 0;
};

class Clock {
 public:
  /// `program` must be what derive() made of `problem` and `schedule`; n >= 0.
  Clock(const Program& program, const Problem& problem, const Schedule& schedule, int n,
        UnitOrder order);

  /// `factor` has, per op and iteration, by how many thousandths of its own costs an op takes;
  /// empty = 1000 each.
  TimedRun run(const BarrierCosts& costs, const std::vector<int>& factor = {}) const;

  int iterations() const { return n_; }

 private:
  friend class TimedExecution;
  friend class ContendedExecution;
  template <class Run, std::int64_t kCycle>
  friend class IssueMoment;
  struct Piece {  ///< a segment of a reservation
    int unit = 0;
    Cycle offset = 0, length = 0;
    Amount amount = 1;
  };
  struct Given {  ///< an edge of the problem
    int from = -1, distance = 0;
    Cycle delay = 0, spill = 0;
  };
  struct Awaited {  ///< a wait of the program; `first` and `before` are ops of the problem
    int wait = 0, first = 0, offset = 0;
    bool barrier = false;
    bool result = false;  ///< it is for an operand: edges say when
    bool last = true;     ///< of the ops that end on its barrier
    Given edge;           ///< from `first`; from = -1: it comes through zero-cycle ops
  };
  struct Task {  ///< an op of the problem
    Cycle cycles = 0, ends = 0;
    bool code = false;
    bool at_once = false;
    bool alone = false;  ///< when it is issued nothing else executes on its slot (rule 8)
    int slot = 0;
    int op = -1;  ///< of the program
    std::vector<Piece> pieces;
    std::vector<Given> edges;
    std::vector<Awaited> waits;
  };
  std::size_t instance(int v, std::int64_t i) const {
    return static_cast<std::size_t>(v) * static_cast<std::size_t>(n_) + static_cast<std::size_t>(i);
  }
  /// How many of v's segments have begun by so many cycles of its own: what happens then is as late
  /// as the last of these.
  int level(int v, Cycle cycles) const;
  void add_tasks(const Program& program);
  void add_code(const Program& program);
  void add_order();
  void add_dependents();

  const Problem& problem_;
  const Schedule& schedule_;
  int n_;
  UnitOrder order_;
  std::size_t waits_ = 0, program_ops_ = 0;
  std::vector<Task> tasks_;  ///< per op of the problem
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  // Per instance of the problem's ops:
  std::vector<std::size_t> previous_, next_;      ///< in the code of the slot
  std::vector<std::size_t> ahead_, behind_;       ///< in the queue of the slot
  std::vector<std::vector<std::size_t>> others_;  ///< that must have ended
  /// That it must be issued after, by a cycle: a wait at which nothing else executes.
  std::vector<std::vector<std::size_t>> waiters_;
  struct Dependent {
    std::uint32_t who = 0;
    int level = 0;
    Cycle after = 0;  ///< that many cycles of it
  };
  /// Who is told that so many segments of an instance have begun, as often as it is named.
  std::vector<std::vector<Dependent>> dependents_;
  std::vector<int> open_;  ///< how many tell it
  /// Per unit, in the schedule's order: instance and piece.
  std::vector<std::vector<std::pair<std::size_t, int>>> turns_;
};

/// Clocks an iteration of the middle half of a run: the first ones fill the pipeline, the last ones
/// have the units for themselves. Needs n >= 4.
double middle_clocks(const TimedRun& run);

/// The last iterations, before the loop drains, that repeat; nullopt = they do not, or are too few.
std::optional<Steady> steady_state(const TimedRun& run, int stages);

}  // namespace twill::program
