// The first iterations of loops that a compiler has pipelined or partitioned, executed one by one.
//
// After Triton's software pipeliner and warp specialiser a loop is one loop a partition, each with
// its iterations shifted; what orders their ops is barriers in shared memory and positions in rings
// of buffers, plain numbers. So the partitions are executed beside each other, with numbers,
// barriers (phases, arrivals, bytes expected: PTX ISA, mbarrier) and the contents of buffers, and
// nothing else: which execution of which op wrote what another one reads is then known. Loops are
// taken to run for long: a comparison whose outcome depends on their length has that of a long one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// Why a loop cannot be undone, and the op that it is about.
struct CannotUndo {
  int op = kNone;
  std::string why;
};

inline constexpr std::int64_t kBefore = -1;  ///< the iteration of what is executed before the loops

/// A sum of unknown numbers times factors, and a constant: what an integer is.
struct Linear {
  std::map<int, std::int64_t> terms;  ///< unknown -> factor, none 0
  std::int64_t constant = 0;
};

/// a + factor x b.
Linear sum_of(const Linear& a, const Linear& b, std::int64_t factor);
bool equal(const Linear& a, const Linear& b);

/// What a value is when an op reads it.
struct Datum {
  int value =
      kNone;  ///< the value of the module that it was made as, under whatever name it is read
  int made = kNone;  ///< the execution that it comes from; kNone: a function's argument, the
                     ///< variable of a loop
  std::optional<Linear> number;
  bool assumed = false;   ///< the number is that of a loop that runs for long
  int buffer = kNone;     ///< of a buffer: the execution of its allocation ...
  std::int64_t slot = 0;  ///< ... and its position in the ring
  bool whole = true;      ///< not a part of it
};

/// An access to a buffer by an execution, or a view of one: `before` is who wrote there last, kNone
/// where nobody did.
struct BufferUse {
  std::size_t read = 0;  ///< index of the operand
  int buffer = kNone;
  std::int64_t slot = 0;
  int before = kNone;
  bool reads = false, writes = false;
};

/// One execution of an op.
struct Execution {
  int op = kNone, thread = 0;
  std::int64_t iteration = kBefore;  ///< of the thread's loop
  /// What it reads: its operands, then what ops in its regions read from around it.
  std::vector<Datum> reads;
  std::vector<int> names;  ///< of each: the value that it is read as
  std::vector<BufferUse> buffers;
};

/// A loop that was replayed: its op and its bounds at entry (lower, upper, step).
struct ReplayedLoop {
  int op = kNone;
  std::vector<Datum> bounds;
};

struct Replay {
  std::vector<Execution> executions;  ///< in the order of time
  std::vector<ReplayedLoop> loops;    ///< of each thread that reached one
  int threads = 0;
  /// Branches that were taken, or not, as loops that run for long do.
  std::vector<int> assumed_branches;
};

inline constexpr std::int64_t kReplayed = 56;  ///< iterations of each thread's loop at most
/// Those that are looked at: behind the first fill of the rings, and before the last ones, which
/// partitions that are ahead of others alone come to.
inline constexpr std::int64_t kFirstSeen = 24, kLastSeen = 40;

/// Which thread (the function's, then one a partition) goes first wherever several could go on, or
/// last: where every read is ordered by barriers the replays of all paces agree.
struct Pace {
  int thread = kNone;  ///< kNone = no one
  bool first = true;
};

/// Replays the function around `loop`: the partitions of its ttg.warp_specialize up to the first
/// innermost loop of each, or else the loop itself, which has no loop in it. Throws CannotUndo.
/// `any_tile`: nothing is taken to be known of what the variables of loops around it are, as in any
/// iteration of theirs; else it is their first one.
Replay replay(const Module& module, int loop, const Pace& pace = {}, bool any_tile = false);

/// Is the value a barrier, or a ring of them?
bool is_barrier_buffer(const Module& module, int value);

}  // namespace twill::ttgir
