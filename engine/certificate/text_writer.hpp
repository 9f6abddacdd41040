// Long texts, handed on a buffer at a time: what a certificate's files are written with.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
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
  template <class Integer>
  void number(Integer n) {
    if (end_ - at_ < kLongest) flush();
    at_ = std::to_chars(at_, end_, n).ptr;
  }
  void flush() {
    out_({buffer_.get(), static_cast<std::size_t>(at_ - buffer_.get())});
    at_ = buffer_.get();
  }

 private:
  static constexpr std::size_t kSize = 65536;
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
