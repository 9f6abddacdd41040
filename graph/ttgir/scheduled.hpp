// Loops that a compiler has scheduled already: partitioned, pipelined, or lowered to barriers.
//
// Where they have been lowered, what orders their ops is no longer in their values: a wait on a
// barrier in memory stands for the copy that fills a buffer. Read as a plain loop such a module
// gives an interval that is too small and "optimal". It is undone (undo.hpp) or refused.
// Attributes alone (stages, clusters, partitions) say when and where, not what: the loop without
// them is the loop that they are of. They are set aside.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "graph/error.hpp"
#include "graph/ttgir/edit.hpp"
#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// The refusal of such a loop, with what was seen: who can undo it does.
class AlreadyLowered : public InputError {
 public:
  AlreadyLowered(const Module& module, int op, const std::string& seen, const std::string& rule);
  int op = kNone;
  std::string seen;
};

/// What says that a loop has been lowered to barriers or partitions: the op, and its name.
std::optional<std::pair<int, std::string>> lowered_already(const Module& module, int loop);

/// Throws AlreadyLowered that names what was seen, its line, and how to get the module from before
/// Triton's scheduling passes, when the loop is under a ttg.warp_specialize or in a function with
/// one, or waits on barriers in memory. True when it, or an op of it, has attributes of a schedule,
/// as `--emit ttgir` and Triton's own passes leave them.
bool refuse_scheduled(const Module& module, int loop);

/// Takes the attributes of a schedule off every op of the loop's function: those of another
/// schedule would be read with the new ones.
void remove_schedule(Editor& editor, const Module& module, int loop);

/// The same refusal for an op that is found to be part of such a loop later on.
/// `why` is what stands in the way of undoing it.
[[noreturn]] void refuse_op(const Module& module, int op, const std::string& seen,
                            const std::string& why = "");

}  // namespace twill::ttgir
