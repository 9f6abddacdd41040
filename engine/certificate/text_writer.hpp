// Long texts, handed on a buffer at a time: what a certificate's files are written with.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace twill {

class TextWriter {
 public:
  using Out = std::function<void(std::string_view)>;
  /// `out` receives the text in parts, the last one by flush().
  explicit TextWriter(Out out)
      : out_(std::move(out)), buffer_(new char[kSize]), at_(buffer_.get()), end_(at_ + kSize) {}

  void put(std::string_view text) {
    while (!text.empty()) {
      if (at_ == end_) flush();
      const std::size_t part = std::min(text.size(), static_cast<std::size_t>(end_ - at_));
      std::memcpy(at_, text.data(), part);
      at_ += part;
      text.remove_prefix(part);
    }
  }
  void put(char c) {
    if (at_ == end_) flush();
    *at_++ = c;
  }
  /// In decimal.
  void number(std::int64_t n) {
    if (end_ - at_ < kLongest) flush();
    at_ = digits(at_, n);
  }
  /// The same after a character.
  void number(char before, std::int64_t n) {
    if (end_ - at_ < kLongest) flush();
    *at_ = before;
    at_ = digits(at_ + 1, n);
  }
  /// Each with a blank after it.
  void numbers(std::span<const int> all) {
    for (const int n : all) {
      if (end_ - at_ < kLongest) flush();
      char* const end = digits(at_, n);
      *end = ' ';
      at_ = end + 1;
    }
  }
  void flush() {
    out_({buffer_.get(), static_cast<std::size_t>(at_ - buffer_.get())});
    at_ = buffer_.get();
  }

 private:
  // Most numbers are literals, of up to four digits, and there are many. Which sign and how many
  // digits is past guessing, so no branch asks: all four are made, and those not wanted shifted
  // out.
  static char* digits(char* at, std::int64_t n) {
    if (n < -9999 || n > 9999) return std::to_chars(at, at + kLongest, n).ptr;
    *at = '-';
    at += n < 0 ? 1 : 0;
    const auto small = static_cast<std::uint32_t>(n < 0 ? -n : n);
    const std::uint32_t four = kPairs[small / 100] | kPairs[small % 100] << 16;
    const std::uint32_t unwanted = (small < 1000) + (small < 100) + (small < 10);
    const std::uint32_t wanted = four >> 8 * unwanted;
    at[0] = static_cast<char>(wanted & 0xff);
    at[1] = static_cast<char>(wanted >> 8 & 0xff);
    at[2] = static_cast<char>(wanted >> 16 & 0xff);
    at[3] = static_cast<char>(wanted >> 24);
    return at + 4 - unwanted;
  }
  // The two digits of 0 .. 99, the first in the low byte.
  static constexpr std::array<std::uint32_t, 100> kPairs = [] {
    std::array<std::uint32_t, 100> pairs{};
    for (std::uint32_t n = 0; n < 100; ++n) pairs[n] = ('0' + n / 10) | ('0' + n % 10) << 8;
    return pairs;
  }();

  static constexpr std::size_t kSize = 32768;
  static constexpr std::ptrdiff_t kLongest = 24;  // more than a number and a character

  Out out_;
  std::unique_ptr<char[]> buffer_;
  char *at_, *end_;
};

/// What `write` writes, as one string.
template <class Write>
std::string all_text(const Write& write) {
  std::string all;
  TextWriter text([&](std::string_view part) { all += part; });
  write(text);
  text.flush();
  return all;
}

}  // namespace twill
