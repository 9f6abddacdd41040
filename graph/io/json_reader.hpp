// Strict reading of JSON files, for every format of this library. Private to graph/*.cpp: it is the
// only header that shows the JSON library.
//
//   const JsonDocument document = JsonDocument::parse(text, source);
//   const JsonValue root = document.root();
//   root.check_keys({"format", "version", "ops"}, {"doc"});   // required, optional
//   root.check_format("twill.machine", 1);
//   for (const JsonValue& op : root.at("ops").elements()) {
//     op.check_keys({"id"}, {"cycles"});
//     const std::string id = op.at("id").text();
//     const std::int64_t cycles = op.integer_or("cycles", 0, 0, kMaxCycles);
//     if (is_duplicate(id)) op.at("id").fail("ids must be unique");
//   }
//
// Every refusal is an InputError with the file, the JSON pointer, the value found and the rule.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/error.hpp"
#include "graph/io/json_text.hpp"

namespace twill {

/// Arrays and objects may be nested this deep; no format needs more than 8.
inline constexpr std::size_t kMaxJsonDepth = 64;
/// Values in a file; the largest problem that check() accepts has fewer. A value takes some 50
/// bytes in memory and may take two in its file.
inline constexpr std::size_t kMaxJsonValues = 20'000'000;

class JsonDocument;

/// A value with its place in its document: the unit of reading. A view: cheap to copy, valid while
/// the document lives.
class JsonValue {
 public:
  const nlohmann::ordered_json& json() const { return *value_; }
  /// RFC 6901, "" for the whole file. Found by a walk over the document, for messages: pointers
  /// that every value kept would take the length of its keys times the number of values.
  std::string pointer() const;
  bool is_object() const { return value_->is_object(); }
  bool is_array() const { return value_->is_array(); }
  bool is_string() const { return value_->is_string(); }
  bool is_number() const { return value_->is_number(); }
  bool is_boolean() const { return value_->is_boolean(); }

  /// The value as messages show it: on one line, long texts cut, "an array of 3 values" for arrays.
  std::string shown() const;
  /// Throws InputError at this value.
  [[noreturn]] void fail(const std::string& rule) const;

  // Scalars; a wrong type or a number out of range is refused.
  /// An integer written as such: 1.0 and 1e3 are refused.
  std::int64_t integer(std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t high = std::numeric_limits<std::int64_t>::max()) const;
  /// An integer that fits an int.
  int small(int low, int high) const { return static_cast<int>(integer(low, high)); }
  /// Any finite number, integers too.
  double number() const;
  const std::string& text() const;
  bool boolean() const;
  /// A text that is one of `choices`; returns its index.
  std::size_t choice(std::initializer_list<std::string_view> choices) const;

  // Arrays.
  std::vector<JsonValue> elements() const;
  std::vector<JsonValue> elements(std::size_t exact) const;  ///< exactly so many
  std::vector<JsonValue> elements_up_to(std::size_t most) const;

  // Objects.
  /// This is an object with all of `required` and nothing but `required` and `optional`.
  void check_keys(std::initializer_list<std::string_view> required,
                  std::initializer_list<std::string_view> optional = {}) const;
  /// "format" is `format` and "version" is `version` (call before check_keys: a newer version has
  /// other keys and deserves the better message).
  void check_format(std::string_view format, int version) const {
    check_format(format, version, version);
  }
  /// The same for versions from `oldest` to `newest`; returns the one found.
  int check_format(std::string_view format, int oldest, int newest) const;
  /// Members in the file's order.
  std::vector<std::pair<std::string, JsonValue>> members() const;
  std::vector<std::pair<std::string, JsonValue>> members_up_to(std::size_t most) const;
  /// A required member; its absence is refused.
  JsonValue at(std::string_view key) const;
  std::optional<JsonValue> find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key).has_value(); }

  // Optional members with a default.
  std::int64_t integer_or(std::string_view key, std::int64_t otherwise,
                          std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                          std::int64_t high = std::numeric_limits<std::int64_t>::max()) const;
  int small_or(std::string_view key, int otherwise, int low, int high) const;
  double number_or(std::string_view key, double otherwise) const;
  std::string text_or(std::string_view key, std::string otherwise) const;
  bool boolean_or(std::string_view key, bool otherwise) const;

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument& document, const nlohmann::ordered_json& value)
      : document_(&document), value_(&value) {}
  void require(bool right_type, const char* rule) const;

  const JsonDocument* document_;
  const nlohmann::ordered_json* value_;
};

/// A parsed file. Refused while parsing: what is not JSON (RFC 8259) with line and column, a
/// repeated key of one object, nesting beyond kMaxJsonDepth, more than kMaxJsonValues, invalid
/// UTF-8, NUL bytes, numbers beyond a double.
class JsonDocument {
 public:
  static JsonDocument parse(std::string_view text, const std::string& source);
  /// A document made in memory (for example an edited copy of json()).
  JsonDocument(nlohmann::ordered_json json, std::string source)
      : json_(std::move(json)), source_(std::move(source)) {}

  JsonValue root() const { return JsonValue(*this, json_); }
  const nlohmann::ordered_json& json() const { return json_; }
  const std::string& source() const { return source_; }

 private:
  friend class JsonValue;
  nlohmann::ordered_json json_;
  std::string source_;
  /// Numbers that are no integers as they were written, in the file's order: for messages. Empty in
  /// a document made in memory.
  std::vector<std::string> written_;
};

/// Appends a member to `object`. The key must be new: it is not looked up, so that n members cost
/// O(n) and not O(n^2).
void append(nlohmann::ordered_json& object, std::string key, nlohmann::ordered_json value);

/// The text of a file this library writes: two-space indent, newline at the end. Throws InputError
/// when a string is not valid UTF-8.
std::string json_file_text(const nlohmann::ordered_json& json, const std::string& source);

}  // namespace twill
