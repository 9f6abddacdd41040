// Can what stands around a pipelined loop be written anew (see peeled.hpp)? All of it must be
// executed before the loop or behind it, and each iteration of a loop around it must find what the
// first one finds.
#include <algorithm>
#include <map>
#include <set>

#include "graph/index.hpp"
#include "graph/ttgir/peeled.hpp"

namespace twill::ttgir {
namespace {

class AroundChecker {
 public:
  explicit AroundChecker(const FoldedLoop& loop)
      : l_(loop), m_(loop.module()), r_(loop.replayed()) {}

  std::set<int> run() {
    const int specialised = l_.specialised();
    const auto stands_there = [&](const ReplayedLoop& loop) {
      return specialised == kNone ? loop.op == l_.first_loop() : m_.parent(loop.op) == specialised;
    };
    if (!l_.stands_in_loops() || (specialised == kNone && r_.threads != 1) ||
        !std::all_of(r_.loops.begin(), r_.loops.end(), stands_there))
      cannot_undo(l_.first_loop(), "the loop is behind a branch, or in a loop of another kind");
    if (specialised != kNone && !l_.around().empty())
      cannot_undo(l_.first_loop(), "its partitions are in a loop");
    int function = l_.first_loop();
    while (m_.parent(function) != kNone && !m_.op(function).name.ends_with(".func"))
      function = m_.parent(function);
    check_ops(function);
    check_outer(function);
    if (const auto& why = l_.unordered_first()) throw *why;
    for (const Execution& x : r_.executions)
      for (const BufferUse& use : x.buffers)
        if (!of_loop(x) && use.reads && use.before != kNone && of_loop(at(use.before)))
          cannot_undo(x.op, "it reads what another partition's loop makes");
    for (const int branch : r_.assumed_branches)
      if (!only_waits(m_, branch))
        cannot_undo(branch, "whether it is taken depends on how long the loop is");
    return std::move(stores_);
  }

 private:
  const Execution& at(int execution) const { return l_.at(execution); }

  bool is_in(int op, int around) const {
    while (op != kNone && op != around) op = m_.parent(op);
    return op == around;
  }

  /// In loops around it the first iteration was replayed: each must find what that found. So
  /// barriers are made in each, and what is read in buffers is written in each, or never.
  void check_outer(int function) const {
    const std::size_t depth = l_.around().size();
    if (depth == 0) return;
    std::map<int, std::size_t> deepest;  // buffer -> of who writes it
    for (std::size_t k = 0; k < m_.ops.size(); ++k)
      if (const int op = static_cast<int>(k);
          m_.op(op).name == "ttng.init_barrier" && is_in(op, function) && l_.level_of(op) != depth)
        cannot_undo(op, "a barrier is kept from tile to tile");
    for (const Execution& x : r_.executions)
      for (const BufferUse& use : x.buffers)
        if (use.writes) {
          std::size_t& level = deepest[use.buffer];
          level = std::max(level, l_.level_of(x.op));
        }
    for (const Execution& x : r_.executions)
      for (const BufferUse& use : x.buffers) {
        const auto found = deepest.find(use.buffer);
        if (!use.reads || found == deepest.end()) continue;
        const std::size_t made =
            l_.level_of(use.before == kNone ? at(use.buffer).op : at(use.before).op);
        if (made < found->second)
          cannot_undo(x.op, "it reads what a tile before may have left in its buffer");
      }
  }

  /// What is executed before the loop, and behind it in partitions, must not do what would be lost.
  /// (In regions too: what is in them was not executed one by one.)
  void check_ops(int function) {
    std::set<int> loops, behind;
    for (const ReplayedLoop& loop : r_.loops) loops.insert(loop.op);
    for (const int op : l_.behind()) behind.insert(op);
    for (std::size_t k = 0; k < m_.ops.size(); ++k) {
      const Operation& op = m_.ops[k];
      const int index = static_cast<int>(k);
      bool of_function = false, passed = false, partition = false;
      for (int out = index; out != kNone && loops.count(out) == 0; out = m_.parent(out)) {
        passed = passed || behind.count(out) != 0;
        of_function = of_function || m_.parent(out) == function;
        partition = partition ||
                    (l_.specialised() != kNone && m_.parent(out) == l_.specialised() &&
                     m_.block(m_.op(out).block).region != m_.op(l_.specialised()).regions.at(0));
      }
      if (!of_function || index == l_.specialised() || op.name.starts_with("cf.")) continue;
      if (passed) {  // (Of the function's own warps that is written again.)
        if (partition && acts(index))
          cannot_undo(index, "what it does behind its partition's loop would be lost");
        continue;
      }
      const OpClass c = class_of(op);
      if (c == OpClass::store && l_.specialised() == kNone) {
        const int whole = stands_alone(index, function);
        const int block = whole == kNone ? kNone : m_.op(whole).block;
        const auto& early = l_.early_returns();
        const bool perhaps =  // (Where it returns before the loop it is executed, too.)
            std::any_of(early.begin(), early.end(),
                        [&](const auto& one) { return m_.op(one.first).block == block; });
        if (whole != kNone && !perhaps) {
          stores_.insert(whole);
          continue;
        }
      }
      if (c == OpClass::store || op.name == "tt.call" || op.name == "ttg.warp_specialize" ||
          (c == OpClass::unknown && op.results.empty()))
        cannot_undo(index, "what it does before the loop would be lost");
    }
  }

  /// The op beside those of the function, or of a loop around ours, that an op is or is in, where
  /// it has been executed as one.
  int stands_alone(int op, int function) const {
    for (; op != kNone && m_.parent(op) != function; op = m_.parent(op))
      if (std::find(l_.around().begin(), l_.around().end(), m_.parent(op)) != l_.around().end())
        break;
    const auto is_it = [&](const Execution& x) { return x.op == op; };
    return std::count_if(r_.executions.begin(), r_.executions.end(), is_it) == 1 ? op : kNone;
  }

  /// Does an op do more than order others, make values of registers and leave them in buffers?
  bool acts(int index) const {
    switch (class_of(m_.op(index))) {
      case OpClass::mma:
      case OpClass::copy:
      case OpClass::store:
      case OpClass::tmem_store:
      case OpClass::tmem_alloc:
      case OpClass::unknown: return true;
      case OpClass::control: return !only_waits(m_, index);
      default: return false;
    }
  }

  const FoldedLoop& l_;
  const Module& m_;
  const Replay& r_;
  std::set<int> stores_;
};

}  // namespace

std::set<int> check_around(const FoldedLoop& loop) {
  return AroundChecker(loop).run();
}

}  // namespace twill::ttgir
