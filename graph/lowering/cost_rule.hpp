// Cost rules: what an op of some kind takes on a machine, as a function of its tile. Data of the
// machine file; nothing here knows a GPU.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/lowering/kernel.hpp"
#include "graph/problem.hpp"

namespace twill {

/// What a term counts. For a tile of shape [M, N] (a matrix product: [M, N, K]) with elements of b
/// bits, on w warps:
///   constant    1
///   macs        M * N * K
///   elements    M * N
///   values      M * N; for a vector M * `vector_copies`: what the threads hold, with copies
///   rows        M
///   bytes       M * N * b / 8
///   warp_bytes  w * M * N * b / 8: every warp moves the whole tile
///   row_bytes   N * b / 8: one row, the inner extent of a copy
///   depth       K of a matrix product
///   warps       w (version 2)
///   warp_depth  w * K of a matrix product (version 2)
enum class Measure {
  constant,
  macs,
  elements,
  values,
  rows,
  bytes,
  warp_bytes,
  row_bytes,
  depth,
  warps,
  warp_depth
};

/// times * clamp(ceil(measure * factor / rate) - less, at_least, at_most) cycles.
struct CostTerm {
  Measure measure = Measure::constant;
  std::int64_t factor = 1;
  std::int64_t rate = 1;
  std::map<std::string, std::int64_t> rates;  ///< by operand type; empty = `rate` for all
  std::int64_t less = 0;                      ///< steps beyond the first: 1
  Cycle at_least = 0, at_most = kMaxCycles;
  std::int64_t times = 1;
};

inline constexpr int kMaxSlotWidth = 64;  ///< hardware warps of one slot

struct CostRule {
  std::string unit;                 ///< "" = takes no time (a view, a name for a buffer)
  std::vector<CostTerm> cycles;     ///< how long the op executes: the sum of the terms
  std::vector<CostTerm> occupancy;  ///< cycles of the unit from issue; empty = cycles
  std::vector<CostTerm> latency;    ///< until a consumer may issue; empty = cycles
  int width = 1;                    ///< hardware warps, unless the op says otherwise
  std::string result;               ///< "registers", "none" or a memory
  bool reduces = false;             ///< the result has lost the tile's last dimension
  bool variable_latency = false;
  bool asynchronous =
      false;  ///< reads its operands in place while it executes (an MMA, a TMA store)
  /// What it moves through channels. Of one that is not named here and has the name of a unit that
  /// the op reserves, all for as long as that is.
  std::vector<std::pair<std::string, std::vector<CostTerm>>> traffic;
  bool estimate = false;  ///< its source calls a number of it an estimate
};

struct OpCost {
  Cycle cycles = 0, occupancy = 0, latency = 0;
};

/// Where a cost is needed and for what: the op's index in its kernel gives the place in messages.
struct CostContext {
  const std::string& kernel_source;
  std::size_t op = 0;
  std::int64_t vector_copies = 1;  ///< the machine's
};

/// What a term counts of a tile on `width` warps, before its factor.
std::int64_t counted(const CostTerm& term, const Tile& tile, int width, const CostContext& context);

/// The sum of a rule's terms for a tile on `width` warps; `text`, when given, gets the arithmetic.
Cycle sum_terms(const std::vector<CostTerm>& terms, const Tile& tile, int width,
                const CostContext& context, std::string* text = nullptr);

/// The rule's cycles for a tile on `width` warps. A scalar (shape []) costs nothing, whatever the
/// kind. Throws InputError when the tile does not fit the rule (no K for macs, no rate for the
/// operand type) or a number overflows.
OpCost evaluate(const CostRule& rule, const Tile& tile, int width, const CostContext& context);

/// The shape of the result: M x N of a matrix product, M of a reduction, else the tile's.
std::vector<std::int64_t> result_shape(const CostRule& rule, const Tile& tile);

/// What the threads hold of a tensor: product of the extents, times `vector_copies` for a vector.
std::int64_t held_values(const std::vector<std::int64_t>& shape, std::int64_t vector_copies);

}  // namespace twill
