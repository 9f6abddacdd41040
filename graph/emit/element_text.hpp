// Tiles that are moved by pointers: each element has a place of its own (meaning::Place::added), as
// text, and whether neighbours among them can be copied at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// What stands for an element's row and column and for the iteration, and for numbers that have
/// been gathered before (Index::gathered).
struct ElementNames {
  std::string row, column, iteration;
  std::vector<std::pair<meaning::Index, std::string>> gathered = {};
};

/// Long parts of places and of masks that are the same for all elements in all iterations: numbers
/// worth a name. Throws Refusal.
std::vector<meaning::Index> shared_places(const Plan& plan);

/// What names of a value's gathered numbers end with; there are no more of them.
inline constexpr const char* kGathered[] = {"_at", "_at2", "_at3", "_at4"};

/// Numbers that places of a tensor's elements and their mask are made of and that are gathered,
/// each once, as they are in an iteration (ElementNames::iteration). Those within others are left
/// out.
std::vector<meaning::Index> gathered_numbers(const Plan& plan, int tensor,
                                             const std::string& iteration);

/// Do the places of a tensor's elements differ along a dimension (Index::row or Index::column)?
bool moves_along(const Plan& plan, int tensor, meaning::Index::Kind dimension);

/// A tensor's pointers to the elements: "x_ptr + ...". Throws Refusal.
std::string element_pointers(const Plan& plan, int tensor, const ElementNames& names);

/// Why a value has no text whose places are made with a number that is not whole, or that the
/// launch alone knows.
program::Refusal unknown_factor(const meaning::Value& value);

/// Which elements a load or a store moves, by its bounds or its place's mask; "" = all. Throws
/// Refusal.
std::string element_mask(const Plan& plan, const meaning::Value& value, const ElementNames& names);

/// How a load of a tile by pointers is copied.
struct ElementCopy {
  bool rows = false;  ///< neighbours in memory are those of a column: along rows
  /// Elements that cp.async copies at once; 0 = it cannot copy them.
  std::int64_t vector = 0;
  /// What is outside its bounds is another number than the 0 that cp.async leaves there: whoever
  /// reads the copy puts it in.
  bool fills = false;
  bool near_rows = false;  ///< likewise of global memory, where elements are copied one by one
};
/// Of a tile of f32 that is a factor of products of tf32: do its columns follow each other in its
/// buffer? What is summed lies along it (PTX ISA). nullopt = it is none, or one that bulk copies
/// bring.
std::optional<bool> columns_first_for_tf32(const Plan& plan, const meaning::Value& value);
/// The product with the tiles themselves as factors where tf32 is cut from them.
meaning::Value with_whole_factors(const meaning::Meaning& meaning, const meaning::Value& product);
/// Of a load whose tensor has places by elements: what follows from the divisors that the function
/// is told for its arguments.
ElementCopy element_copy(const Plan& plan, const meaning::Value& load);

/// The register layout by which a tile is copied: neighbours first.
std::string copy_layout(const std::vector<std::int64_t>& shape, const ElementCopy& copy, int warps);

}  // namespace twill::emit
