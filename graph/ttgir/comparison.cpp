#include "graph/ttgir/comparison.hpp"

#include <algorithm>
#include <cctype>
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
  // The whole word: a predicate that MLIR has not is none.
  const auto end = std::find_if(text.begin(), text.end(),
                                [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; });
  const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  if (word == "eq" || word == "0") return kEqual;
  if (word == "slt" || word == "2") return kSignedLess;
  if (word == "sle" || word == "3") return kSignedAtMost;
  if (word == "sgt" || word == "4") return kSignedMore;
  if (word == "sge" || word == "5") return kSignedAtLeast;
  return std::nullopt;
}

}  // namespace twill::ttgir
