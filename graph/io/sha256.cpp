// SHA-256 as in FIPS 180-4 (NIST, 2015), Sections 4.1.2, 4.2.2, 5.1.1, 5.3.3 and 6.2.
#include "graph/io/sha256.hpp"

#include <algorithm>
#include <bit>

#include "graph/problem_io.hpp"

namespace twill {
namespace {

using Word = std::uint32_t;

/// One of the 64 rounds of 6.2.2; the caller renames the eight words rather than move them.
inline void pass(Word next, Word a, Word b, Word c, Word& d, Word e, Word f, Word g, Word& h) {
  const Word sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
  const Word sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
  h += sum1 + ((e & f) ^ (~e & g)) + next;
  d += h;
  h += sum0 + ((a & b) ^ (a & c) ^ (b & c));
}

void absorb(Sha256Words& hash, const unsigned char* block) {
  std::array<Word, 64> w{};
  for (std::size_t t = 0; t < 16; ++t)
    w[t] = Word{block[4 * t]} << 24 | Word{block[4 * t + 1]} << 16 | Word{block[4 * t + 2]} << 8 |
           Word{block[4 * t + 3]};
  for (std::size_t t = 16; t < 64; ++t) {
    const Word s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    const Word s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = s1 + w[t - 7] + s0 + w[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = hash;
  const auto next = [&w](std::size_t t) { return kSha256Round[t] + w[t]; };
  for (std::size_t t = 0; t < 64; t += 8) {
    pass(next(t), a, b, c, d, e, f, g, h);
    pass(next(t + 1), h, a, b, c, d, e, f, g);
    pass(next(t + 2), g, h, a, b, c, d, e, f);
    pass(next(t + 3), f, g, h, a, b, c, d, e);
    pass(next(t + 4), e, f, g, h, a, b, c, d);
    pass(next(t + 5), d, e, f, g, h, a, b, c);
    pass(next(t + 6), c, d, e, f, g, h, a, b);
    pass(next(t + 7), b, c, d, e, f, g, h, a);
  }
  const std::array<Word, 8> last = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) hash[i] += last[i];
}

}  // namespace

void sha256_blocks_portable(Sha256Words& hash, const unsigned char* data, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks; ++i) absorb(hash, data + i * kSha256Block);
}

namespace {

void absorb_blocks(Sha256Words& hash, const unsigned char* data, std::size_t blocks) {
  static const bool fast = has_sha256_instructions();
  (fast ? sha256_blocks_x86 : sha256_blocks_portable)(hash, data, blocks);
}

}  // namespace

void Sha256::add(std::string_view bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  const std::size_t waiting = bytes_ % kSha256Block;
  bytes_ += left;
  if (waiting > 0) {
    const std::size_t part = std::min(left, kSha256Block - waiting);
    std::copy_n(data, part, rest_.data() + waiting);
    if (waiting + part < kSha256Block) return;
    absorb_blocks(hash_, rest_.data(), 1);
    data += part;
    left -= part;
  }
  const std::size_t blocks = left / kSha256Block;
  absorb_blocks(hash_, data, blocks);
  std::copy_n(data + blocks * kSha256Block, left % kSha256Block, rest_.data());
}

std::string Sha256::hex() {
  // Padding (5.1.1): a one bit, zeros, and the length in bits as 64 bits, in one or two blocks.
  const std::size_t waiting = bytes_ % kSha256Block;
  const std::size_t length = waiting + 9 <= kSha256Block ? kSha256Block : 2 * kSha256Block;
  std::fill(rest_.begin() + static_cast<std::ptrdiff_t>(waiting), rest_.end(), 0);
  rest_[waiting] = 0x80;
  const std::uint64_t bits = bytes_ * 8;
  for (std::size_t i = 0; i < 8; ++i)
    rest_[length - 1 - i] = static_cast<unsigned char>(bits >> (8 * i) & 0xff);
  absorb_blocks(hash_, rest_.data(), length / kSha256Block);

  std::string text;
  text.reserve(8 * hash_.size());
  for (const Word word : hash_)
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 0xf];
  return text;
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

}  // namespace twill
