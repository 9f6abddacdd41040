// A text with one part replaced, for tests of what is changed in a file.
#pragma once

#include <doctest/doctest.h>

#include <string>

namespace twill::test {

/// The text with the first `from` replaced by `to`; the test fails where there is none.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t here = text.find(from);
  REQUIRE(here != std::string::npos);
  return text.replace(here, from.size(), to);
}

}  // namespace twill::test
