#include "graph/ttgir/comparison.hpp"

#include <algorithm>
#include <string_view>

namespace twill::ttgir {

std::optional<std::int64_t> predicate(const Module& module, const Operation& op) {
  bool found = false;
  std::string_view text = module.attribute(op, "predicate", &found);
  if (!found) {
    text = std::string_view(*module.text).substr(op.begin, op.end - op.begin);
    text.remove_prefix(std::min(text.size(), op.name.size()));
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  if (text.starts_with("eq") || text.starts_with("0 ")) return kEqual;
  if (text.starts_with("slt") || text.starts_with("2 ")) return kSignedLess;
  if (text.starts_with("sle") || text.starts_with("3 ")) return kSignedAtMost;
  if (text.starts_with("sgt") || text.starts_with("4 ")) return kSignedMore;
  if (text.starts_with("sge") || text.starts_with("5 ")) return kSignedAtLeast;
  return std::nullopt;
}

}  // namespace twill::ttgir
