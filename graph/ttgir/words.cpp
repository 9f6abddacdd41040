#include "graph/ttgir/words.hpp"

#include <string_view>

#include "graph/meaning/integers.hpp"
#include "graph/ttgir/constants.hpp"

namespace twill::ttgir {
namespace {

constexpr int kWordBits = 32;
constexpr std::uint64_t kWord = 0xFFFFFFFF;

bool is_number(const Module& module, int value, std::string_view element) {
  const Type* type = module.type_of(value);
  return type != nullptr && type->kind == TypeKind::scalar && type->element == element;
}

}  // namespace

std::optional<Word> word_left(const Module& module, int op) {
  constexpr int kMostOps = 16;
  const Operation& cut = module.op(op);
  if (cut.name != "arith.trunci" || cut.operands.size() != 1 || cut.results.size() != 1 ||
      !is_number(module, cut.results[0], "i32"))
    return std::nullopt;
  int value = cut.operands[0];
  bool upper = false;
  const auto asked = [&](std::int64_t bits) {
    return static_cast<std::uint64_t>(bits) >> (upper ? kWordBits : 0) & kWord;
  };
  for (int k = 0; k < kMostOps; ++k) {
    if (!is_number(module, value, "i64")) return std::nullopt;
    if (const auto known = constant_integer(module, value))
      return Word{kNone, meaning::wrapped(static_cast<std::int64_t>(asked(*known)), kWordBits),
                  false};
    const int made = module.value(value).op;
    if (made == kNone || module.op(made).operands.empty()) return std::nullopt;
    const Operation& maker = module.op(made);
    const int first = maker.operands[0];
    if (maker.name == "arith.extsi" || maker.name == "arith.extui") {
      if (!is_number(module, first, "i32")) return std::nullopt;
      if (upper && maker.name == "arith.extui") return Word{};
      return Word{first, 0, upper};
    }
    if (maker.operands.size() != 2) return std::nullopt;
    const auto by = constant_integer(module, maker.operands[1]);
    if (maker.name == "arith.andi" && by) {
      if (asked(*by) == 0) return Word{};
      if (asked(*by) != kWord) return std::nullopt;
    } else if (maker.name == "arith.shrui" && by == kWordBits) {
      if (upper) return Word{};
      upper = true;
    } else {
      return std::nullopt;
    }
    value = first;
  }
  return std::nullopt;
}

}  // namespace twill::ttgir
