// For asserts that look at everything: they may be asked often but look seldom.
#pragma once

#include <bit>
#include <cstdint>

namespace twill {

/// True at the calls 1, 2, 4, 8, ... What is checked then costs the logarithm of the calls.
class Seldom {
 public:
  bool now() { return std::has_single_bit(++calls_); }

 private:
  std::uint64_t calls_ = 0;
};

}  // namespace twill
