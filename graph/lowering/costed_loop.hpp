// Between a kernel and a problem: the kernel's ops with a machine's costs, before any slot layout.
// Private to graph/*.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "graph/lowering/kernel.hpp"
#include "graph/lowering/machine.hpp"
#include "graph/problem.hpp"

namespace twill {

/// An op of the problem to be, with raw cycles (streaming is not applied yet).
struct CostedOp {
  Op op;  ///< units and memories are indices into the machine's
  Cycle occupancy = 0;
  Cycle latency = 0;              ///< default delay of its outgoing edges
  std::vector<Traffic> traffic;   ///< by the machine's channels; what is said of the op ...
  std::vector<Traffic> reserved;  ///< ... and what its reservations of units with such names are
  std::vector<Traffic>
      in_units;              ///< by the machine's units: what loads in flight within pass there
  std::vector<int> unknown;  ///< channels through which it moves nobody knows how much
  bool estimate = false;     ///< the rule's
};

struct CostedLoop {
  std::vector<CostedOp> ops;
  std::vector<Edge> edges;
};

/// Every op's cost on the machine, every edge's delay, chunked chains fused and aliases resolved.
/// Both together, by channel.
std::vector<Traffic> all_traffic(const CostedOp& op, const std::string& source);

/// What a sum of traffic is. Throws InputError where it has too many digits.
Fraction sum_of(const Fraction& a, const Fraction& b, const std::string& source);

/// With `holds` what an asynchronous op reads stays live until it ends, also through a view or a
/// descriptor of a buffer.
/// Throws InputError (kernel file, JSON pointer) when the machine has no rule for a kind, lacks a
/// memory, or a number overflows.
CostedLoop cost_kernel(const Kernel& kernel, const Machine& machine, bool holds = false);

/// One op on its own; `columns` > 0 = for a chunk of that many columns of its tile.
CostedOp cost_op(const Kernel& kernel, const Machine& machine, std::size_t v,
                 std::int64_t columns = 0);

/// Fuses each chunked chain into one op, at the place of the chain's first op: n chunks, each
/// taking c_k cycles in op k and w_u cycles of unit u. The unit is reserved for n * w_u from issue
/// (one segment at offset 0, so that feasibility stays monotone in I). The first chunk leaves the
/// chain after sum c_k; from then on the busiest unit, which has max w_u to do for each chunk,
/// delivers one every max w_u. Length: sum c_k + (n - 1) * max w_u, at least every reservation.
/// The fused op holds the registers of one chunk (the largest in the chain) and the last op's
/// result: its footprint in memory or, where the chain ends in registers, the whole tile's, with
/// its spill. Edges are redirected, those of distance 0 inside the chain dropped; what leaves the
/// chain is complete when the whole tile is. (Of integers that are computed element by element the
/// only chunk is the tile, and the chain any ops that end in one: graph/ttgir/integer_chains.cpp.)
CostedLoop fuse_chunks(const Kernel& kernel, const Machine& machine, CostedLoop loop);

/// Edges for views that hold nothing: each consumer of a view also gets an edge from the op that
/// holds the value (delay 0, distances added), so that the value stays live and crossing slots
/// costs its spill. Chains of views resolve to their root. `hold_of` gives the hold of such an
/// edge, from the use of the view and the op that holds the value.
using HoldOf = std::function<Cycle(const KernelEdge& use, std::size_t holder)>;
void add_alias_edges(const Kernel& kernel, CostedLoop& loop, const HoldOf& hold_of);

}  // namespace twill
