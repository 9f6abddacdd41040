// The function of one slot, in Gluon.
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// What the text of slots needs at the head of the file, gathered while they are written.
struct ModuleNeeds {
  /// M, N, warps, depth of Layout: register layouts.
  std::set<std::tuple<std::int64_t, std::int64_t, int, int>> tiles;
  bool fence = false, tcgen05_commit = false, wgmma_init = false, async_copy = false;
  bool anew = false, at_most = false, at_least = false, running_sum = false, running_max = false,
       running_min = false, product = false, bulk_add = false, tmem_parts = false,
       shared_views = false, warp_products = false;
  bool twice = false;                ///< a function that repeats a tile in a dimension of its own
  std::set<std::string> row_places;  ///< names of place_definition()
  int product_depth = 0;             ///< of the products; 0 = there is none yet
};

/// Name of the constant that is the register layout of an M x N tile on so many warps; `depth` as
/// Layout has it.
std::string tile_name(std::int64_t m, std::int64_t n, int warps, int depth = 0);
/// Name of the constant that is the layout of a tile's buffer in shared memory; columns_first:
/// columns of the tile follow each other, not rows.
std::string shared_layout_name(const std::vector<std::int64_t>& shape, const std::string& type,
                               bool columns_first);
/// Its value; "" = the target has none. `product_depth`: elements that an instruction of a product
/// sums over; `warp_products`: tiles of few rows are as mma.sync leaves them.
std::string tile_layout(Target target, std::int64_t m, std::int64_t n, int warps,
                        int product_depth = 16, bool warp_products = false);
/// The register layout of a vector that no tile has as a row or a column.
std::string lone_vector_layout(std::int64_t length, int warps);
/// "gl.float16" of "f16"; "" = none.
std::string gluon_type(const std::string& type);
/// Of ModuleNeeds::row_places.
std::string place_definition(const std::string& name);
/// The text of an iteration: "3", "i + 1", "n - 1".
std::string iteration_text(Iteration iteration);
/// ".index((i + 1) % 2)", or "" in a ring of one.
std::string ring_index(Iteration iteration, int depth);

struct SlotText {
  std::string body;            ///< lines of the function, indented once
  std::set<std::string> used;  ///< names among the kernel's that it needs as arguments
};

/// What the kernel itself does before its slots begin: tiles that the loop carries in memory and
/// that begin with values from before the loop (Plan::begins_in_kernel()), by the warps of `slot`;
/// "" = none. Throws Refusal.
std::string initial_tiles(const Plan& plan, int slot, ModuleNeeds& needs);
/// Throws Refusal.
SlotText slot_text(const Plan& plan, int slot, ModuleNeeds& needs);

}  // namespace twill::emit
