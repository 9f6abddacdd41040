#include "graph/io/json_reader.hpp"

#include <algorithm>
#include <cmath>

namespace twill {
namespace {

using Json = nlohmann::ordered_json;

std::string list(std::initializer_list<std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

bool contains(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Where a value is: its pointer, and how many numbers that are no integers stand before it.
struct JsonPlace {
  std::string pointer;
  std::size_t floats = 0;
};

/// Is `target` (an address) in `node`? Its tokens are then put in front of each other, last first.
bool find_place(const Json& node, const Json* target, JsonPlace& place) {
  if (&node == target) return true;
  place.floats += node.is_number_float();
  if (node.is_array())
    for (std::size_t i = 0; i < node.size(); ++i)
      if (find_place(node[i], target, place)) {
        place.pointer.insert(0, pointer_token(i));
        return true;
      }
  if (node.is_object())
    for (const auto& [key, value] : node.get_ref<const Json::object_t&>())
      if (find_place(value, target, place)) {
        place.pointer.insert(0, pointer_token(key));
        return true;
      }
  return false;
}

}  // namespace

std::string JsonValue::pointer() const {
  JsonPlace place;
  find_place(document_->json_, value_, place);
  return std::move(place.pointer);
}

std::string JsonValue::shown() const {
  switch (value_->type()) {
    case Json::value_t::object: return "an object";
    case Json::value_t::array: return "an array of " + std::to_string(value_->size()) + " values";
    case Json::value_t::string: return quote(value_->get_ref<const std::string&>());
    case Json::value_t::number_float: {
      JsonPlace place;
      find_place(document_->json_, value_, place);
      const bool known = place.floats < document_->written_.size();
      return known ? document_->written_[place.floats] : value_->dump();
    }
    default: return value_->dump();
  }
}

void JsonValue::fail(const std::string& rule) const {
  throw InputError(document_->source(), pointer(), shown(), rule);
}

void JsonValue::require(bool right_type, const char* rule) const {
  if (!right_type) fail(rule);
}

std::int64_t JsonValue::integer(std::int64_t low, std::int64_t high) const {
  require(value_->is_number(), "must be an integer");
  require(value_->is_number_integer(), "must be an integer without fraction or exponent");
  // The parser stores non-negative integers unsigned, up to 2^64 - 1.
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > kLargest)
    fail(range_rule(low, high));
  const auto value = value_->get<std::int64_t>();
  if (value < low || value > high) fail(range_rule(low, high));
  return value;
}

double JsonValue::number() const {
  require(value_->is_number(), "must be a number");
  const auto value = value_->get<double>();
  require(std::isfinite(value), "must be finite");
  return value;
}

const std::string& JsonValue::text() const {
  require(value_->is_string(), "must be a string");
  return value_->get_ref<const std::string&>();
}

bool JsonValue::boolean() const {
  require(value_->is_boolean(), "must be true or false");
  return value_->get<bool>();
}

std::size_t JsonValue::choice(std::initializer_list<std::string_view> choices) const {
  const auto found = std::find(choices.begin(), choices.end(), std::string_view(text()));
  if (found == choices.end()) fail("must be one of: " + list(choices));
  return static_cast<std::size_t>(found - choices.begin());
}

std::vector<JsonValue> JsonValue::elements() const {
  require(value_->is_array(), "must be an array");
  std::vector<JsonValue> values;
  values.reserve(value_->size());
  for (const Json& value : *value_) values.push_back(JsonValue(*document_, value));
  return values;
}

std::vector<JsonValue> JsonValue::elements(std::size_t exact) const {
  if (!value_->is_array() || value_->size() != exact)
    fail("must be an array of " + std::to_string(exact) + " values");
  return elements();
}

std::vector<JsonValue> JsonValue::elements_up_to(std::size_t most) const {
  if (value_->is_array() && value_->size() > most)
    fail("must have at most " + std::to_string(most) + " values");
  return elements();
}

void JsonValue::check_keys(std::initializer_list<std::string_view> required,
                           std::initializer_list<std::string_view> optional) const {
  require(value_->is_object(), "must be an object");
  for (const auto& [key, value] : value_->items())
    if (!contains(required, key) && !contains(optional, key))
      JsonValue(*document_, value)
          .fail("unknown key; known here: " + list(required) +
                (required.size() == 0 || optional.size() == 0 ? "" : ", ") + list(optional));
  for (const std::string_view key : required) at(key);
}

int JsonValue::check_format(std::string_view format, int oldest, int newest) const {
  const JsonValue name = at("format");
  if (name.text() != format) name.fail("must be " + quote(format));
  const JsonValue number = at("version");
  const std::int64_t found = number.integer();
  const std::string versions =
      (oldest == newest ? "" : std::to_string(oldest) + " to ") + std::to_string(newest);
  if (found > newest)
    number.fail("a newer version of the format; this program reads version " + versions);
  if (found < oldest) number.fail("must be " + versions);
  return static_cast<int>(found);
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::members() const {
  require(value_->is_object(), "must be an object");
  std::vector<std::pair<std::string, JsonValue>> values;
  values.reserve(value_->size());
  for (const auto& [key, value] : value_->items())
    values.emplace_back(key, JsonValue(*document_, value));
  return values;
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::members_up_to(std::size_t most) const {
  if (value_->is_object() && value_->size() > most)
    fail("must have at most " + std::to_string(most) + " members, has " +
         std::to_string(value_->size()));
  return members();
}

JsonValue JsonValue::at(std::string_view key) const {
  std::optional<JsonValue> value = find(key);
  if (!value)
    throw InputError(document_->source(), pointer(), "",
                     "required key " + quote(key) + " is missing");
  return *value;
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  require(value_->is_object(), "must be an object");
  const auto found = value_->find(std::string(key));
  if (found == value_->end()) return std::nullopt;
  return JsonValue(*document_, *found);
}

std::int64_t JsonValue::integer_or(std::string_view key, std::int64_t otherwise, std::int64_t low,
                                   std::int64_t high) const {
  const auto value = find(key);
  return value ? value->integer(low, high) : otherwise;
}

int JsonValue::small_or(std::string_view key, int otherwise, int low, int high) const {
  const auto value = find(key);
  return value ? value->small(low, high) : otherwise;
}

double JsonValue::number_or(std::string_view key, double otherwise) const {
  const auto value = find(key);
  return value ? value->number() : otherwise;
}

std::string JsonValue::text_or(std::string_view key, std::string otherwise) const {
  const auto value = find(key);
  if (value) return value->text();
  return otherwise;
}

bool JsonValue::boolean_or(std::string_view key, bool otherwise) const {
  const auto value = find(key);
  return value ? value->boolean() : otherwise;
}

void append(Json& object, std::string key, Json value) {
  object.get_ref<Json::object_t&>().emplace_back(std::move(key), std::move(value));
}

std::string json_file_text(const Json& json, const std::string& source) {
  try {
    return json.dump(2) + "\n";
  } catch (const Json::type_error&) {  // 316, the only one that dump() throws
    throw InputError(source, "", "", "names and texts must be valid UTF-8");
  }
}

}  // namespace twill
