// A program: what the slots of a schedule execute, where results lie and who waits for whom. Plain
// data. Where the kernel says what its ops compute, the program has that, too, and can be executed
// (execute.hpp).
//
// An op of stage s handles iteration t - s in period t. A slot runs its ops in their order, period
// by period, from period 0 to n + stages - 2, and leaves out iterations below 0 and from n on: that
// is prologue, steady state and epilogue for every trip count n >= 0. Before an op its waits are
// executed in their order; a wait for an iteration outside 0 .. n-1 is left out.
//
// Channels are Tawa's asynchronous references (put, get, consumed on a ring of depth D; Chen et
// al., "Tawa: Automatic Warp Specialization for Modern GPUs with Asynchronous References",
// arXiv:2510.14719, 2025); barriers are those of the PTX ISA, "mbarrier".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/meaning/meaning.hpp"
#include "graph/problem.hpp"

namespace twill::program {

/// How an op ends, and who learns of it.
enum class Ending {
  at_once,  ///< before its slot goes on to the next instruction
  pending,  ///< later; its slot waits by a pending count, others on a barrier (MMA, tmem access)
  transaction,  ///< later; all wait on a barrier that counts bytes, its slot too (bulk copies)
};

/// A use of the copy that a storage's writer made `distance` iterations before. With distance > 0
/// the result is carried: its copies of iterations -distance .. -1 are there before the loop, and
/// those of the last `distance` iterations must be there after it.
struct Read {
  int storage = 0;
  int distance = 0;
  bool operator==(const Read&) const = default;
};

struct Op {
  std::string id;
  int slot = 0;
  int stage = 0;
  Ending ending = Ending::at_once;
  /// Ops of one slot with the same queue are executed one after the other, in the order of their
  /// issue; "" = none. So a later one needs no wait for an earlier one.
  std::string queue;
  std::vector<Read> reads;
  std::vector<int> writes;  ///< storages: of each the copy of the op's own iteration
  /// Storages among `reads` whose copy it may write over (an accumulator).
  std::vector<int> in_place;
  /// Does an asynchronous unit do its accesses (bulk copy, MMA), through the async proxy of the PTX
  /// ISA? Else the slot's own instructions do.
  bool async_proxy = false;
  /// After its writes its slot executes fence.proxy.async: without it an asynchronous unit need not
  /// see in shared memory what the slot's instructions wrote.
  bool fence = false;
  bool operator==(const Op&) const = default;
};

struct Slot {
  std::string name;
  int width = 1;         ///< hardware warps
  Amount registers = 0;  ///< a thread, for tiles
  bool operator==(const Slot&) const = default;
};

struct Memory {
  std::string name;
  Amount capacity = 0;  ///< in the memory's own units (bytes, columns); -1 = nothing is known
  bool operator==(const Memory&) const = default;
};

/// A ring of `depth` copies of a result; iteration i has copy i mod depth. It has one writer.
struct Storage {
  enum Kind {
    in_memory,     ///< copy c lies at base + c * size
    in_registers,  ///< of the writer's slot; a compiler names the copies
    order,         ///< no data: its readers come after its writer, `depth` says how far it may run
  };
  std::string name;
  Kind kind = order;
  int memory = -1;          ///< in_memory: index into Program::memories
  Amount size = 0;          ///< of a copy: the memory's units, or registers a thread
  int depth = 1;            ///< R >= 1
  Amount base = 0;          ///< in_memory; counted from where the loop's part of the memory begins
  Amount alignment = 1;     ///< of the base and of the size from copy to copy
  std::vector<int> shares;  ///< storages that it has addresses in common with, ascending
  bool operator==(const Storage&) const = default;
};

/// The completion of an op, iteration by iteration. On a barrier: a ring of `phases` mbarriers,
/// iteration i completes phase i / phases of barrier i mod phases, and a wait for it tests the
/// parity (i / phases) mod 2.
struct Event {
  int op = 0;
  /// Others that end on the same barrier, ascending: it completes iteration i when all of them
  /// have, in their iteration i. Empty where pending.
  std::vector<int> with = {};
  bool pending = false;   ///< no barrier: the op's own slot waits by a pending count
  bool consumed = false;  ///< of use to those alone who write over what the op has read
  int phases = 0;         ///< R >= 1; 0 where pending
  int arrivals = 0;       ///< that a phase expects; 0 where pending
  Amount bytes = 0;       ///< that a phase expects (transaction), else 0
  /// Of its first mbarrier in the memory kBarrierMemory, kBarrierBytes each, one after the other;
  /// -1 = nothing is said of it.
  Amount address = -1;
  bool operator==(const Event&) const = default;
};

/// The order that needs a wait.
enum class Need {
  raw,      ///< a result is read after it is written
  war,      ///< a copy is written again after it was read
  waw,      ///< and after it was written
  overlay,  ///< a copy is written after another storage at its place was used
  turn,     ///< the order of two ops on a unit that they share
};

/// Before op `before` of iteration i: until `event` of iteration i - offset has happened.
struct Wait {
  int before = 0;
  int event = 0;
  int offset = 0;
  Need need = Need::raw;
  int storage = -1;  ///< whose order it is; -1 = none's
  bool operator==(const Wait&) const = default;
};

/// The placements that are looked at (placement.hpp), as program files name them.
inline constexpr const char* kPlacementClass =
    "one base a ring; storages share addresses with one copy each, or copy on copy";

/// What is proved of all schedules of a problem whose program has a placement of this class: none
/// has a smaller I, and none of this I a smaller L.
struct PlacedBounds {
  Cycle initiation_interval = 0;
  Cycle length = 0;
  bool reached = false;  ///< the program's schedule has this I and this L
  bool operator==(const PlacedBounds&) const = default;
};

struct Program {
  std::string problem;         ///< name
  std::string problem_sha256;  ///< of the problem file's bytes
  std::string status;          ///< of the schedule: "optimal" or "feasible"
  Cycle initiation_interval = 0;
  Cycle ii_lower_bound = 0;  ///< proved
  /// Where the best schedules have no placement, and others were searched.
  std::optional<PlacedBounds> placed;
  /// Which schedules `status` and the bounds are about (restriction_of()); "" = all of the problem.
  std::string searched_only;
  std::vector<Slot> slots;
  std::vector<Memory> memories;
  std::vector<Op> ops;  ///< slot by slot, in the order in which a period runs them
  std::vector<Storage> storages;
  std::vector<Event> events;  ///< of an op at most one on a barrier and one pending
  std::vector<Wait> waits;    ///< op by op, in the order in which they are executed
  /// What the ops compute; without it nobody can execute the program. An op runs the value of its
  /// name, or those that are part of it; values that no op runs are views of what they use.
  std::optional<meaning::Meaning> meaning;
  bool operator==(const Program&) const = default;
};

/// Where mbarriers lie, which is also what fences are about, and what one takes (PTX ISA,
/// "mbarrier": 64 bits, aligned to 8 bytes).
inline constexpr const char* kBarrierMemory = "smem";
/// In which an MMA adds to its result in place (PTX ISA, tcgen05.mma: D is an address).
inline constexpr const char* kTensorMemory = "tmem";
inline constexpr Amount kBarrierBytes = 8;

/// What a reader accepts, beside the bounds of a problem (graph/problem.hpp).
inline constexpr int kMaxStage = 1'000'000;
inline constexpr int kMaxDepth = 1'000'000;

/// 1 + the largest stage; 0 without ops.
int stage_count(const Program& program);

/// Op of every storage that writes it; -1 = none does (the judge refuses that).
std::vector<int> writers(const Program& program);

/// The op of an event and those that end with it.
std::vector<int> ops_of(const Event& event);
/// Is it one of them?
bool ends(const Event& event, int op);

/// "RAW", "WAR", "WAW", "overlay", "turn".
const char* to_string(Need need);

/// Tawa's aref: what one slot puts and others get.
struct Channel {
  int storage = 0;
  int producer = 0;            ///< op
  std::vector<int> consumers;  ///< ops of other slots, ascending
  int put = -1;                ///< event of the producer that is waited for; -1 = implied
  std::vector<int> consumed;   ///< events of consumers that are waited for
};
/// One for every storage that is read on another slot than it is written on, in their order.
std::vector<Channel> channels(const Program& program);

}  // namespace twill::program
