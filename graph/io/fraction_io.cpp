#include "graph/io/fraction_io.hpp"

#include <numeric>

namespace twill {

Fraction read_fraction(const JsonValue& value, Amount least) {
  if (!value.is_array()) {
    if (!value.json().is_number_integer())
      value.fail("must be an integer, or [numerator, denominator] for a fraction");
    return {value.integer(least, kMaxAmount), 1};
  }
  const std::vector<JsonValue> terms = value.elements(2);
  const Amount numerator = terms[0].integer(least, kMaxAmount);
  const Amount denominator = terms[1].integer(1, kMaxAmount);
  const Amount common = std::gcd(numerator, denominator);
  return {numerator / common, denominator / common};
}

nlohmann::ordered_json fraction_json(const Fraction& fraction) {
  if (fraction.denominator == 1) return fraction.numerator;
  return nlohmann::ordered_json::array({fraction.numerator, fraction.denominator});
}

}  // namespace twill
