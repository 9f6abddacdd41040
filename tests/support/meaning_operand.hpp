// Operands of meanings that tests write.
#pragma once

#include "graph/meaning/meaning.hpp"

namespace twill::test {

/// The whole of a meaning's value, by its place.
inline meaning::Operand of_value(int v) {
  meaning::Operand one;
  one.value = v;
  return one;
}

}  // namespace twill::test
