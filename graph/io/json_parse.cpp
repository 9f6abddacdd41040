// JSON text to a document. The library's own tree builder keeps the last of two equal keys, ends a
// file at a NUL byte and nests without limit, so the tree is built here from its event interface.
#include <algorithm>
#include <unordered_set>

#include "graph/io/json_reader.hpp"

namespace twill {
namespace {

using Json = nlohmann::ordered_json;

/// "line 3, column 7" of the byte at `offset` (both from 1; columns count bytes).
std::string position(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  std::size_t line = 1, start = 0;
  for (std::size_t i = 0; i < offset; ++i) {
    if (text[i] != '\n') continue;
    ++line;
    start = i + 1;
  }
  return "line " + std::to_string(line) + ", column " + std::to_string(offset - start + 1);
}

/// Up to 24 bytes of the line that ends with the byte at `offset`, as a message shows them.
std::string excerpt(std::string_view text, std::size_t offset) {
  constexpr std::size_t kShown = 24;
  const std::size_t end = std::min(offset + 1, text.size());
  std::size_t start = end;
  while (start > 0 && end - start < kShown && text[start - 1] != '\n') --start;
  while (start < end && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) ++start;
  return start == end ? "" : quote(text.substr(start, end - start));
}

/// The reason in the parser's message, without its own prefix, position and excerpt.
std::string reason(std::string_view message) {
  constexpr std::string_view kDash = " - ", kExcerpt = "; last read: ";
  if (const auto dash = message.find(kDash); dash != message.npos)
    message.remove_prefix(dash + kDash.size());
  const auto excerpt = message.find(kExcerpt);
  std::string text(message.substr(0, excerpt));
  if (excerpt == message.npos) return text;
  // After the excerpt only "; expected TOKEN" is of interest; the excerpt itself may hold anything.
  const auto expected = message.rfind("'; expected ");
  if (expected != message.npos) text += std::string(message.substr(expected + 1));
  return text;
}

class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  Json root;
  std::vector<std::string> written;

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t& text) override {
    add(value);
    written.push_back(text.size() <= 80 ? text : text.substr(0, 80) + "...");
    return true;
  }
  bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return false; }  // not in JSON text
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    levels_.back().key = value;
    if (!levels_.back().keys.insert(value).second)
      throw InputError(source_, pointer(), "", "key is repeated in this object");
    return true;
  }
  bool parse_error(std::size_t read, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // `read` counts the offending byte too; at the end of the text it points one beyond.
    constexpr int kOverflow = 406;
    const std::size_t offset = read == 0 ? 0 : read - 1;
    throw InputError(source_, position(text_, offset), excerpt(text_, offset),
                     error.id == kOverflow ? "numbers must be in the range of a double"
                                           : "not JSON: " + reason(error.what()));
  }

 private:
  struct Level {
    Json* node;  // stable: only the innermost container grows
    std::string key;
    std::unordered_set<std::string> keys;
  };

  Json* add(Json value) {
    if (++values_ > kMaxJsonValues)
      throw InputError(source_, pointer(), "",
                       "a file must have at most " + std::to_string(kMaxJsonValues) + " values");
    if (levels_.empty()) {
      root = std::move(value);
      return &root;
    }
    Level& level = levels_.back();
    if (level.node->is_array()) {
      level.node->push_back(std::move(value));
      return &level.node->back();
    }
    append(*level.node, level.key, std::move(value));
    return &level.node->get_ref<Json::object_t&>().back().second;
  }

  bool open(Json empty) {
    Json* node = add(std::move(empty));
    if (levels_.size() == kMaxJsonDepth)
      throw InputError(source_, pointer(), "",
                       "nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
    levels_.push_back({node, {}, {}});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  /// Place of the value added last.
  std::string pointer() const {
    std::string text;
    for (const Level& level : levels_)
      text += !level.node->is_array() ? pointer_token(level.key)
              : level.node->empty()   ? ""
                                      : pointer_token(level.node->size() - 1);
    return text;
  }

  std::string_view text_;
  const std::string& source_;
  std::vector<Level> levels_;
  std::size_t values_ = 0;
};

}  // namespace

JsonDocument JsonDocument::parse(std::string_view text, const std::string& source) {
  // The parser takes a NUL for the end of its input and would ignore what follows.
  if (const auto nul = text.find('\0'); nul != text.npos)
    throw InputError(source, position(text, nul), "", "not JSON: NUL byte");
  Builder builder(text, source);
  Json::sax_parse(text.begin(), text.end(), &builder, Json::input_format_t::json, true);
  JsonDocument document(std::move(builder.root), source);
  document.written_ = std::move(builder.written);
  return document;
}

}  // namespace twill
