// A kernel: a loop before it is put on a machine (twill.kernel, version 1; 2 with pins, 3 with what
// blocks share and with parameters, which instantiate.hpp puts values in, 4 with what the ops
// compute). Ops have a kind, a tile shape and an element type; what they cost is the machine's
// business. Private model.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/error.hpp"
#include "graph/meaning/meaning.hpp"
#include "graph/problem.hpp"

namespace twill {

inline constexpr int kKernelVersion = 4;

/// Largest extent of a tile dimension and largest rank ([M, N, K] of a matrix product).
inline constexpr std::int64_t kMaxExtent = 16384;
inline constexpr std::size_t kMaxRank = 3;

/// The tile that an op works on. Shape [] is a scalar: index arithmetic on the uniform datapath.
struct Tile {
  std::vector<std::int64_t> shape;
  std::string type;          ///< of the result's elements; a name that element_bits() knows
  std::string operand_type;  ///< of the operands' elements; `type` unless the file says otherwise
};

/// Bits of an element type ("f32" -> 32), 0 for an unknown name.
int element_bits(std::string_view type);

/// A cost that the kernel states itself (a measured op, a textbook loop): no rule is asked.
struct GivenCost {
  std::string unit;
  Cycle cycles = 0, occupancy = 0, latency = 0;
  bool variable_latency = false;
  /// An op that stands for several (an inner loop): cycles of each unit from issue. Then `unit` and
  /// `occupancy` say nothing. Not in kernel files.
  std::vector<std::pair<std::string, Cycle>> uses;
  /// What it moves through channels, or through units that loads in flight do not reserve, by name.
  /// Not in kernel files either.
  std::vector<std::pair<std::string, Fraction>> traffic;
};

struct KernelOp {
  std::string id;
  std::string kind;  ///< selects the machine's cost rule; may be "" where the cost is given
  std::optional<Tile> tile;
  std::optional<GivenCost> cost;
  std::optional<int> width;             ///< hardware warps; else the rule's
  std::optional<Amount> registers;      ///< per thread; else from the tile
  std::optional<std::string> result;    ///< "registers", "none" or a memory; else the rule's
  std::optional<std::size_t> alias_of;  ///< a view that holds nothing itself: index of its source
  /// Bytes moved through a unit or a channel beside the op's own reservation, in the file's order.
  std::vector<std::pair<std::string, std::int64_t>> traffic;
  std::optional<std::int64_t> reuse;  ///< blocks that share what it loads, by a cache (version 3)
};

struct KernelEdge {
  std::size_t from = 0, to = 0;
  int distance = 0;
  bool blocking = false;
  std::optional<Cycle> delay;  ///< else the producer's latency
  bool accumulate = false;     ///< in place, in order on the unit: delay = the producer's occupancy
  Cycle hold = 0;
  bool order = false;  ///< no data: the ops are kept in order (version 4)
};

/// Ops that stream over one tile `columns` at a time: a chain, each op the next one's producer.
struct Chunk {
  std::string id;
  std::vector<std::size_t> ops;
  std::int64_t columns = 0;
  std::string kind = {};  ///< of the one op that they become; "" = the kinds of all, joined by +
};

/// As Pin (problem.hpp), by name: which slots there are is the layout's business.
struct KernelPin {
  Pin::Kind kind = Pin::on_slot;
  std::string op;     ///< of the problem to be: an op, or a chunk's id
  std::string slot;   ///< on_slot, not_on_slot
  Cycle cycle = -1;   ///< at_cycle, raw clocks
  std::string other;  ///< same_slot, as `op`
};

struct Kernel {
  std::string source;  ///< file name for messages
  std::string name;
  Amount resident_registers = 0;  ///< per thread, for addresses and the like
  std::vector<std::pair<std::string, Amount>> resident_memory;
  std::vector<KernelOp> ops;
  std::vector<KernelEdge> edges;
  std::vector<Chunk> chunks;
  std::vector<KernelPin> pins;
  /// What the ops compute (version 4); value loop_begin + k is op k. Costs do not depend on it.
  std::optional<meaning::Meaning> meaning;
};

/// Strict reading; throws InputError with the JSON pointer, the value and the rule. A kernel with
/// parameters is read at their defaults.
Kernel parse_kernel(std::string_view text, const std::string& source);

}  // namespace twill
