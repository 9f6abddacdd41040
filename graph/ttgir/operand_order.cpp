#include "graph/ttgir/operand_order.hpp"

#include <algorithm>

namespace twill::ttgir {
namespace {

bool is_tensor(const Module& module, int value) {
  const Type* type = module.type_of(value);
  return type != nullptr && type->kind == TypeKind::tensor;
}

}  // namespace

bool order_operands(const Module& module, Operation& op) {
  auto& list = op.operands;
  if (op.generic && op.name == "ttng.tmem_store") {
    // buffer, token, tile, predicate -> tile, buffer, token, predicate
    const auto tile =
        std::find_if(list.begin(), list.end(), [&](int value) { return is_tensor(module, value); });
    if (tile != list.end()) std::rotate(list.begin(), tile, tile + 1);
  } else if (op.generic && list.size() > 1 &&
             (op.name == "tt.descriptor_store" || op.name == "tt.descriptor_reduce" ||
              op.name == "tt.experimental_descriptor_store" ||
              op.name == "tt.experimental_descriptor_reduce")) {
    // descriptor, tile, indices -> descriptor, indices, tile
    std::rotate(list.begin() + 1, list.begin() + 2, list.end());
  } else if (!op.generic && op.name == "tt.dot_scaled") {
    // a, scale, b, scale, accumulator -> a, b, accumulator, scales
    if (list.size() == 5) list = {list[0], list[2], list[4], list[1], list[3]};
    return list.size() == 3 || list.size() == 5;
  } else if (op.name == "tt.dot_scaled") {
    return list.size() != 4;
  }
  return true;
}

}  // namespace twill::ttgir
