// Why no register split is better than the one that was chosen. The reason is a set of problems,
// the corners, that differ in the registers of their slots. None of them has a better schedule, and
// every split has at most the registers of one of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/register_pool.hpp"

namespace twill {

/// A register split as an answer (gross counts a thread, one a share of the pool).
struct RegisterSplit {
  RegisterPool pool;  ///< Share::layout plays no part
  /// The split that the problem's slots have; empty = none was chosen, for there is no schedule.
  RegisterCounts counts;
  /// The corners of the cover: what is shown of one holds for every split with at most its counts.
  /// A corner need not be a split.
  std::vector<RegisterCounts> corners;
};

/// The problem with a corner's counts; with none the problem itself.
Problem problem_at(const Problem& problem, const RegisterSplit* split,
                   const RegisterCounts& counts);

/// Has `high` in each place at least what `low` has?
bool at_most(const RegisterCounts& low, const RegisterCounts& high);

/// "24 of load + aux, 240 of wg0, 240 of wg1".
std::string counts_text(const Problem& problem, const RegisterPool& pool,
                        const RegisterCounts& counts);

/// What makes this no register split of the problem's slots, or "": each slot is in one share, the
/// counts are a split of the pool, and the slots have them, less the resident registers.
std::string split_fault(const Problem& problem, const RegisterSplit& split);

/// Per share the first one that it can change places with, with all ops; itself, where there is
/// none before it. `pinned` = ops are pinned, to a slot or otherwise: then none can.
std::vector<std::size_t> exchangeable_shares(const Problem& problem, const RegisterPool& pool,
                                             bool pinned);

/// What is wrong with the corners as a cover of all splits of the pool, up to the exchange of
/// shares: a split that is below none of them; "" = they cover all. Precondition: split_fault()
/// is "".
std::string cover_fault(const Problem& problem, const RegisterSplit& split, bool pinned);

}  // namespace twill
