// Statements of slots in another order, so that a slot of Hopper holds fewer registers at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/include/twill_emit.hpp"
#include "graph/emit/register_shares.hpp"

namespace twill {

/// Ops that go ahead of others of their slot, which come before them in the schedule.
struct StatementOrder {
  program::Program program;
  std::vector<std::string>
      moves;                ///< "l before p": which op, and of those that it passes the first
  emit::RegisterLack lack;  ///< what is lacking still
};

/// What slots of a program lack; nullopt = it is not written.
using LackOf = std::function<std::optional<emit::RegisterLack>(const program::Program&)>;

/// `made`'s program with ops moved within slots that lack registers, while that leaves fewer of
/// them lacking. A schedule orders ops by the cycles in which they begin; a text has one statement
/// end before the next, so that of two ops that overlap both orders are as near to the schedule,
/// and one may hold less. Moved, and passed, are ops alone that the slot's threads execute. The
/// judge accepts the program, and no run of it takes longer than the schedule says (time.hpp).
/// nullopt = no move leaves fewer.
std::optional<StatementOrder> ordered_for_registers(const MadeProgram& made, const LackOf& lack_of);

}  // namespace twill
