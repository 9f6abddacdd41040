// Memory dependences: who reads and writes which buffer of shared or tensor memory in a loop.
#pragma once

#include <vector>

#include "graph/ttgir/ir.hpp"
#include "graph/ttgir/sources.hpp"

namespace twill::ttgir {

struct Access {
  int op = kNone;  ///< of the body; for an op inside a nested region the op around it
  bool reads = false, writes = false;
  bool product = false;  ///< by the Tensor Core, which works in order
  bool ring = false;     ///< one of several buffers behind the root
  bool inner = false;    ///< by the inner loop of a nest
  /// Of those: does it read what the inner iteration before left, if nothing is written between?
  bool reads_on = false;
};

struct Buffer {
  int root = kNone;              ///< value
  std::vector<Access> accesses;  ///< in the order of the program, one an op
  bool outside = false;          ///< allocated before the loop
  bool outside_inner = false;    ///< of a nest: not allocated in its inner loop
  /// Written whole before it is read in every iteration: nothing is carried in it, so it is a value
  /// of the iteration (it can be given a second buffer) and not resident.
  bool fresh = false;
  bool written = false;  ///< in the loop, by something else than its allocation
  /// An accumulator of tensor memory in a loop with tt.disallow_acc_multi_buffer: fresh or not, it
  /// gets no second buffer.
  bool single = false;
};

/// Is the op in a loop with tt.disallow_acc_multi_buffer? Triton gives the accumulators of tensor
/// memory products there one buffer, and knows the attribute for no other products.
bool disallows_second_accumulator(const Module& module, int op);

/// The buffers that the loop's body uses, in the order of their first use.
std::vector<Buffer> buffers_of(const Module& module, const Sources& sources, int loop);

}  // namespace twill::ttgir
