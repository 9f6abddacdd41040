#include "graph/ttgir/sequence.hpp"

#include <algorithm>
#include <set>

#include "graph/index.hpp"
#include "graph/ttgir/branch_condition.hpp"
#include "graph/ttgir/loops.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/pointer_roots.hpp"

namespace twill::ttgir {
namespace {

bool is_under(const Module& module, int op, int loop) {
  for (int around = module.parent(op); around != kNone; around = module.parent(around))
    if (around == loop) return true;
  return false;
}

/// Does it do what cannot be repeated?
bool has_schedule(const Module& module, int op) {
  const Operation& one = module.op(op);
  const OpClass c = class_of(one);
  if (c == OpClass::mma || c == OpClass::store) return true;
  if (c != OpClass::load && c != OpClass::copy) return false;
  return std::any_of(one.operands.begin(), one.operands.end(), [&](int operand) {
    const Type* t = module.type_of(operand);
    return t != nullptr && t->kind == TypeKind::descriptor;
  });
}

/// Of each op of a block the function's arguments behind which ops of one class in it lead, as far
/// as that is known.
std::vector<std::set<int>> moved_by(const Module& module, int function, int block, OpClass c) {
  const std::vector<int>& ops = module.block(block).ops;
  std::vector<std::set<int>> all(ops.size());
  for (int op = 0; op < static_cast<int>(module.ops.size()); ++op) {
    const Operation& one = module.op(op);
    if (class_of(one) != c || one.operands.empty()) continue;
    int around = op;
    while (around != kNone && module.op(around).block != block) around = module.parent(around);
    if (around == kNone) continue;
    if (const auto roots = pointer_roots(module, function, one.operands[0]))
      all[at(static_cast<int>(std::find(ops.begin(), ops.end(), around) - ops.begin()))].insert(
          roots->begin(), roots->end());
  }
  return all;
}

}  // namespace

std::vector<int> loop_sequence(const Module& module, int loop) {
  std::vector<int> all;
  const int block = module.op(loop).block, function = module.parent(loop);
  if (function == kNone || !module.op(function).name.ends_with(".func") ||
      module.regions[at(module.op(function).regions[0])].blocks[0] != block)
    return all;
  std::vector<bool> scheduled(module.ops.size(), false), nested(module.ops.size(), false);
  // What is stored to behind a loop is not there to be loaded again where its results are used.
  const std::vector<int>& ops = module.block(block).ops;
  const auto loaded = moved_by(module, function, block, OpClass::load);
  const auto stored = moved_by(module, function, block, OpClass::store);
  std::set<int> behind;
  for (std::size_t k = ops.size(); k-- > 0;) {
    if (std::any_of(loaded[k].begin(), loaded[k].end(),
                    [&](int argument) { return behind.contains(argument); }))
      scheduled[at(ops[k])] = true;
    behind.insert(stored[k].begin(), stored[k].end());
  }
  for (const int one : ops) {
    // (One that runs once or not at all is a branch.)
    if (module.op(one).name != "scf.for" || branch_condition(module, one) != kNone) continue;
    for (int op = 0; op < static_cast<int>(module.ops.size()); ++op) {
      if (!is_under(module, op, one)) continue;
      if (module.op(op).name == "scf.for") nested[at(one)] = true;
      if (has_schedule(module, op)) scheduled[at(one)] = true;
    }
    if (!scheduled[at(one)]) continue;
    if (nested[at(one)]) return {};
    all.push_back(one);
  }
  if (all.size() < 2 || std::find(all.begin(), all.end(), loop) == all.end()) return {};
  return all;
}

int done_by_earlier(const Module& module, const std::vector<int>& sequence, int store) {
  if (sequence.empty()) return kNone;
  const int block = module.op(sequence.front()).block, function = module.parent(sequence.front());
  const std::vector<int>& ops = module.block(block).ops;
  const auto place = [&](int op) { return std::find(ops.begin(), ops.end(), op) - ops.begin(); };
  std::vector<int> open = {store};
  std::set<int> seen = {store}, loads;
  std::size_t used = 0;  // of the sequence's loops, up to the last one that it uses
  while (!open.empty()) {
    const int user = open.back();
    open.pop_back();
    for (const int operand : module.op(user).operands) {
      const int made = module.value(operand).op;
      if (made == kNone || !seen.insert(made).second) continue;
      if (module.op(made).block != block) return kNone;
      const auto loop = std::find(sequence.begin(), sequence.end(), made);
      if (loop != sequence.end()) {
        used = std::max(used, static_cast<std::size_t>(loop - sequence.begin()) + 1);
        continue;
      }
      if (!module.op(made).regions.empty()) return kNone;
      const OpClass c = class_of(module.op(made));
      if (c == OpClass::load || c == OpClass::copy) loads.insert(made);
      open.push_back(made);
    }
  }
  if (used == 0 || used == sequence.size() || place(store) < place(sequence[used])) return kNone;
  std::set<int> later;  // arguments that loops between store to
  for (int op = 0; op < static_cast<int>(module.ops.size()); ++op) {
    const Operation& one = module.op(op);
    if (class_of(one) != OpClass::store || one.operands.empty()) continue;
    const bool between = std::any_of(
        sequence.begin() + static_cast<std::ptrdiff_t>(used), sequence.end(),
        [&](int loop) { return place(loop) < place(store) && is_under(module, op, loop); });
    if (!between) continue;
    const auto roots = pointer_roots(module, function, one.operands[0]);
    if (!roots) return kNone;
    later.insert(roots->begin(), roots->end());
  }
  bool needed = false;
  for (const int load : loads) {
    // (What is loaded behind a later loop may be what that one has stored.)
    if (place(load) > place(sequence[used]) || module.op(load).operands.empty()) return kNone;
    const auto roots = pointer_roots(module, function, module.op(load).operands[0]);
    if (!roots) return kNone;
    needed |=
        std::any_of(roots->begin(), roots->end(), [&](int one) { return later.contains(one); });
  }
  return needed ? sequence[used - 1] : kNone;
}

std::optional<std::string> sequence_fault(const Module& module,
                                          const std::vector<const ModuleMeaning*>& loops) {
  std::set<int> stored;
  std::set<meaning::HandedTile> there;
  for (const ModuleMeaning* const one : loops) {
    if (!one->kernel.incomplete.empty()) return one->kernel.incomplete;
    std::set<int> here;
    std::set<meaning::HandedTile> made;
    for (const meaning::Value& value : one->meaning.values) {
      if (value.tensor < 0) continue;
      const bool out = value.function == meaning::Function::store;
      if (const auto& tile = one->kernel.places[at(value.tensor)].handed) {
        if (out) made.insert(*tile);
        if (!out && !there.contains(*tile))
          return "%" + std::string(tile->name) +
                 " is used by a loop and no loop before hands it on";
      } else if (out) {
        here.insert(one->tiles[at(value.tensor)].op);
      }
    }
    there.merge(made);
    for (const int op : here)
      if (!stored.insert(op).second) return "two of its loops have one store";
  }
  const int function =
      loops.front()->tiles.empty() ? kNone : function_of(module, loops.front()->tiles.front().op);
  for (int op = 0; op < static_cast<int>(module.ops.size()); ++op) {
    if (class_of(module.op(op)) != OpClass::store || stored.contains(op)) continue;
    if (function_of(module, op) == function || function == kNone)
      return std::string(module.op(op).name) + " of line " + std::to_string(module.op(op).line) +
             " is done by none of its loops";
  }
  return std::nullopt;
}

std::vector<int> default_sequence(const Module& module) {
  const std::vector<LoopInfo> loops = list_loops(module);
  std::vector<int> numbers;
  if (loops.empty()) return numbers;
  const std::vector<int> ops =
      loop_sequence(module, loops[choose_loop(module, loops, std::nullopt)].op);
  for (std::size_t k = 0; k < loops.size(); ++k)
    if (std::find(ops.begin(), ops.end(), loops[k].op) != ops.end())
      numbers.push_back(static_cast<int>(k));
  return numbers;
}

}  // namespace twill::ttgir
