#include "graph/ttgir/lexer.hpp"

#include <array>
#include <string_view>

#include "graph/error.hpp"
#include "graph/io/json_text.hpp"

namespace twill::ttgir {
namespace {

enum : unsigned char { kNameChar = 1, kPunctuation = 2, kSpace = 4 };

constexpr std::array<unsigned char, 256> make_classes() {
  std::array<unsigned char, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = kNameChar;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = kNameChar;
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = kNameChar;
  const auto mark = [&](std::string_view characters, unsigned char as) {
    for (const char c : characters) table[static_cast<unsigned char>(c)] = as;
  };
  mark("_.$", kNameChar);
  mark("(){}[]<>,:=*+/|?;&", kPunctuation);
  mark(" \t\r\n", kSpace);
  return table;
}
constexpr std::array<unsigned char, 256> kClasses = make_classes();

unsigned char class_of(char c) {
  return kClasses[static_cast<unsigned char>(c)];
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

Lexer::Lexer(std::string_view text, const std::string& source) : text_(text), source_(source) {
  next();
}

void Lexer::fail(const Token& at, const std::string& rule) const {
  const std::string found = at.kind == Tok::end ? "the end of the file" : quote(at.text);
  throw InputError(source_,
                   "line " + std::to_string(at.line) + ", column " + std::to_string(at.column),
                   found, rule);
}

Token Lexer::take() {
  const Token taken = token_;
  last_end_ = at_;
  next();
  return taken;
}

void Lexer::restore(const State& state) {
  at_ = state.at;
  line_ = state.line;
  line_start_ = state.line_start;
  token_ = state.token;
  last_end_ = state.last_end;
}

void Lexer::skip_space(bool& new_line) {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      ++line_;
      line_start_ = ++at_;
      new_line = true;
    } else if (class_of(c) == kSpace) {
      ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else {
      return;
    }
  }
}

void Lexer::finish(Tok kind, std::size_t begin) {
  token_.kind = kind;
  token_.text = text_.substr(begin, at_ - begin);
}

void Lexer::next() {
  bool new_line = at_ == 0;
  skip_space(new_line);
  token_ = Token();
  token_.first_on_line = new_line;
  token_.offset = at_;
  token_.line = line_;
  token_.column = static_cast<std::uint32_t>(at_ - line_start_) + 1;
  if (at_ >= text_.size()) return;
  const std::size_t begin = at_;
  const char c = text_[at_];
  const char after = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  const auto name = [&] {
    while (at_ < text_.size() && (class_of(text_[at_]) == kNameChar || text_[at_] == '-')) {
      // "->" ends a name; a minus is part of one (%c-1_i32).
      if (text_[at_] == '-' && at_ + 1 < text_.size() && text_[at_ + 1] == '>') break;
      ++at_;
    }
  };
  const auto string = [&] {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n')
      at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size() || text_[at_] != '"') {
      at_ = text_.size() < at_ ? text_.size() : at_;
      finish(Tok::text, begin);
      fail(token_, "a string must end on its line");
    }
    ++at_;
  };
  switch (c) {
    case '%': {
      ++at_;
      name();
      finish(Tok::percent, begin);
      if (token_.text.size() < 2) fail(token_, "a value needs a name");
      token_.text.remove_prefix(1);
      if (at_ < text_.size() && text_[at_] == '#') {
        ++at_;
        while (at_ < text_.size() && is_digit(text_[at_])) {
          if (token_.number < 1'000'000) token_.number = 10 * token_.number + (text_[at_] - '0');
          ++at_;
        }
      }
      return;
    }
    case '^': ++at_, name(), finish(Tok::caret, begin); return;
    case '!': ++at_, name(), finish(Tok::bang, begin); return;
    case '#': ++at_, name(), finish(Tok::hash, begin); return;
    case '@':
      ++at_;
      if (after == '"')
        string();
      else
        name();
      finish(Tok::symbol, begin);
      return;
    case '"': string(), finish(Tok::text, begin); return;
    case '-':
      if (after == '>') {
        at_ += 2;
        finish(Tok::arrow, begin);
        return;
      }
      break;
    case '{':
      if (after == '-' && at_ + 2 < text_.size() && text_[at_ + 2] == '#') {
        const std::size_t close = text_.find("#-}", at_);
        at_ = close == std::string_view::npos ? text_.size() : close + 3;
        finish(Tok::metadata, begin);
        if (close == std::string_view::npos) fail(token_, "file metadata must end in #-}");
        return;
      }
      break;
    default: break;
  }
  if (class_of(c) == kPunctuation) {
    ++at_;
    finish(Tok::punctuation, begin);
    return;
  }
  if (class_of(c) == kNameChar || c == '-') {
    const bool number = is_digit(c) || c == '-';
    ++at_;
    while (at_ < text_.size()) {
      const char d = text_[at_];
      const char before = text_[at_ - 1];
      const bool exponent = number && (d == '+' || d == '-') && (before == 'e' || before == 'E') &&
                            at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
      if (class_of(d) != kNameChar && !exponent) break;
      ++at_;
    }
    finish(Tok::word, begin);
    return;
  }
  ++at_;
  finish(Tok::punctuation, begin);
  fail(token_, "this is not TTGIR text");
}

}  // namespace twill::ttgir
