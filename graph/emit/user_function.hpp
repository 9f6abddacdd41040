// A kernel in the place of a user's own function: its parameters, its arithmetic of places and trip
// counts, its name. (Else a kernel gets a host function of its own: gluon_host.hpp.)
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/emit/plan.hpp"
#include "graph/emit/tile_loop.hpp"

namespace twill::emit {

/// The arguments that lead to tensors as host tensors, with the tiles that go there; of their axes
/// only the number is said. Rule "function" or "tensors".
std::variant<Axes, program::Refusal> user_tensors(const meaning::Meaning& meaning,
                                                  const meaning::UserKernel& user);

/// Does a loop that slots repeat (UserKernel::earlier), or one before that, load from behind a
/// parameter?
bool loaded_earlier(const meaning::UserKernel& user, int parameter);

/// Where tile i of a tensor begins, in one dimension: a variable of the kernel or a number, and
/// elements from tile to tile.
struct UserCoordinate {
  std::string variable, number;
  std::int64_t step = 0;
  /// Where the step is no number: the place of an iteration, which is computed anew.
  std::optional<meaning::Index> whole;
};
/// Throws Refusal.
std::vector<UserCoordinate> user_coordinates(const Plan& plan, int tensor);

/// The numbers that the kernel computes: the trip count, what is no argument, where tiles begin.
/// Throws Refusal.
std::vector<KernelNumber> user_numbers(const Plan& plan);

/// The kernel's first lines: parameters, and its numbers where there is no loop over tiles; of a
/// kernel with tiles by pointers those that `bodies`, the text of its slots, mentions. Throws
/// Refusal.
std::string user_kernel_head(const Plan& plan, const std::string& bodies);

/// Those numbers alone, with what the function returns at once for where `returns`. Throws Refusal.
std::string user_kernel_numbers(const Plan& plan, const std::string& bodies, bool returns);

/// A slot's body, indented once, in the loop over tiles, with the numbers that it names. Throws
/// Refusal.
std::string user_tile_loop(const Plan& plan, const std::string& body);

/// What is called as the user's function was; `plans`: of its loops, one or several.
std::string user_launcher(const std::vector<const Plan*>& plans);

/// An index that is the same for all elements in all iterations, as text. Throws Refusal.
std::string number_text_of(const Plan& plan, const meaning::Index& index);

/// How Python asks it: " < ".
const char* sign_of(meaning::IndexComparison::How how);

/// Sums and products with 0 and 1 are left out.
meaning::Index simple(meaning::Index index);

struct ElementNames;
/// An index as text, where an element's row and column and the iteration have names. Throws
/// Refusal.
std::string element_text(const Plan& plan, const meaning::Index& index, const ElementNames& names);

/// As an iteration has it, where that is a number: the index that element_text() writes.
meaning::Index in_iteration(const meaning::Index& index, const std::string& iteration);

}  // namespace twill::emit
