// A loop of a TTGIR module as a Kernel, the same thing that a kernel file is read to.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "graph/lowering/kernel.hpp"
#include "graph/lowering/machine.hpp"
#include "graph/ttgir/ir.hpp"
#include "graph/ttgir/loops.hpp"

namespace twill::ttgir {

/// Measured cycles that replace a rule's (a profile file, see profile.hpp).
struct Measured {
  Cycle cycles = 0, occupancy = 0, latency = 0;
};

struct LoopOptions {
  std::optional<int> module;        ///< --module N of a file with several, from 0
  std::optional<int> loop;          ///< --loop N, else the default choice
  int subtile = 1;                  ///< tile program split this many ways along M
  Amount resident_registers = 24;   ///< per thread, for addresses and the like
  std::int64_t chunk_columns = 32;  ///< of load-scale-store chains of an accumulator; 0 = whole
  std::int64_t trips = 16;          ///< of an inner loop whose count is not constant
  bool nest = false;                ///< the loop's one inner loop with its ops, not as one op
  bool sequence = false;            ///< one of several loops that make up the function together
  bool undo_rings = false;      ///< copies into rings with tokens: undone where all of it can be
  bool stored_factors = false;  ///< with_stored_factors(), where there are some
  std::map<std::string, Measured> profile;  ///< by node, op name or kind
  LowerOptions lower = {};                  ///< its reading: inner loops cost what they would alone
};

/// What a node of the graph stands for.
struct NodeInfo {
  int op = kNone;      ///< in the module
  int copy = 0;        ///< sub-tile
  std::string part;    ///< "" = the op; "read", "stage" = its half on the computing warps
  std::string rule;    ///< the kind of the machine's rule; "" = none asked
  std::string note;    ///< how it was arrived at, where that is not plain
  bool inner = false;  ///< in the inner loop of a nest
};

struct LoopKernel {
  Kernel kernel;
  std::vector<NodeInfo> nodes;       ///< per kernel op
  int loop = kNone;                  ///< the scf.for
  int inner = kNone;                 ///< of a nest: its inner scf.for; the distance of an edge
                                     ///< between two inner nodes is of inner iterations
  std::int64_t inner_trips = 1;      ///< iterations of a run of it
  std::set<std::size_t> handed_out;  ///< nodes of tiles that ops after the loop read
  std::vector<int> replicated;       ///< ops of the body that every slot repeats
  /// Of what is resident in memories: the memory, what holds it ("%q of line 12"), how much.
  std::vector<std::tuple<std::string, std::string, std::int64_t>> residents;
  std::vector<std::string> warnings;  ///< another target, unknown ops, assumed trip counts
  int warps = 4;                      ///< of the module
  int target = 0;                     ///< of the module: 90 of cuda:90; 0 = it does not say
};

/// The loop chosen by `options`, on a machine whose rules say which kinds there are. Throws
/// InputError when the module has no such loop or cannot be split.
LoopKernel lower_loop(const Module& module, const Machine& machine, const LoopOptions& options);

/// Of a nest: its inner loop's ops in a problem that the kernel was lowered to, ascending.
std::vector<int> inner_ops(const LoopKernel& loop, const Problem& problem);

/// One given op as the loop (an inner loop, for hierarchical reduction).
LoopKernel lower_one_loop(const Module& module, const Machine& machine, const LoopOptions& options,
                          int loop, int nesting);

}  // namespace twill::ttgir
