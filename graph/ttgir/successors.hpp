// The blocks that a function's branches go on to, and where a function returns before its loop.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/meaning/user_kernel.hpp"
#include "graph/ttgir/index_values.hpp"
#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// Of cf.br one block, of cf.cond_br two, the one for true first; empty = another op. Else why they
/// are not known: values are handed to a block, say.
std::variant<std::vector<int>, std::string> successors(const Module& module, int op);

/// Comparisons of which one at least holds where a function returns before it comes to `block`, one
/// of its own. nullopt = it may do something else than go on to there and return.
std::optional<std::vector<meaning::IndexComparison>> early_returns(const Module& module,
                                                                   const IndexValues& indices,
                                                                   int function, int block);

}  // namespace twill::ttgir
