// SHA-256 (FIPS 180-4) of bytes that come in parts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "graph/io/sha256_blocks.hpp"

namespace twill {

class Sha256 {
 public:
  void add(std::string_view bytes);
  /// Of all that was added, in lower-case hex. Ends it.
  std::string hex();

 private:
  Sha256Words hash_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 2 * kSha256Block> rest_{};  ///< what fills no block yet
  std::uint64_t bytes_ = 0;                             ///< so far
};

}  // namespace twill
