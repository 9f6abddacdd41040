// Expressions of kernel files: random trees against their own evaluation, and what is refused.
#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "graph/lowering/expression.hpp"
#include "graph/random.hpp"
#include "graph/wide.hpp"

namespace expression_test {

using namespace twill;

namespace {

const Scope kScope{{{"rows", 192}, {"keys", 176}, {"zero", 0}, {"big", 1'000'000'000'000}},
                   {{"T", "bf16"}, {"U", "f4"}}};

/// A text, and its value by other means: 128 bits, nothing where it has none.
struct Tree {
  std::string text;
  std::optional<Wide> value;
};

bool fits(Wide x) {
  return x >= -(Wide{1} << 63) && x < (Wide{1} << 63);
}

Tree random_tree(SplitMix64& random, int depth) {
  const auto range = [&](std::int64_t high) { return random.range(0, high); };
  if (depth == 0 || range(5) == 0) {
    switch (range(4)) {
      case 0: return {"rows", 192};
      case 1: return {"keys", 176};
      case 2: return {range(1) == 0 ? "bytes(T)" : "bytes( bf16 )", 2};
      case 3: return range(3) == 0 ? Tree{"big", 1'000'000'000'000} : Tree{"bits(U)", 4};
      default: break;
    }
    const std::int64_t number = range(20);
    return {std::to_string(number), number};
  }
  const Tree a = random_tree(random, depth - 1), b = random_tree(random, depth - 1);
  const auto both = [&](Wide value) -> std::optional<Wide> {
    if (!a.value || !b.value || !fits(value)) return std::nullopt;
    return value;
  };
  const Wide x = a.value.value_or(0), y = b.value.value_or(0);
  const std::string space = range(1) == 0 ? " " : "";
  const auto text = [&](const char* sign) {
    return "(" + a.text + space + sign + space + b.text + ")";
  };
  switch (range(6)) {
    case 0: return {text("+"), both(x + y)};
    case 1: return {text("-"), both(x - y)};
    case 2: return {text("*"), both(x * y)};
    case 3: return {text("/"), y == 0 || x % y != 0 ? std::nullopt : both(x / y)};
    case 4: return {"max(" + a.text + "," + space + b.text + ")", both(x > y ? x : y)};
    case 5: return {"min(" + a.text + space + "," + b.text + ")", both(x < y ? x : y)};
    default:
      return {"-" + space + "(" + a.text + ")",
              a.value && fits(-x) ? std::optional<Wide>(-x) : std::nullopt};
  }
}

std::string refusal(const std::string& text) {
  try {
    evaluate(text, kScope);
  } catch (const ExpressionError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("random expressions: the value, or none, of an evaluation in 128 bits") {
  int with = 0, without = 0;
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    SplitMix64 random(seed);
    const Tree tree = random_tree(random, static_cast<int>(random.range(0, 5)));
    if (tree.text.size() > kMaxExpression) continue;
    CAPTURE(tree.text);
    std::optional<std::int64_t> found;
    try {
      found = evaluate(tree.text, kScope);
    } catch (const ExpressionError&) {
    }
    CHECK(found.has_value() == tree.value.has_value());
    if (found && tree.value) CHECK(Wide{*found} == *tree.value);
    ++(found ? with : without);
    for (const char* const sign : {"==", "<=", ">=", "<", ">"}) {
      if (!tree.value) continue;
      const std::string condition = tree.text + sign + "192";
      if (condition.size() > kMaxExpression) continue;
      const Wide x = *tree.value;
      const std::string s = sign;
      const bool wanted = s == "=="   ? x == 192
                          : s == "<=" ? x <= 192
                          : s == ">=" ? x >= 192
                          : s == "<"  ? x < 192
                                      : x > 192;
      CHECK(holds(condition, kScope) == wanted);
    }
  }
  CHECK(with > 5'000);
  CHECK(without > 1'000);
}

TEST_CASE("precedence, signs and functions") {
  CHECK(evaluate("2 + 3 * 4", kScope) == 14);
  CHECK(evaluate("20 - 3 - 4", kScope) == 13);
  CHECK(evaluate("24 / 4 / 2", kScope) == 3);
  CHECK(evaluate("2 * -3", kScope) == -6);
  CHECK(evaluate("--3", kScope) == 3);
  CHECK(evaluate("max(1)", kScope) == 1);
  CHECK(evaluate("min(rows, keys, 3)", kScope) == 3);
  CHECK(evaluate("bits(U) * 2", kScope) == 8);
  CHECK(evaluate("rows / 2 * keys * bytes(T)", kScope) == 33792);
  CHECK(evaluate("9223372036854775807", kScope) == 9223372036854775807);
  CHECK(substitute("s{rows / 64}_qk{zero}", kScope) == "s3_qk0");
  CHECK(substitute("plain", kScope) == "plain");
  CHECK(kScope.text() == "rows = 192, keys = 176, zero = 0, big = 1000000000000, T = bf16, U = f4");
}

TEST_CASE("what has no value says why") {
  const std::pair<const char*, const char*> all[] = {
      {"", "character 1 is the end, must be a number, a name or \"(\""},
      {"1 +", "is the end"},
      {"1 2", "character 3 is \"2\", must be an operator or the end"},
      {"(1", "must be \")\""},
      {"1 % 2", "is \"%\""},
      {"rows = 1", "is \"=\""},
      {"row", "\"row\" is no parameter that is a number; there are rows, keys, zero, big"},
      {"T", "\"T\" is no parameter that is a number"},
      {"bytes(rows)", "\"rows\" is no element type and no type parameter"},
      {"bytes(U)", "f4 has no whole bytes: use bits(...)"},
      {"bits()", "is no element type"},
      {"max()", "must be a number, a name"},
      {"max 1", "must be \"(\""},
      {"rows / 5", "192 / 5 leaves a rest"},
      {"rows / zero", "it divides 192 by 0"},
      {"big * big", "leaves 64 bits"},
      {"9223372036854775808", "leaves 64 bits"},
      {"9223372036854775807 + 1", "leaves 64 bits"},
      {"(-9223372036854775807 - 1) / -1", "leaves 64 bits"},
      {"-(-9223372036854775807 - 1)", "leaves 64 bits"},
      {"1\t+ 1", "must be an operator or the end"},
  };
  for (const auto& [text, why] : all) {
    CAPTURE(text);
    CAPTURE(refusal(text));
    CHECK(contains(refusal(text), why));
  }
  CHECK(contains(refusal(std::string(kMaxExpression + 1, '1')), "at most 300 characters"));
  CHECK(contains(refusal(std::string(100, '(') + "1" + std::string(100, ')')), "nests at most"));
  CHECK(contains(refusal(std::string(100, '-') + "1"), "too many signs"));
  CHECK_THROWS_AS(holds("rows", kScope), ExpressionError);
  CHECK_THROWS_AS(holds("rows == 1 == 1", kScope), ExpressionError);
  for (const char* const text : {"s{", "s}", "s{1", "s{{1}}", "s{}", "s{T}"})
    CHECK_THROWS_AS(substitute(text, kScope), ExpressionError);
  for (const char* const name : {"", "1a", "a-b", "max", "bits", "f16", "é"})
    CHECK_FALSE(is_parameter_name(name));
  for (const char* const name : {"a", "_", "rows_2", "T"}) CHECK(is_parameter_name(name));
}

}  // namespace expression_test
