#include "graph/ttgir/branch_condition.hpp"

#include <algorithm>

#include "graph/index.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/index_values.hpp"

namespace twill::ttgir {

int branch_condition(const Module& module, int op) {
  const Operation& branch = module.op(op);
  if (!branch.results.empty() || branch.regions.empty()) return kNone;
  if (branch.name == "scf.if") return branch.operands.size() == 1 ? branch.operands[0] : kNone;
  if (branch.name != "scf.for" || branch.operands.size() != kFirstLoopVariable) return kNone;
  // From 0 below 1 or 0, by 1.
  const int end = module.value(branch.operands[1]).op;
  if (constant_integer(module, branch.operands[0]) != 0 ||
      constant_integer(module, branch.operands[2]) != 1 || end == kNone ||
      module.op(end).name != "arith.extui" || module.op(end).operands.size() != 1)
    return kNone;
  const Type* const flag = module.type_of(module.op(end).operands[0]);
  if (flag == nullptr || flag->kind != TypeKind::scalar || flag->element != "i1") return kNone;
  // (Its variable, which is always 0, would be a place of the loop's.)
  const std::vector<int>& blocks = module.regions[at(branch.regions[0])].blocks;
  if (blocks.size() != 1 || module.block(blocks[0]).arguments.size() != 1) return kNone;
  const int variable = module.block(blocks[0]).arguments[0];
  for (const Operation& user : module.ops)
    if (std::find(user.operands.begin(), user.operands.end(), variable) != user.operands.end())
      return kNone;
  return module.op(end).operands[0];
}

}  // namespace twill::ttgir
