// Is this a build under AddressSanitizer? There everything takes ten times as long, and memory.
#pragma once

namespace twill::test {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// Of many random cases such a build tries one in so many.
constexpr int kShare = kSanitized ? 5 : 1;

}  // namespace twill::test
