// Words of 32 bits that are taken out of numbers of 64 bits, as tl.rand takes its key out of the
// seed (meaning_builder.hpp): there is no arithmetic of 64 bits, but an integer of 32 that was made
// longer is its lower word, and its sign is the upper one.
#include "graph/meaning/integers.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/meaning_builder.hpp"

namespace twill::ttgir {
namespace {

constexpr int kWordBits = 32;
constexpr std::uint64_t kWord = 0xFFFFFFFF;

}  // namespace

/// Of an op that cuts 64 bits down to 32: the word that is left; nothing where that is not known.
std::optional<MeaningBuilder::Word> MeaningBuilder::word_left(int index) const {
  constexpr int kMostOps = 16;
  const Operation& cut = m_.op(index);
  if (cut.name != "arith.trunci" || cut.operands.size() != 1 || cut.results.size() != 1 ||
      !is_tile(cut.results[0], TypeKind::scalar) || type(cut.results[0]).element != "i32")
    return std::nullopt;
  int value = cut.operands[0];
  bool upper = false;
  for (int k = 0; k < kMostOps; ++k) {
    if (!is_tile(value, TypeKind::scalar) || type(value).element != "i64") return std::nullopt;
    if (const auto known = constant_integer(m_, value)) {
      const auto bits = static_cast<std::uint64_t>(*known) >> (upper ? kWordBits : 0) & kWord;
      return Word{kNone, meaning::wrapped(static_cast<std::int64_t>(bits), kWordBits), false};
    }
    const int made = m_.value(value).op;
    if (made == kNone || m_.op(made).operands.empty()) return std::nullopt;
    const Operation& op = m_.op(made);
    const int first = op.operands[0];
    if (op.name == "arith.extsi" || op.name == "arith.extui") {
      if (!is_tile(first, TypeKind::scalar) || type(first).element != "i32") return std::nullopt;
      if (upper && op.name == "arith.extui") return Word{};
      return Word{first, 0, upper};
    }
    if (op.operands.size() != 2) return std::nullopt;
    const auto by = constant_integer(m_, op.operands[1]);
    if (op.name == "arith.andi" && by) {
      const std::uint64_t mask = static_cast<std::uint64_t>(*by) >> (upper ? kWordBits : 0) & kWord;
      if (mask == 0) return Word{};
      if (mask != kWord) return std::nullopt;
    } else if (op.name == "arith.shrui" && by == kWordBits) {
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
