#include "graph/emit/descriptors.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "graph/emit/gluon_values.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

using meaning::Function;

/// A place in shared memory that is the same in every iteration, as an operand sees it.
struct LastingPlace {
  int storage = -1, value = -1;
  bool left = false, transposed = false;
  std::int64_t first_column = 0;
  auto key() const { return std::tie(storage, value, left, transposed, first_column); }
  bool operator<(const LastingPlace& other) const { return key() < other.key(); }
};

/// Instructions of a product, each of which has a part of operand k of its own.
int parts_of_operand(const Plan& plan, int op, std::size_t k) {
  constexpr std::int64_t kRowsOfWarp = 16, kRowsOfTensorMemory = 128, kColumns = 256;
  constexpr std::int64_t kBytesDeep = 32;
  const meaning::Value& value = plan.meaning->values[at(plan.links.result[at(op)])];
  const meaning::Operand& left = value.operands[0];
  const meaning::Value& a = plan.meaning->values[at(left.value)];
  std::int64_t deep = a.shape[left.transposed ? 0 : 1];
  if (left.columns > 0 && !left.transposed) deep = left.columns;
  const bool narrow = a.type == "f8" || a.type == "f8e5m2" || a.type == "i8";
  const std::int64_t steps =
      std::max<std::int64_t>(1, deep / (narrow ? kBytesDeep : kBytesDeep / 2));
  const std::int64_t rows = plan.legal.target == Target::hopper
                                ? kRowsOfWarp * plan.warps(plan.given->ops[at(op)].slot)
                                : kRowsOfTensorMemory;
  const std::int64_t across = k == 0 ? value.shape[0] / rows : value.shape[1] / kColumns;
  return static_cast<int>(steps * std::max<std::int64_t>(1, across));
}

}  // namespace

int lasting_descriptors(const Plan& plan, int slot) {
  ModuleNeeds needs;
  const ValuePrinter values(plan, slot, needs);
  std::set<LastingPlace> seen;
  int all = 0;
  for (int op = 0; op < static_cast<int>(plan.given->ops.size()); ++op) {
    const meaning::Value& value = plan.meaning->values[at(plan.links.result[at(op)])];
    if (plan.given->ops[at(op)].slot != slot || value.function != Function::product) continue;
    for (std::size_t k = 0; k < 2; ++k) {
      if (value.operands[k].value < 0) continue;
      const Source source = values.resolve(op, value.operands[k]);
      LastingPlace place{-1, -1, k == 0, source.transposed, source.first_column};
      if (source.kind == Source::before) {
        place.value = source.value;
      } else if (source.kind == Source::memory) {
        const program::Storage& storage = plan.given->storages[at(source.storage)];
        if (storage.depth > 1 || plan.on_tmem(storage)) continue;
        place.storage = source.storage;
      } else {
        continue;
      }
      if (seen.insert(place).second) all += parts_of_operand(plan, op, k);
    }
  }
  return all;
}

bool descriptors_are_made_anew(const Plan& plan, int slot) {
  constexpr int kUniformRegisters = 63, kOfDescriptor = 2;
  return kOfDescriptor * lasting_descriptors(plan, slot) > kUniformRegisters;
}

}  // namespace twill::emit
