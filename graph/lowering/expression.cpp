// By recursive descent, evaluated while it is read: every text is short and read once for each
// combination of values.
#include "graph/lowering/expression.hpp"

#include <algorithm>
#include <array>

#include "graph/io/json_text.hpp"
#include "graph/lowering/kernel.hpp"

namespace twill {
namespace {

constexpr std::array<std::string_view, 4> kFunctions = {"max", "min", "bits", "bytes"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Evaluation {
 public:
  Evaluation(std::string_view text, const Scope& scope) : text_(text), scope_(scope) {
    if (text.size() > kMaxExpression)
      fail("an expression has at most " + std::to_string(kMaxExpression) + " characters");
  }

  std::int64_t whole() {
    const std::int64_t value = sum();
    if (next() != 0) unexpected("an operator or the end");
    return value;
  }

  bool comparison() {
    const std::int64_t left = sum();
    for (const std::string_view sign : {"==", "<=", ">=", "<", ">"}) {
      next();
      if (!text_.substr(place_).starts_with(sign)) continue;
      place_ += sign.size();
      const std::int64_t right = whole();
      if (sign == "==") return left == right;
      if (sign == "<=") return left <= right;
      if (sign == ">=") return left >= right;
      return sign == "<" ? left < right : left > right;
    }
    unexpected("==, <=, >=, < or >");
  }

 private:
  [[noreturn]] static void fail(const std::string& why) { throw ExpressionError(why); }
  [[noreturn]] void unexpected(const std::string& wanted) {
    const char c = next();
    fail("character " + std::to_string(place_ + 1) + " is " +
         (c == 0 ? "the end" : quote(text_.substr(place_, 1))) + ", must be " + wanted);
  }

  /// The next character that is no space; 0 = the end. (A NUL in a file is refused before.)
  char next() {
    while (place_ < text_.size() && text_[place_] == ' ') ++place_;
    return place_ < text_.size() ? text_[place_] : '\0';
  }
  bool take(char c) {
    if (next() != c) return false;
    ++place_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) unexpected("\"" + std::string(1, c) + "\"");
  }
  std::string_view name() {
    next();
    const std::size_t begin = place_;
    while (place_ < text_.size() && (is_letter(text_[place_]) || is_digit(text_[place_]))) ++place_;
    return text_.substr(begin, place_ - begin);
  }

  /// By reference: what sets `overflow` sets `value`, and arguments come in any order.
  static std::int64_t fits(bool overflow, const std::int64_t& value) {
    if (overflow) fail("a part of it leaves 64 bits");
    return value;
  }

  std::int64_t sum() {
    if (++depth_ > kMaxExpressionDepth)
      fail("an expression nests at most " + std::to_string(kMaxExpressionDepth) + " deep");
    std::int64_t value = product();
    for (;;) {
      std::int64_t result = 0;
      if (take('+'))
        value = fits(__builtin_add_overflow(value, product(), &result), result);
      else if (take('-'))
        value = fits(__builtin_sub_overflow(value, product(), &result), result);
      else
        break;
    }
    --depth_;
    return value;
  }

  std::int64_t product() {
    std::int64_t value = factor();
    for (;;) {
      if (take('*')) {
        std::int64_t result = 0;
        value = fits(__builtin_mul_overflow(value, factor(), &result), result);
      } else if (take('/')) {
        value = quotient(value, factor());
      } else {
        return value;
      }
    }
  }

  static std::int64_t quotient(std::int64_t a, std::int64_t b) {
    if (b == 0) fail("it divides " + std::to_string(a) + " by 0");
    if (b == -1) {
      std::int64_t result = 0;
      return fits(__builtin_sub_overflow(std::int64_t{0}, a, &result), result);
    }
    if (a % b != 0)
      fail(std::to_string(a) + " / " + std::to_string(b) + " leaves a rest: divisions are exact");
    return a / b;
  }

  std::int64_t factor() {
    if (take('-')) {
      std::int64_t result = 0;
      if (++depth_ > kMaxExpressionDepth) fail("too many signs");
      const bool overflow = __builtin_sub_overflow(std::int64_t{0}, factor(), &result);
      --depth_;
      return fits(overflow, result);
    }
    if (take('(')) {
      const std::int64_t value = sum();
      expect(')');
      return value;
    }
    const char c = next();
    if (is_digit(c)) return number();
    if (is_letter(c)) return named();
    unexpected("a number, a name or \"(\"");
  }

  std::int64_t number() {
    std::int64_t value = 0;
    for (; place_ < text_.size() && is_digit(text_[place_]); ++place_) {
      std::int64_t ten = 0;
      fits(__builtin_mul_overflow(value, 10, &ten), ten);
      fits(__builtin_add_overflow(ten, text_[place_] - '0', &value), value);
    }
    return value;
  }

  std::int64_t named() {
    const std::string word(name());
    if (std::find(kFunctions.begin(), kFunctions.end(), word) != kFunctions.end()) {
      expect('(');
      const std::int64_t value =
          word == "bits" || word == "bytes" ? size_of_type(word == "bytes") : extreme(word);
      expect(')');
      return value;
    }
    for (const auto& [known, value] : scope_.numbers)
      if (known == word) return value;
    std::string all;
    for (const auto& [known, value] : scope_.numbers) all += (all.empty() ? "" : ", ") + known;
    fail(quote(word) + " is no parameter that is a number" +
         (all.empty() ? "" : "; there are " + all));
  }

  std::int64_t extreme(const std::string& function) {
    std::int64_t value = sum();
    while (take(',')) {
      const std::int64_t other = sum();
      value = function == "max" ? std::max(value, other) : std::min(value, other);
    }
    return value;
  }

  std::int64_t size_of_type(bool bytes) {
    std::string type(name());
    for (const auto& [known, value] : scope_.types)
      if (known == type) type = value;
    const int bits = element_bits(type);
    if (bits == 0) fail(quote(type) + " is no element type and no type parameter");
    if (bytes && bits % 8 != 0) fail(type + " has no whole bytes: use bits(...)");
    return bytes ? bits / 8 : bits;
  }

  std::string_view text_;
  const Scope& scope_;
  std::size_t place_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string Scope::text() const {
  std::string all;
  const auto add = [&](const std::string& name, const std::string& value) {
    all += (all.empty() ? "" : ", ") + name + " = " + value;
  };
  for (const auto& [name, value] : numbers) add(name, std::to_string(value));
  for (const auto& [name, value] : types) add(name, value);
  return all;
}

std::int64_t evaluate(std::string_view text, const Scope& scope) {
  return Evaluation(text, scope).whole();
}

bool holds(std::string_view text, const Scope& scope) {
  return Evaluation(text, scope).comparison();
}

std::string substitute(std::string_view text, const Scope& scope) {
  std::string result;
  while (!text.empty()) {
    const std::size_t open = text.find_first_of("{}");
    result += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find_first_of("{}", open + 1);
    if (text[open] != '{' || close == std::string_view::npos || text[close] != '}')
      throw ExpressionError("braces must be pairs around an expression");
    result += std::to_string(evaluate(text.substr(open + 1, close - open - 1), scope));
    text.remove_prefix(close + 1);
  }
  return result;
}

bool is_parameter_name(std::string_view name) {
  return !name.empty() && name.size() <= 32 && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter(c) || is_digit(c); }) &&
         std::find(kFunctions.begin(), kFunctions.end(), name) == kFunctions.end() &&
         element_bits(name) == 0;
}

}  // namespace twill
