// The problem: a loop already placed on a machine, all integers, nothing symbolic.
//
// Source: Soi et al., "Optimal Software Pipelining and Warp Specialization for Tensor Core GPUs"
// (arXiv:2512.18134, 2025), Section 3.1 (loop, RRT, machine description) and Figures 4-6
// (footprints, registers, spills, blocking edges). Plain data: every algorithm is a function over
// it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace twill {

using Cycle = std::int64_t;   ///< a time or a length, in cycles of the problem
using Amount = std::int64_t;  ///< registers, bytes, columns, unit instances

/// Bounds that check() enforces, chosen so that no sum in the library overflows 64 bits:
/// I <= kMaxOps * kMaxCycles, and delta * I <= 1e17.
inline constexpr Cycle kMaxCycles = 1'000'000'000;
inline constexpr Amount kMaxAmount = 1'000'000'000'000;
inline constexpr int kMaxDistance = 10'000;
inline constexpr int kMaxOps = 10'000;
inline constexpr int kMaxWidth = std::numeric_limits<int>::max();
/// How many of each a problem may have. What is made for every pair of an op and one of these is
/// then at most some 10 million, and a list of names is a page, no book.
inline constexpr int kMaxUnits = 1'000;
inline constexpr int kMaxMemories = 1'000;
inline constexpr int kMaxSlots = 1'000;
inline constexpr int kMaxChannels = 1'000;
inline constexpr int kMaxEdges = 1'000'000;
inline constexpr int kMaxPins = 100'000;
inline constexpr int kMaxInnerLoops = 1'000;
inline constexpr int kMaxSegments = 1'000'000;  ///< of all reservations together
inline constexpr int kMaxNameBytes = 1'000;     ///< of a unit, a memory, a slot or an op
/// What a schedule can need; up to kMaxStart no time of an unrolling overflows 64 bits.
inline constexpr Cycle kMaxInterval = kMaxOps * kMaxCycles;
inline constexpr Cycle kMaxStart = kMaxDistance * kMaxInterval;

/// A functional unit (TC, SFU, ALU, TMA, ...) with `capacity` >= 1 identical instances.
struct Unit {
  std::string name;
  Amount capacity = 1;
  bool operator==(const Unit&) const = default;
};

/// An on-chip memory; `capacity` is what is left after the loop's resident data.
struct Memory {
  std::string name;
  Amount capacity = 0;
  /// Does a load's ring take all its buffers all the time, as a kernel allocates them?
  /// Else what it loads counts while it is live. See memory_charges.hpp.
  bool rings = false;
  bool operator==(const Memory&) const = default;
};

/// numerator / denominator, in [0, kMaxAmount] and [1, kMaxAmount]; exact, not a floating number.
struct Fraction {
  Amount numerator = 0;
  Amount denominator = 1;
  bool operator==(const Fraction&) const = default;
};

/// What ops pass through without a reservation, in whatever order: a port, a bus, the issue slots
/// (rule 9). `rate` > 0 is in units a cycle; what the units are (bytes, instructions) is the file's
/// business.
struct Channel {
  std::string name;
  Fraction rate{1, 1};
  bool operator==(const Channel&) const = default;
};

/// A warp or a warp group that code can be assigned to.
struct WarpSlot {
  std::string name;
  int width = 1;                  ///< hardware warps (1, 4, 8)
  Amount registers = 0;           ///< registers per thread for tiles (net of the resident ones)
  bool variable_latency = false;  ///< the paper's W_vl; at most one slot has it
  bool operator==(const WarpSlot&) const = default;
};

/// One segment of an op's reservation table: `amount` instances of `unit` are busy in
/// [M(v) + offset, M(v) + offset + length).
struct Reservation {
  int unit = 0;
  Cycle offset = 0;
  Cycle length = 1;
  Amount amount = 1;
  bool operator==(const Reservation&) const = default;
};

/// What an op's result holds in a memory while it is live.
struct Footprint {
  int memory = 0;
  Amount amount = 0;
  bool operator==(const Footprint&) const = default;
};

/// What an op moves through a channel in an iteration.
struct Traffic {
  int channel = 0;
  Fraction amount;
  bool operator==(const Traffic&) const = default;
};

/// A tile-level operation of the loop body.
struct Op {
  std::string id;
  std::string kind;
  Cycle cycles = 0;                       ///< 0 = layout op: no unit, no issue slot
  std::vector<Reservation> reservations;  ///< grouped by unit, in the file's order
  Amount registers = 0;                   ///< per thread, held by the result on the issuing slot
  std::vector<Footprint> footprints;
  Cycle spill = 0;  ///< extra cycles before a consumer on another slot may start
  int width = 1;    ///< hardware warps needed: slots narrower than this are excluded
  bool variable_latency = false;
  bool streaming = false;  ///< variable latency, no incoming edge: cycles and delays are 0 (5.3)
  /// A load whose latency counts (rule 10): as streaming, but the delays of its edges are its
  /// latency, and the buffer that it fills is its own footprint, held from its issue on.
  bool in_flight = false;
  std::vector<Traffic> traffic = {};  ///< at most one for each channel
  /// Does a ring of buffers take what it loads?
  bool fills_ring() const { return streaming || in_flight; }
  bool operator==(const Op&) const = default;
};

/// A dependence: M(to) + distance * I >= M(from) + delay.
struct Edge {
  int from = 0;
  int to = 0;
  Cycle delay = 0;
  int distance = 0;
  bool blocking = false;  ///< `to` must execute a blocking wait on `from`
  Cycle hold = 0;         ///< from's result stays live this long after `to` issues
  /// Extra cycles where `to` is on another slot (rule 7); nothing: Op::spill of `from`.
  std::optional<Cycle> spill = {};
  bool operator==(const Edge&) const = default;
};

/// What has been decided about an op beforehand, so that hand-made schedules can be completed.
struct Pin {
  enum Kind {
    on_slot,      ///< op is on `slot`
    not_on_slot,  ///< op is not on `slot`
    at_cycle,     ///< M(op) = `cycle`
    same_slot,    ///< op is on the slot of `other`
    other_slot,   ///< op is not on the slot of `other`
    at_stage      ///< floor(M(op) / I) = `stage`
  } kind = on_slot;
  int op = 0;
  int slot = -1;
  Cycle cycle = -1;
  int other = -1;
  Cycle stage = -1;
  bool operator==(const Pin&) const = default;
};

/// An op of an inner loop, at `offset` cycles from the loop's first.
struct InnerPart {
  int op = 0;
  Cycle offset = 0;  ///< >= 0
  bool operator==(const InnerPart&) const = default;
};

/// An inner loop whose schedule and trip count are given (rule 12): its parts keep their offsets,
/// and while a part with cycles executes, the slot executes nothing else. Those parts are pinned to
/// slots, one each; `inner_loops.hpp` has what else is needed of them.
struct InnerLoop {
  std::string name;
  std::vector<InnerPart> parts;  ///< the smallest offset is 0; an op is part of one loop at most
  bool operator==(const InnerLoop&) const = default;
};

/// The initiation intervals that are asked about, both ends among them.
struct IntervalRange {
  Cycle least = 1;
  Cycle most = kMaxInterval;
  bool holds(Cycle ii) const { return least <= ii && ii <= most; }
  bool operator==(const IntervalRange&) const = default;
};

struct Problem {
  std::string name;
  double cycle_unit = 1.0;  ///< real clock cycles per cycle of this problem (informative)
  std::vector<Unit> units;
  std::vector<Memory> memories;
  std::vector<WarpSlot> warps;
  std::vector<Op> ops;
  std::vector<Edge> edges;
  std::vector<Pin> pins;
  std::vector<Channel> channels;
  std::vector<InnerLoop> inner_loops;
  IntervalRange interval = {};
  bool operator==(const Problem&) const = default;
};

/// Forgets the channels and what ops move through them: for loops whose cycles are others.
void drop_channels(Problem& problem);

/// "128", "7/2".
std::string fraction_text(const Fraction& fraction);

/// The extra cycles of a hand-over along an edge to another slot (rule 7).
Cycle spill_of(const Problem& problem, const Edge& edge);

/// "4 to 8", "4 or more", "at most 8".
std::string range_text(const IntervalRange& range);

/// "pin of S to w0", "P not on w0", "S at cycle 4", "P on the slot of S", "P not on the slot of S",
/// "S in stage 1".
std::string pin_text(const Problem& problem, const Pin& pin);

/// The latest cycle that an op is pinned to; -1 = none is.
Cycle latest_pinned_cycle(const Problem& problem);
/// The last stage that an op is pinned to; -1 = none is.
Cycle last_pinned_stage(const Problem& problem);
/// Is an op pinned to a cycle or a stage? Both count from the first cycle of iteration 0, so such a
/// schedule may not be rotated or shifted.
bool anchored(const Problem& problem);

/// The starts that pins to a cycle and to a stage leave an op, both ends among them.
struct StartRange {
  Cycle first = 0;
  Cycle last = kMaxStart;
};
/// Of every op, at `ii`.
std::vector<StartRange> pinned_starts(const Problem& problem, Cycle ii);

/// Index of the slot marked variable_latency, or -1.
int variable_latency_slot(const Problem& problem);

/// May op `v` be placed on slot `w`, but for pins? Width (paper Section 4.3, "operations that span
/// multiple warps") and variable latency (Figure 6): v is on the marked slot if and only if it is
/// variable latency; with no marked slot only the width counts.
bool slot_fits(const Problem& problem, int v, int w);

/// slot_fits(), and no pin of v itself says otherwise.
bool slot_allowed(const Problem& problem, int v, int w);

/// All slots op `v` may be placed on, ascending.
std::vector<int> allowed_slots(const Problem& problem, int v);

/// Is v's issue exempt from the concurrency rule because it sits on the variable-latency slot?
bool exempt_from_concurrency(const Problem& problem, int v);

/// Is every reservation of every op one segment per unit that starts at the op's issue?
bool single_segments(const Problem& problem);

/// The initiation interval from which on feasibility is monotone in I, so that one refutation at
/// I - 1 proves I optimal; nullopt = nothing is known. With single_segments() it is: inserting an
/// idle cycle into each period, M' = M + floor(M / I), keeps every constraint, and what is pinned
/// to a cycle below I stays there, and what is pinned to a stage in it. (No ring becomes deeper:
/// rows and stages stay, and in the depth floor((row(v) + cycles - row(u)) / I), whose numerator is
/// more than -I, does not grow with I.) So 1, or one more than the latest pinned cycle where that
/// is not 0. Nothing is known where there are inner loops: an idle cycle may fall between their
/// parts.
std::optional<Cycle> monotone_from(const Problem& problem);

/// Is feasibility monotone over all I?
bool monotone_in_ii(const Problem& problem);

}  // namespace twill
