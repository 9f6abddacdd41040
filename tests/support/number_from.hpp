// Numbers by which a long run asks a test for more cases than a short one tries.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace twill::test {

inline std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace twill::test
