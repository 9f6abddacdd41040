// Names and text of files in emitted code: identifiers are made here, never taken over unchecked.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twill::emit {

/// Identifiers of one file of emitted Python, each once.
class Names {
 public:
  /// `reserved`: words that the emitted file uses itself; Python's are known.
  explicit Names(std::set<std::string> reserved) : used_(std::move(reserved)) {}

  /// An identifier that reads like `wish`: `wish` itself where it is of the strict pattern
  /// [A-Za-z][A-Za-z0-9_]* of at most 40 characters and free; else `fallback` with a number. With
  /// it are taken the name and each of `suffixes`.
  std::string make(std::string_view wish, std::string_view fallback,
                   const std::vector<std::string>& suffixes = {});

 private:
  bool take(const std::string& name, const std::vector<std::string>& suffixes);

  std::set<std::string> used_;
};

/// Names that the emitted Python files use themselves.
std::set<std::string> words_of_gluon_files();

/// Is it [A-Za-z][A-Za-z0-9_]* of at most 40 characters and no word of Python?
bool is_plain_name(std::string_view text);

/// For a comment or the inside of a string in double quotes, on one line: printable ASCII stays,
/// all else and quotes, backslashes and "#" become "?"; at most 120 characters.
std::string harmless(std::string_view text);

/// Is `name` a word of `text`?
bool mentions(std::string_view text, std::string_view name);

/// A number as Python reads it, with all of its digits; infinities are float("inf").
std::string number_text(double x);

}  // namespace twill::emit
