// Whether a text has another in it, as tests of messages ask.
#pragma once

#include <string>

namespace twill::test {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace twill::test
