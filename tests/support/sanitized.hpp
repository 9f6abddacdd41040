// Is this a build under AddressSanitizer? There everything takes ten times as long, and memory.
#pragma once

namespace twill::test {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace twill::test
