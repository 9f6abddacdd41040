#include "graph/meaning/bounds.hpp"

#include <algorithm>

namespace twill::meaning {

int first_bound(Function function) {
  switch (function) {
    case Function::load:   // behind what masked elements are
    case Function::store:  // behind what is stored
      return 1;
    case Function::within: return 2;  // behind what is kept, and what else is
    default: return -1;
  }
}

std::vector<Bound> bounds_of(const Value& value) {
  std::vector<Bound> all;
  const int first = first_bound(value.function);
  if (first < 0) return all;
  for (auto k = static_cast<std::size_t>(first); k + kBoundNumbers <= value.operands.size();
       k += kBoundNumbers)
    all.push_back({value.operands[k].number, value.operands[k + 1].number,
                   value.operands[k + 2].number, value.operands[k + 3].number});
  return all;
}

bool is_inside(const std::vector<Bound>& bounds, std::int64_t row, std::int64_t column,
               std::int64_t i) {
  return std::all_of(bounds.begin(), bounds.end(), [&](const Bound& one) {
    return one.rows * static_cast<double>(row) + one.columns * static_cast<double>(column) +
               one.per_iteration * static_cast<double>(i) + one.first >=
           0;
  });
}

}  // namespace twill::meaning
