// JSON as text while it is said, member by member: what nlohmann's dump(2) gives for the same
// value, without the value. For files that a search of milliseconds writes too.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "graph/error.hpp"

namespace twill {

class JsonWriter {
 public:
  // A value goes in place of the file, after a key or as the next element.
  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }
  void value(std::string_view text) {
    next();
    put(text);
  }
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool truth) {
    next();
    text_ += truth ? "true" : "false";
  }
  void value(std::integral auto number) {
    next();
    text_ += std::to_string(number);
  }
  void value(double number) {
    next();
    text_ += nlohmann::json(number).dump();
  }
  template <class T>
  void value(const std::vector<T>& all) {
    begin_array();
    for (const T& one : all) value(one);
    end_array();
  }

  /// The next value is that of a member. The keys of an object must differ.
  void key(std::string_view name) {
    next();
    put(name);
    text_ += ": ";
    after_key_ = true;
  }
  template <class T>
  void member(std::string_view name, const T& what) {
    key(name);
    value(what);
  }

  /// The whole file, with a newline at its end. Throws InputError when a string is not valid UTF-8.
  std::string file_text(const std::string& source) && {
    if (invalid_) throw InputError(source, "", "", "names and texts must be valid UTF-8");
    return std::move(text_) + "\n";
  }

 private:
  void begin(char bracket) {
    next();
    text_ += bracket;
    empty_.push_back(true);
  }
  void end(char bracket) {
    const bool empty = empty_.back();
    empty_.pop_back();
    if (!empty) new_line();
    text_ += bracket;
  }
  void next() {
    if (!after_key_ && !empty_.empty()) {
      if (!empty_.back()) text_ += ',';
      empty_.back() = false;
      new_line();
    }
    after_key_ = false;
  }
  void new_line() {
    text_ += '\n';
    text_.append(2 * empty_.size(), ' ');
  }
  void put(std::string_view text) {
    const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
      return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
    });
    if (plain) {
      text_ += '"';
      text_ += text;
      text_ += '"';
      return;
    }
    try {
      text_ += nlohmann::json(text).dump();
    } catch (const nlohmann::json::type_error&) {  // 316, the only one that dump() throws
      invalid_ = true;
    }
  }

  std::string text_;
  std::vector<bool> empty_;  // so far, of the arrays and objects that are open
  bool after_key_ = false, invalid_ = false;
};

}  // namespace twill
