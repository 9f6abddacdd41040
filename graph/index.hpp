// Ops, slots, units and memories are numbered by int; containers are not.
#pragma once

#include <cassert>
#include <cstddef>

namespace twill {

inline std::size_t at(int index) {
  assert(index >= 0);
  return static_cast<std::size_t>(index);
}

}  // namespace twill
