#include "graph/io/json_text.hpp"

#include <cstdio>

namespace twill {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

/// Bytes of the well-formed character that starts at `i`, or 0.
std::size_t character_length(std::string_view text, std::size_t i) {
  const unsigned first = byte_at(text, i);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  if (length == 0 || text.size() - i < length) return 0;
  // The second byte's range rules out overlong forms, surrogates and what lies beyond U+10FFFF.
  unsigned low = 0x80, high = 0xBF;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  if (byte_at(text, i + 1) < low || byte_at(text, i + 1) > high) return 0;
  for (std::size_t k = 2; k < length; ++k)
    if (byte_at(text, i + k) < 0x80 || byte_at(text, i + k) > 0xBF) return 0;
  return length;
}

}  // namespace

bool valid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::string one_line(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text, i);
    const unsigned value = byte_at(text, i);
    if (length == 0) {
      out += '?';
    } else if (value < 0x20 || value == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", value);
      out += escape;
    } else {
      out += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return out;
}

std::string quote(std::string_view text) {
  constexpr std::size_t kShown = 80;
  const bool cut = text.size() > kShown;
  if (cut) {
    std::size_t end = kShown;  // not inside a character
    while (end > 0 && (byte_at(text, end) & 0xC0) == 0x80) --end;
    text = text.substr(0, end);
  }
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return '"' + one_line(escaped) + (cut ? "...\"" : "\"");
}

std::string pointer_token(std::string_view key) {
  std::string token;
  for (const char c : key) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return '/' + one_line(token);
}

std::string pointer_token(std::size_t index) {
  return '/' + std::to_string(index);
}

std::string range_rule(long long low, long long high) {
  return "must be an integer from " + std::to_string(low) + " to " + std::to_string(high);
}

}  // namespace twill
