// The loops of a module and which one is to be scheduled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

struct LoopInfo {
  int op = kNone;         ///< the scf.for
  std::string function;   ///< @name without the @
  int depth = 0;          ///< loops around it
  bool innermost = true;  ///< no loop inside that has tiles
  bool tiles = false;     ///< do its ops work on tiles? Else it is index arithmetic
  bool warp_specialize = false;
  std::int64_t macs = 0;  ///< multiply-accumulates of an iteration; an inner loop counts once
  int ops = 0;            ///< in its body, regions included
  int tile_ops = 0;       ///< of these the ones that work on tiles
};

/// M, N, K of a product. nullopt when the types do not say.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t macs() const { return m * n * k; }
};
std::optional<Product> product_of(const Module& module, const Operation& op);

/// The scf.for loops in the order of the text.
std::vector<LoopInfo> list_loops(const Module& module);

/// The function that an op is in; the op itself where it is in none.
int function_of(const Module& module, int op);

/// Index into list_loops(): the one asked for; else, of those with tiles, the tt.warp_specialize
/// loop; else, of the innermost loops, the one with the most MMA work (then the most ops on tiles,
/// then the first). Throws InputError when there is no loop or no loop of that number.
std::size_t choose_loop(const Module& module, const std::vector<LoopInfo>& loops,
                        std::optional<int> number);

}  // namespace twill::ttgir
