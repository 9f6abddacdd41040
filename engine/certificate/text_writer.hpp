// Long texts, handed on a buffer at a time: what a certificate's files are written with.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
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
    if (n < -9999 || n > 9999) {
      at_ = std::to_chars(at_, end_, n).ptr;
      return;
    }
    // Most are literals, and there are many.
    if (n < 0) *at_++ = '-';
    const auto small = static_cast<unsigned>(n < 0 ? -n : n);
    if (small >= 1000) *at_++ = digit(small / 1000);
    if (small >= 100) *at_++ = digit(small / 100 % 10);
    if (small >= 10) *at_++ = digit(small / 10 % 10);
    *at_++ = digit(small % 10);
  }
  void flush() {
    out_({buffer_.get(), static_cast<std::size_t>(at_ - buffer_.get())});
    at_ = buffer_.get();
  }

 private:
  static char digit(unsigned n) { return static_cast<char>('0' + n); }

  static constexpr std::size_t kSize = 32768;
  static constexpr std::ptrdiff_t kLongest = 24;  // of a number

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
