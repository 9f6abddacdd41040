// Numbers into long texts, without a string each.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace twill {

inline void append(std::string& text, std::int64_t number) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace twill
