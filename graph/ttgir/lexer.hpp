// Tokens of MLIR's textual form (MLIR Language Reference, "Notation"), as far as printed modules
// use them. Reads on demand, never backwards; every token knows its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace twill::ttgir {

enum class Tok {
  end,
  percent,      ///< %name, %0#1 (without the #1: see Token::number)
  caret,        ///< ^bb0
  symbol,       ///< @name
  hash,         ///< #alias, #ttg.blocked
  bang,         ///< !tt.ptr
  text,         ///< "a string", quotes included
  word,         ///< scf.for, i32, 128x64xf32, 1.0e+00, -5
  arrow,        ///< ->
  metadata,     ///< {-# ... #-}, whole
  punctuation,  ///< one character, see Token::text
};

struct Token {
  Tok kind = Tok::end;
  std::string_view text;
  std::size_t offset = 0;
  std::uint32_t line = 1, column = 1;
  bool first_on_line = false;
  int number = 0;  ///< of %name#number
  bool is(char c) const { return kind == Tok::punctuation && text[0] == c; }
  bool is_word(std::string_view w) const { return kind == Tok::word && text == w; }
};

class Lexer {
 public:
  /// Throws InputError when the text holds bytes that no MLIR text has.
  Lexer(std::string_view text, const std::string& source);

  const Token& peek() const { return token_; }
  Token take();
  /// Places in the text can be returned to (a look-ahead of more than one token).
  struct State {
    std::size_t at;
    std::uint32_t line;
    std::size_t line_start;
    Token token;
    std::size_t last_end;
  };
  State save() const { return {at_, line_, line_start_, token_, last_end_}; }
  void restore(const State& state);
  /// The end of the last token taken, an offset into the text.
  std::size_t last_end() const { return last_end_; }
  std::string_view text() const { return text_; }

  [[noreturn]] void fail(const Token& at, const std::string& rule) const;

 private:
  void next();
  void skip_space(bool& new_line);
  void finish(Tok kind, std::size_t begin);

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0, line_start_ = 0, last_end_ = 0;
  std::uint32_t line_ = 1;
  Token token_;
};

}  // namespace twill::ttgir
