// Certificates are megabytes that must be hashed, and these instructions do it several times as
// fast.
#include <stdexcept>

#include "graph/io/sha256_blocks.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace twill {

#if defined(__x86_64__)

bool has_sha256_instructions() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return false;
  const bool shuffles = (ecx & bit_SSSE3) != 0 && (ecx & bit_SSE4_1) != 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return shuffles && (ebx & bit_SHA) != 0;
}

__attribute__((target("sha,sse4.1,ssse3"))) void sha256_blocks_x86(Sha256Words& hash,
                                                                   const unsigned char* data,
                                                                   std::size_t blocks) {
  const auto word = [&](std::size_t i) { return static_cast<int>(hash[i]); };
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  // The instructions want a, b, e, f in one register and c, d, g, h in the other.
  __m128i abef = _mm_set_epi32(word(0), word(1), word(4), word(5));
  __m128i cdgh = _mm_set_epi32(word(2), word(3), word(6), word(7));
  for (; blocks > 0; --blocks, data += kSha256Block) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];  // the last 16 words of the message schedule, in a ring
    for (int i = 0; i < 4; ++i)
      w[i] =
          _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data) + i), big_endian);
    for (int i = 0; i < 16; ++i) {  // four rounds each
      __m128i& now = w[i & 3];
      const __m128i next = w[(i + 1) & 3], third = w[(i + 2) & 3], last = w[(i + 3) & 3];
      const __m128i sum = _mm_add_epi32(
          now, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kSha256Round.data()) + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
      if (i < 12)
        now = _mm_sha256msg2_epu32(
            _mm_add_epi32(_mm_sha256msg1_epu32(now, next), _mm_alignr_epi8(last, third, 4)), last);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  alignas(16) std::uint32_t first[4], second[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(first), abef);
  _mm_store_si128(reinterpret_cast<__m128i*>(second), cdgh);
  hash = {first[3], first[2], second[3], second[2], first[1], first[0], second[1], second[0]};
}

#else

bool has_sha256_instructions() {
  return false;
}

void sha256_blocks_x86(Sha256Words&, const unsigned char*, std::size_t) {
  throw std::logic_error("this processor has no SHA extensions");
}

#endif

}  // namespace twill
