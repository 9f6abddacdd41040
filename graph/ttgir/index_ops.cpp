#include "graph/ttgir/index_ops.hpp"

#include <algorithm>
#include <set>

#include "graph/ttgir/op_class.hpp"

namespace twill::ttgir {
namespace {

bool is_integer_tile(const Type& type) {
  return type.kind == TypeKind::tensor && (type.element.starts_with('i') || type.is_pointer());
}

/// Can this op be index arithmetic on a tile?
bool is_candidate(const Module& module, const Operation& op) {
  const OpClass c = class_of(op);
  if (c != OpClass::elementwise && c != OpClass::view && c != OpClass::layout) return false;
  if (op.results.empty()) return false;
  for (const int value : op.results) {
    const Type* type = module.type_of(value);
    if (type == nullptr || !is_integer_tile(*type)) return false;
  }
  return true;
}

/// Does anything but index arithmetic and addresses use an integer tile?
bool computes_with(const Module& module, int value) {
  const Type* type = module.type_of(value);
  if (type == nullptr || !is_integer_tile(*type) || type->is_pointer()) return false;
  std::vector<int> open = {value};
  std::set<int> seen = {value};
  while (!open.empty()) {
    const int now = open.back();
    open.pop_back();
    for (const Operation& user : module.ops)
      for (std::size_t k = 0; k < user.operands.size(); ++k) {
        if (user.operands[k] != now) continue;
        if (is_candidate(module, user)) {
          for (const int made : user.results)
            if (seen.insert(made).second) open.push_back(made);
        } else if (user.name != "scf.yield" && !is_address_operand(module, user, k)) {
          return true;
        }
      }
  }
  return false;
}

}  // namespace

bool is_address_operand(const Module& module, const Operation& op, std::size_t k) {
  const OpClass c = class_of(op);
  const Type* type = module.type_of(op.operands[k]);
  if (type == nullptr) return false;
  if (type->kind == TypeKind::scalar || type->kind == TypeKind::descriptor) return true;
  if (c == OpClass::load) return type->is_pointer() || type->element.starts_with('i');
  if (c == OpClass::copy) return type->kind == TypeKind::tensor;
  if (c == OpClass::store) {
    if (type->kind != TypeKind::tensor) return false;
    // tt.store %pointers, %value, %mask; descriptor_scatter %desc[%rows, %y], %value.
    if (type->is_pointer()) return true;
    if (op.name == "tt.store") return k == 2;
    if (op.name == "tt.atomic_rmw") return k == 2;
    return op.name == "tt.descriptor_scatter" && type->element == "i32" &&
           k + 1 < op.operands.size();
  }
  return false;
}

int data_mask(const Module& module, const Operation& op, const std::function<bool(int)>& inside) {
  constexpr std::size_t kMask = 2, kMostOps = 200;
  if ((op.name != "tt.store" && op.name != "tt.atomic_rmw") || op.operands.size() <= kMask)
    return kNone;
  const int mask = op.operands[kMask];
  const Type* type = module.type_of(mask);
  if (type == nullptr || type->kind != TypeKind::tensor || type->element != "i1") return kNone;
  std::vector<int> open = {mask};
  std::set<int> seen = {mask};
  while (!open.empty() && seen.size() < kMostOps) {
    const int value = open.back(), made = module.value(value).op;
    open.pop_back();
    if (made == kNone || !inside(made)) continue;
    const Operation& maker = module.op(made);
    const OpClass c = class_of(maker);
    if (!is_candidate(module, maker)) {
      // (Of integers that are loaded each slot may compute it: element_places.hpp.)
      if (c != OpClass::load && c != OpClass::replicated) return mask;
      continue;
    }
    for (const int operand : maker.operands) {
      const Type* of = module.type_of(operand);
      if (of == nullptr || of->kind != TypeKind::tensor) continue;
      if (!is_integer_tile(*of)) return mask;
      if (seen.insert(operand).second) open.push_back(operand);
    }
  }
  return kNone;
}

std::vector<bool> replicated_ops(const Module& module, const std::vector<int>& blocks) {
  std::vector<bool> replicated(module.ops.size(), false);
  std::vector<int> inside;
  std::vector<bool> is_inside(module.ops.size(), false);
  const auto collect = [&](const auto& self, int block) -> void {
    for (const int op : module.block(block).ops) {
      inside.push_back(op);
      is_inside[static_cast<std::size_t>(op)] = true;
      for (const int region : module.op(op).regions)
        for (const int inner : module.regions[static_cast<std::size_t>(region)].blocks)
          self(self, inner);
    }
  };
  for (const int block : blocks) collect(collect, block);

  for (const int index : inside) {
    const Operation& op = module.op(index);
    const OpClass c = class_of(op);
    bool yes = c == OpClass::replicated;
    if (!yes &&
        (c == OpClass::elementwise || c == OpClass::load || c == OpClass::view ||
         c == OpClass::reduction || c == OpClass::unknown) &&
        !op.results.empty()) {
      yes = c != OpClass::reduction;
      for (const int value : op.results) {
        const Type* type = module.type_of(value);
        yes = yes && type != nullptr &&
              (type->kind == TypeKind::scalar || type->kind == TypeKind::descriptor);
      }
    }
    replicated[static_cast<std::size_t>(index)] = yes || is_candidate(module, op);
  }

  // So is an inner loop or a branch, with all that is in it, where that computes scalars alone.
  const auto scalar = [&](const auto& self, int index) -> bool {
    const Operation& op = module.op(index);
    for (const int value : op.results)
      if (const Type* type = module.type_of(value);
          type == nullptr || (type->kind != TypeKind::scalar && type->kind != TypeKind::descriptor))
        return false;
    if (class_of(op) == OpClass::terminator) return true;
    if (class_of(op) != OpClass::control)
      return replicated[static_cast<std::size_t>(index)] && !op.results.empty();
    for (const int region : op.regions)
      for (const int block : module.regions[static_cast<std::size_t>(region)].blocks)
        for (const int inner : module.block(block).ops)
          if (!self(self, inner)) return false;
    return true;
  };
  for (const int index : inside)
    if (class_of(module.op(index)) == OpClass::control && scalar(scalar, index))
      replicated[static_cast<std::size_t>(index)] = true;

  // A candidate stays one while nothing but index arithmetic and addresses uses it. Uses through
  // loop variables count: value -> block argument.
  std::vector<std::vector<int>> carried(module.values.size());
  for (const int index : inside) {
    const Operation& op = module.op(index);
    if (op.name != "scf.yield") continue;
    const int loop = module.parent(index);
    if (loop == kNone || module.op(loop).name != "scf.for") continue;
    const auto& arguments = module.block(op.block).arguments;
    for (std::size_t k = 0; k < op.operands.size() && k + 1 < arguments.size(); ++k)
      carried[static_cast<std::size_t>(arguments[k + 1])].push_back(op.operands[k]);
  }
  std::vector<bool> needed(module.values.size(), false);  // by something that computes
  std::vector<int> work;
  const auto need = [&](int value) {
    if (needed[static_cast<std::size_t>(value)]) return;
    needed[static_cast<std::size_t>(value)] = true;
    work.push_back(value);
  };
  for (const int index : inside) {
    const Operation& op = module.op(index);
    if (replicated[static_cast<std::size_t>(index)] || op.name == "scf.yield") continue;
    for (std::size_t k = 0; k < op.operands.size(); ++k)
      if (!is_address_operand(module, op, k)) need(op.operands[k]);
    if (const int mask = data_mask(
            module, op,
            [&](int made) { return static_cast<bool>(is_inside[static_cast<std::size_t>(made)]); });
        mask != kNone)
      need(mask);
  }
  // So does what the loop results in, where more than addresses is made of that behind it.
  for (const int index : inside) {
    const Operation& op = module.op(index);
    const int loop = module.parent(index);
    if (op.name != "scf.yield" || loop == kNone || is_inside[static_cast<std::size_t>(loop)])
      continue;
    const std::vector<int>& results = module.op(loop).results;
    for (std::size_t k = 0; k < std::min(results.size(), op.operands.size()); ++k)
      if (computes_with(module, results[k])) need(op.operands[k]);
  }
  // What an scf.if hands out is needed inside it.
  for (const int index : inside) {
    const Operation& op = module.op(index);
    const int parent = module.parent(index);
    if (op.name == "scf.yield" && parent != kNone && module.op(parent).name == "scf.if")
      for (const int value : op.operands) need(value);
  }
  while (!work.empty()) {
    const int value = work.back();
    work.pop_back();
    for (const int source : carried[static_cast<std::size_t>(value)]) need(source);
    const int index = module.value(value).op;
    if (index == kNone || !is_inside[static_cast<std::size_t>(index)]) continue;
    const Operation& op = module.op(index);
    if (!replicated[static_cast<std::size_t>(index)] || !is_candidate(module, op)) continue;
    replicated[static_cast<std::size_t>(index)] = false;
    for (const int operand : op.operands) need(operand);
  }
  return replicated;
}

}  // namespace twill::ttgir
