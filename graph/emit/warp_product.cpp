#include "graph/emit/warp_product.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "graph/index.hpp"

namespace twill::emit {

bool is_warp_product(const program::Program& program, const meaning::Meaning& meaning,
                     const program::Links& links, int op) {
  constexpr std::int64_t kRowsOfWgmma = 64;
  const meaning::Value& product = meaning.values[at(links.result[at(op)])];
  if (product.type != "f32" || product.shape.size() != 2 ||
      product.shape[0] % kRowsOfWarpProduct != 0 || product.shape[0] >= kRowsOfWgmma ||
      product.shape[1] % kColumnsOfWarpProduct != 0)
    return false;
  for (const int s : program.ops[at(op)].writes)
    if (program.storages[at(s)].kind == program::Storage::in_memory) return false;
  for (std::size_t k = 0; k < 2; ++k) {
    const meaning::Operand& one = product.operands[k];
    if (one.value < 0) return false;
    const std::string& type = meaning.values[at(one.value)].type;
    if (type != "f16" && type != "bf16") return false;
  }
  const meaning::Operand& right = product.operands[1];
  if (right.is_part() || !meaning.in_loop(right.value)) return false;
  const int from = links.runner[at(right.value)];
  if (from < 0 || program.ops[at(from)].slot != program.ops[at(op)].slot) return false;
  const std::vector<int> storages = program::storages_read(program, op, from, right.distance);
  return std::any_of(storages.begin(), storages.end(), [&](int s) {
    return program.storages[at(s)].kind == program::Storage::in_registers;
  });
}

}  // namespace twill::emit
