#include "graph/ttgir/pure_ops.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "graph/index.hpp"
#include "graph/ttgir/constants.hpp"

namespace twill::ttgir {
namespace {

constexpr int kMostRepeats = 40;  // one of the other

}  // namespace

bool only_computes(const Operation& op) {
  static constexpr std::string_view kMakes[] = {
      "tt.splat",  "tt.broadcast",      "tt.expand_dims",    "tt.make_range",
      "tt.addptr", "tt.get_program_id", "ttg.convert_layout"};
  if (op.results.size() != 1 || !op.regions.empty()) return false;
  return op.name.starts_with("arith.") || op.name.starts_with("math.") ||
         std::find(std::begin(kMakes), std::end(kMakes), op.name) != std::end(kMakes);
}

bool divides_integers(const Operation& op) {
  return op.name.starts_with("arith.") && op.name.ends_with("i") &&
         (op.name.find("div") != std::string_view::npos ||
          op.name.find("rem") != std::string_view::npos);
}

int repeated_value(const Module& module, int value) {
  static constexpr std::string_view kRepeats[] = {"tt.splat", "tt.broadcast", "arith.extsi",
                                                  "ttg.convert_layout"};
  for (int depth = 0; depth < kMostRepeats; ++depth) {
    const int made = module.value(value).op;
    if (made == kNone || module.op(made).operands.size() != 1 ||
        std::find(std::begin(kRepeats), std::end(kRepeats), module.op(made).name) ==
            std::end(kRepeats))
      break;
    value = module.op(made).operands[0];
  }
  return value;
}

bool is_over_zero(const Module& module, int value) {
  const int by = repeated_value(module, value);
  if (const auto number = constant_integer(module, by)) return *number > 0;
  const int made = module.value(by).op;
  if (made == kNone || module.op(made).name != "arith.constant") return false;
  // dense<7>: a number, no minus, no list, not 0.
  std::string_view text = module.op(made).literal;
  if (!text.starts_with("dense<") || !text.ends_with('>')) return false;
  text = text.substr(6, text.size() - 7);
  return !text.empty() && text.size() < 10 && text.front() != '0' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace twill::ttgir
