// Literals with constants: true, false, or a variable with a sign.
//
// Encoders compute with these; constants disappear in Formula (formula.hpp), nowhere else.
#pragma once

#include <cassert>
#include <limits>

namespace twill {

class Lit {
 public:
  constexpr Lit() : code_(-kTrue) {}  ///< false
  /// Literal of DIMACS variable |code| >= 1, negative = negated.
  static constexpr Lit of(int code) {
    assert(code != 0);
    return Lit(code);
  }
  static constexpr Lit constant(bool value) { return Lit(value ? kTrue : -kTrue); }

  constexpr Lit operator~() const { return Lit(-code_); }
  constexpr bool is_true() const { return code_ == kTrue; }
  constexpr bool is_false() const { return code_ == -kTrue; }
  constexpr bool is_constant() const { return is_true() || is_false(); }
  /// DIMACS code; only for literals that are not constant.
  constexpr int dimacs() const {
    assert(!is_constant());
    return code_;
  }
  constexpr bool operator==(const Lit&) const = default;
  constexpr auto operator<=>(const Lit&) const = default;

 private:
  static constexpr int kTrue = std::numeric_limits<int>::max();
  constexpr explicit Lit(int code) : code_(code) {}
  int code_;
};

inline constexpr Lit kTrueLit = Lit::constant(true);
inline constexpr Lit kFalseLit = Lit::constant(false);

}  // namespace twill
