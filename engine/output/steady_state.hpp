// The steady state of a schedule: one period of I cycles, seen by unit, by warp slot and by memory.
//
// Everything that is drawn comes from here. Iterations are named as in Figure 1f of the Twill paper
// (Soi et al., 2025): i is the oldest iteration that issues an op in the period, so an op of stage
// s belongs to iteration i + (stages - 1 - s): S[i+1], P[i], O[i].
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// A piece of an op's work inside the period, in cycles [begin, end) with 0 <= begin < end <= I.
/// Work that runs over the period's end is cut there and goes on at 0 as work of the iteration
/// before.
struct BusyPiece {
  int op = 0;
  Cycle begin = 0;
  Cycle end = 0;
  Cycle iteration = 0;  ///< the piece belongs to iteration i + this
  Cycle copies =
      1;  ///< work longer than I: whole periods, of this many iterations down from the above
  Amount amount = 1;  ///< instances of the unit; 1 on a slot
  bool first = true;  ///< holds the first cycle of the work
  bool last = true;   ///< holds the last one
  int lane = 0;       ///< pieces of one lane do not overlap
};

/// What one unit or one slot does in the period. A unit of up to kMaxLanesByAmount instances has a
/// lane per instance in use; a larger one has a lane per concurrent reservation.
struct Lanes {
  std::vector<BusyPiece> pieces;  ///< by begin, then lane
  int count = 1;                  ///< lanes, at least 1
};
inline constexpr Amount kMaxLanesByAmount = 8;

/// The ring of a load, of which a memory charges all buffers at every residue.
struct ChargedRing {
  int load = 0;
  Cycle buffers = 0;
  Amount each = 0;
};

/// What live results and charged rings hold, per residue of I: registers of a slot, or a memory.
struct Pressure {
  Amount capacity = 0;
  Amount peak = 0;
  Cycle peak_cycle = 0;                         ///< first residue with the peak
  std::vector<std::pair<Cycle, Amount>> steps;  ///< (residue from which, amount), ascending from 0
  std::vector<std::pair<int, Cycle>> live;      ///< (op, copies) at the peak, in op order
  std::vector<ChargedRing> rings;               ///< in op order
};

/// What passes through a channel: at no time of the period in particular.
struct ChannelLoad {
  int channel = 0;
  double busy = 0;     ///< share of I
  Cycle least = 1;     ///< the smallest I at its rate
  std::string sum;     ///< the arithmetic, "3 x 65536 + 32768 = 229376 at 128 a cycle"
  bool binds = false;  ///< I could not be smaller
};

struct SteadyState {
  Cycle ii = 1;
  Cycle stages = 1;
  std::vector<Cycle> row;       ///< per op: start mod I
  std::vector<Cycle> stage;     ///< per op: floor(start / I)
  std::vector<Cycle> lifetime;  ///< per op: cycles its result is live (model rule 3)
  std::vector<Cycle>
      copies;              ///< per op: most copies of its result live at once, ceil(lifetime / I)
  std::vector<int> order;  ///< ops by row; of one row, by the dependences met with no cycle between
  std::vector<Lanes> units;  ///< per unit, from the reservations
  /// Per unit: reserved share of capacity * I, 1.0 = always busy; of one with a channel of its
  /// name, through which loads in flight pass, that channel's.
  std::vector<double> busy;
  std::vector<ChannelLoad> channels;  ///< those that something passes through
  std::vector<Lanes> slots;           ///< per slot, from the cycles of its ops
  std::vector<Pressure> registers;    ///< per slot
  std::vector<Pressure> memories;     ///< per memory

  /// Iteration of op v relative to i, from 0 (oldest) to stages - 1.
  Cycle iteration(int v) const { return stages - 1 - stage[static_cast<std::size_t>(v)]; }
};

/// Works for any schedule with I >= 1 and start >= 0, valid or not: a rejected one can be looked at
/// too. Sums beyond 64 bits saturate.
SteadyState steady_state(const Problem& problem, const Schedule& schedule);

}  // namespace twill
