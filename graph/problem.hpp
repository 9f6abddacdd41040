// The problem: a loop already placed on a machine, all integers, nothing symbolic.
//
// Source: Soi et al., "Optimal Software Pipelining and Warp Specialization for Tensor Core GPUs"
// (arXiv:2512.18134, 2025), Section 3.1 (loop, RRT, machine description) and Figures 4-6
// (footprints, registers, spills, blocking edges). Plain data: every algorithm is a function over
// it.
#pragma once

#include <cstdint>
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
  bool operator==(const Memory&) const = default;
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
  bool operator==(const Edge&) const = default;
};

struct Problem {
  std::string name;
  double cycle_unit = 1.0;  ///< real clock cycles per cycle of this problem (informative)
  std::vector<Unit> units;
  std::vector<Memory> memories;
  std::vector<WarpSlot> warps;
  std::vector<Op> ops;
  std::vector<Edge> edges;
  bool operator==(const Problem&) const = default;
};

/// Index of the slot marked variable_latency, or -1.
int variable_latency_slot(const Problem& problem);

/// May op `v` be placed on slot `w`? Width (paper Section 4.3, "operations that span multiple
/// warps") and variable latency (Figure 6): v is on the marked slot if and only if it is variable
/// latency; with no marked slot only the width counts.
bool slot_allowed(const Problem& problem, int v, int w);

/// All slots op `v` may be placed on, ascending.
std::vector<int> allowed_slots(const Problem& problem, int v);

/// Is v's issue exempt from the concurrency rule because it sits on the variable-latency slot?
bool exempt_from_concurrency(const Problem& problem, int v);

/// True when every reservation of every op is one segment per unit that starts at the op's issue.
/// Then feasibility is monotone in I (inserting an idle cycle into each period keeps every
/// constraint), so one refutation at I - 1 proves I optimal.
bool monotone_in_ii(const Problem& problem);

}  // namespace twill
