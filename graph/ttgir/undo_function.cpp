// A function with its loops as they were (undo.hpp): one loop with what is around it, or several in
// turns; where that is not had back, the loop alone.
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

#include "graph/ttgir/folded_text.hpp"
#include "graph/ttgir/loops.hpp"
#include "graph/ttgir/open_loop.hpp"
#include "graph/ttgir/parser.hpp"
#include "graph/ttgir/undo.hpp"

namespace twill::ttgir {
namespace {

/// The loop with the function around it. Throws CannotUndo.
Undone undo_whole(const Module& module, int loop, std::optional<std::int64_t> iterations = {}) {
  bool nested = false;
  for (int op = module.parent(loop); op != kNone; op = module.parent(op))
    nested = nested || module.op(op).name == "scf.for";
  FoldedLoop folded(module, loop, nested);
  const Peeled peeled = find_peeled(folded);
  for (std::size_t v = 0; v < peeled.ahead.size() && iterations; ++v)
    if (peeled.ahead[v] > *iterations + peeled.more)
      cannot_undo(folded.node(static_cast<int>(v)).op, "it is ahead of all iterations");
  folded.take(peeled);
  return FoldedText(folded, loop, &peeled).write();
}

/// The same of a loop of a fixed number of iterations, too.
Undone undo_one(const Module& module, int loop) {
  const auto open = open_loop(module, loop);
  if (!open) return undo_whole(module, loop);
  try {
    Undone undone = undo_whole(open->module, open->loop, open->iterations);
    close_loop(undone, *open, module.op(loop));
    return undone;
  } catch (const CannotUndo& why) {
    throw CannotUndo{closed_op(module, loop, *open, why.op), why.why};
  }
}

/// Does a loop wait for copies or barriers, so that it has been pipelined? (One without a loop in
/// it.)
bool waits(const Module& m, int loop) {
  bool found = false;
  for (const int region : m.op(loop).regions)
    for (const int block : m.regions[static_cast<std::size_t>(region)].blocks)
      for (const int op : m.block(block).ops) {
        const OpClass c = class_of(m.op(op));
        if (m.op(op).name == "scf.for" || m.op(op).name == "scf.while") return false;
        found = found || c == OpClass::synchronise || c == OpClass::copy ||
                m.op(op).name == "ttg.async_wait";
      }
  return found;
}

/// The first loop of a function that waits; kNone where none does.
int first_that_waits(const Module& m, const std::string& function) {
  for (std::size_t k = 0; k < m.ops.size(); ++k) {
    const int op = static_cast<int>(k);
    if (m.ops[k].name == "scf.for" && m.op(function_of(m, op)).symbol == function && waits(m, op))
      return op;
  }
  return kNone;
}

/// Are there other loops beside this one, and those around it? (Partitions have one each.)
bool has_siblings(const Module& m, int loop) {
  for (int op = loop; op != kNone; op = m.parent(op))
    if (m.op(op).name == "ttg.warp_specialize") return false;
  for (std::size_t k = 0; k < m.ops.size(); ++k) {
    const int op = static_cast<int>(k);
    if (m.ops[k].name != "scf.for" || function_of(m, op) != function_of(m, loop)) continue;
    bool around = false;
    for (int out = loop; out != kNone; out = m.parent(out)) around = around || out == op;
    if (!around) return true;
  }
  return false;
}

constexpr int kMostTurns = 16;  // loops of a function, one after the other

/// The function with each of its loops as it was, in turns: the first one that waits is undone
/// while those behind it stay as they are. Throws CannotUndo.
Undone undo_in_turns(const Module& module, int loop) {
  const std::string function(module.op(function_of(module, loop)).symbol);
  Undone result;
  std::optional<Module> made;
  for (int turn = 0;; ++turn) {
    const Module& now = made ? *made : module;
    const int next = first_that_waits(now, function);
    if (next == kNone && turn == 0) return undo_one(module, loop);
    if (next == kNone) break;
    if (turn == kMostTurns) cannot_undo(loop, "the function has too many loops");
    Undone undone;
    try {
      undone = undo_one(now, next);
    } catch (const CannotUndo& why) {
      if (turn == 0 || why.op == kNone) throw;
      // Its place is that in a text that nobody has seen.
      throw CannotUndo{loop, "another loop of the function: " + why.why};
    }
    if (turn > 0)
      for (auto& [line, column] : undone.places)
        std::tie(line, column) = result.places.at(line - 1);
    result = std::move(undone);
    made = parse_module(result.text, module.source);
  }
  return result;
}

/// The loop alone.
Undone undo_alone(const Module& module, int loop) {
  const auto alone = [](const Module& of, int which) {
    const FoldedLoop folded(of, which);
    return FoldedText(folded, which, nullptr).write();
  };
  const auto open = open_loop(module, loop);
  if (!open) return alone(module, loop);
  try {
    Undone undone = alone(open->module, open->loop);
    close_loop(undone, *open, module.op(loop));
    return undone;
  } catch (const CannotUndo& why) {
    throw CannotUndo{closed_op(module, loop, *open, why.op), why.why};
  }
}

}  // namespace

Undone undo_schedule(const Module& module, int loop) try {
  CannotUndo reason;
  try {
    return has_siblings(module, loop) ? undo_in_turns(module, loop) : undo_one(module, loop);
  } catch (const CannotUndo& why) {
    reason = why;
  } catch (const std::out_of_range&) {
    reason = {loop, "an op around it has other operands than such ops have"};
  }
  Undone undone = undo_alone(module, loop);
  undone.why_alone = reason;
  return undone;
} catch (const std::out_of_range&) {  // (What no module of Triton's has: at() says so.)
  throw CannotUndo{loop, "an op of it has other operands than such ops have"};
}

}  // namespace twill::ttgir
