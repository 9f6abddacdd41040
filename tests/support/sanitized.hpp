// Is this a build under AddressSanitizer? There everything takes ten times as long, and memory.
#pragma once

namespace twill::test {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#if defined(TWILL_THOROUGH_TESTS)
constexpr bool kThorough = true;
#else
constexpr bool kThorough = false;
#endif

/// Of many random cases a test tries one in so many: all with TWILL_THOROUGH_TESTS (.ci/long).
constexpr int kShare = kThorough ? 1 : kSanitized ? 5 : 3;

}  // namespace twill::test
