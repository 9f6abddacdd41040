// What only the last iteration makes for what stands behind the loop (meaning_builder.hpp).
#include <algorithm>
#include <set>
#include <utility>

#include "graph/index.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {

using meaning::Function;
using meaning::Operand;

/// What is used behind the loop and by no later iteration would not be kept until then. Its op
/// keeps it: it makes either what it computes, always, or what it made the iteration before.
void MeaningBuilder::keep_last() {
  std::set<int> carried;
  for (const auto* const list : {&loop_values_, &scalars_, &after_})
    for (const meaning::Value& value : *list)
      for (const Operand& one : value.operands)
        if (one.distance > 0) carried.insert(one.value);
  for (const auto& [key, first] : initial_) {
    if (carried.contains(key) || key < kLoop || key >= kAfter) continue;
    const std::size_t v = at(key - kLoop);
    const bool chained =
        std::any_of(k_.kernel.chunks.begin(), k_.kernel.chunks.end(), [&](const Chunk& chunk) {
          return std::find(chunk.ops.begin(), chunk.ops.end(), v) != chunk.ops.end();
        });
    meaning::Value& value = loop_values_[v];
    if (loop_value_[v] < 0 || chained || meaning::has_tensor(value.function) ||
        value.function == Function::product || !value.part_of.empty())
      continue;
    meaning::Value now = value;
    now.id = unique(value.id + ".now");
    now.part_of = value.id;
    scalars_.push_back(std::move(now));
    Operand always, made, before;
    always.number = 1;
    made.value = kScalar + static_cast<int>(scalars_.size()) - 1;
    before.value = key;
    before.distance = 1;
    value.function = Function::select;
    value.operands = {always, made, before};
  }
}

}  // namespace twill::ttgir
