#include "graph/ttgir/comparison.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace twill::ttgir {

namespace {

/// The predicate's whole word: one that MLIR has not is none.
std::string_view predicate_word(const Module& module, const Operation& op) {
  bool found = false;
  std::string_view text = module.attribute(op, "predicate", &found);
  if (!found) {
    text = std::string_view(*module.text).substr(op.begin, op.end - op.begin);
    text.remove_prefix(std::min(text.size(), op.name.size()));
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  const auto end = std::find_if(text.begin(), text.end(),
                                [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; });
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

}  // namespace

std::optional<std::int64_t> predicate(const Module& module, const Operation& op) {
  const std::string_view word = predicate_word(module, op);
  if (word == "eq" || word == "0") return kEqual;
  if (word == "ne" || word == "1") return kUnequal;
  if (word == "slt" || word == "2") return kSignedLess;
  if (word == "sle" || word == "3") return kSignedAtMost;
  if (word == "sgt" || word == "4") return kSignedMore;
  if (word == "sge" || word == "5") return kSignedAtLeast;
  return std::nullopt;
}

std::optional<std::int64_t> unsigned_predicate(const Module& module, const Operation& op) {
  const std::string_view word = predicate_word(module, op);
  if (word == "ult" || word == "6") return kSignedLess;
  if (word == "ule" || word == "7") return kSignedAtMost;
  if (word == "ugt" || word == "8") return kSignedMore;
  if (word == "uge" || word == "9") return kSignedAtLeast;
  return std::nullopt;
}

std::optional<meaning::IndexComparison::How> how_of(std::int64_t predicate, bool truth) {
  using enum meaning::IndexComparison::How;
  switch (predicate) {
    case kSignedLess: return truth ? less : at_least;
    case kSignedAtMost: return truth ? at_most : more;
    case kSignedMore: return truth ? more : at_most;
    case kSignedAtLeast: return truth ? at_least : less;
    case kEqual: return truth ? equal : unequal;
    case kUnequal: return truth ? unequal : equal;
    default: return std::nullopt;
  }
}

std::optional<std::int64_t> real_predicate(const Module& module, const Operation& op) {
  const std::string_view word = predicate_word(module, op);
  if (word == "oeq" || word == "1") return kEqual;
  if (word == "ogt" || word == "2") return kSignedMore;
  if (word == "oge" || word == "3") return kSignedAtLeast;
  if (word == "olt" || word == "4") return kSignedLess;
  if (word == "ole" || word == "5") return kSignedAtMost;
  if (word == "une" || word == "13") return kUnequal;  // also of what is no number, as C's !=
  return std::nullopt;
}

}  // namespace twill::ttgir
