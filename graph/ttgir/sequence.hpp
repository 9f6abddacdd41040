// Functions that are several loops one behind the other: causal attention, whose last tiles alone
// have a mask, or a gradient of two factors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/ttgir/ir.hpp"
#include "graph/ttgir/meaning.hpp"

namespace twill::ttgir {

/// The loops in the block of `loop`, in its order, each of which has a schedule of its own: they
/// multiply matrices, store, load by bulk copies, or load what is stored to behind them. (Others
/// are repeated where their results are used: meaning_earlier.cpp.) Empty where `loop` is none of
/// at least two, where one of them has a loop inside, and where the block is not the function's
/// first.
std::vector<int> loop_sequence(const Module& module, int loop);

/// The loop of a sequence that does a store which stands behind a later one: the store uses results
/// of that loop, none of later ones, and what has been loaded from where a later one stores. (So it
/// cannot be made where it stands: graph/emit/sequence.cpp looks after what is stored to twice.)
/// kNone = it is done where it stands.
int done_by_earlier(const Module& module, const std::vector<int>& sequence, int store);

/// Why the meanings of a sequence's loops, in its order, are not all that the function does;
/// nullopt = they are: each store is one's, and what one is given another before it hands on.
std::optional<std::string> sequence_fault(const Module& module,
                                          const std::vector<const ModuleMeaning*>& loops);

/// The same of the loop that is chosen by default, as numbers of list_loops().
std::vector<int> default_sequence(const Module& module);

}  // namespace twill::ttgir
