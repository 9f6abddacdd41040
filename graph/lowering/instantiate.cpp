// The file with its values put in, as a document that the reader of plain kernels reads: texts
// where numbers stand are evaluated, braces in ids replaced, groups repeated.
#include "graph/lowering/instantiate.hpp"

#include <algorithm>
#include <initializer_list>

#include "graph/io/json_text.hpp"
#include "graph/lowering/kernel_reader.hpp"
#include "graph/lowering/tile_io.hpp"

namespace twill {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxConditions = 20;
constexpr std::int64_t kMaxCopies = 1'000;  // of a group
/// Elements that groups may become, of one array: what a problem may have of edges.
constexpr std::size_t kMaxElements = kMaxEdges;

std::string at_values(const std::string& values) {
  return values.empty() ? "" : " (at " + values + ")";
}

/// Puts values into the elements of one document.
class Filler {
 public:
  Filler(const std::string& source, Scope scope, std::string values)
      : source_(source), scope_(std::move(scope)), values_(std::move(values)) {}

  /// `evaluate` of the text that `value` is.
  template <class Evaluate>
  auto guarded(const Json& value, const std::string& pointer, const Evaluate& evaluate) const {
    const auto& text = value.get_ref<const std::string&>();
    try {
      return evaluate(text);
    } catch (const ExpressionError& error) {
      throw InputError(source_, pointer, quote(text), error.what() + at_values(values_));
    }
  }

  std::int64_t number(const Json& value, const std::string& pointer) const {
    return guarded(value, pointer, [&](const std::string& text) { return evaluate(text, scope_); });
  }

  void resident(Json& value, const std::string& pointer) const {
    numbers(value, pointer, {"registers"});
    all_numbers(value, pointer, "memory");
  }
  void op(Json& value, const std::string& pointer) const {
    texts(value, pointer, {"id", "alias_of"});
    numbers(value, pointer, {"width", "registers", "reuse"});
    all_numbers(value, pointer, "shape");
    all_numbers(value, pointer, "traffic");
    if (Json* const cost = member(value, "cost"))
      numbers(*cost, pointer + "/cost", {"cycles", "occupancy", "latency"});
    for (const char* const key : {"type", "operand_type"}) element_type(value, key);
    if (Json* const found = member(value, "computes")) computes(*found, pointer + "/computes");
  }
  /// What stands around the loop: a tensor, a value, what is carried.
  void around(Json& value, const std::string& pointer) const {
    texts(value, pointer, {"name", "id"});
    all_numbers(value, pointer, "shape");
    element_type(value, "type");
    if (Json* const found = member(value, "computes")) computes(*found, pointer + "/computes");
  }
  void initial(Json& value, const std::string& pointer) const {
    if (!value.is_object()) return;  // merged() refuses it
    Json filled = Json::object();
    for (const auto& [name, what] : value.items()) {
      Json key = name, of = what;
      text(key, pointer);
      text(of, pointer + pointer_token(name));
      put(filled, key.get<std::string>(), std::move(of), pointer + pointer_token(name));
    }
    value = std::move(filled);
  }
  /// The meaning of a file, its lists with their groups; where they come from in `origins`.
  Json meaning(const JsonValue& value,
               std::vector<std::pair<std::string, std::vector<std::string>>>& origins) const {
    Json filled = Json::object();
    for (const auto& [key, part] : value.members()) {
      const auto list = [&, &name = key, &array = part](auto method) {
        origins.emplace_back("meaning/" + name, std::vector<std::string>{});
        return elements(array, name.c_str(), "/meaning/" + name, method, origins.back().second);
      };
      if (key == "constants")
        filled[key] = constants(part);
      else if (key == "tensors" || key == "before" || key == "after")
        filled[key] = list(&Filler::around);
      else if (key == "initial")
        filled[key] =
            part.is_array() ? merged(list(&Filler::initial), "/meaning/initial") : part.json();
      else
        filled[key] = part.json();
    }
    return filled;
  }
  void edge(Json& value, const std::string& pointer) const {
    texts(value, pointer, {"from", "to"});
    numbers(value, pointer, {"distance", "delay", "hold"});
  }
  void chunk(Json& value, const std::string& pointer) const {
    texts(value, pointer, {"id"});
    numbers(value, pointer, {"columns", "count"});
    if (Json* const ops = member(value, "ops"); ops != nullptr && ops->is_array())
      for (std::size_t i = 0; i < ops->size(); ++i)
        text((*ops)[i], pointer + "/ops" + pointer_token(i));
  }
  void pin(Json& value, const std::string& pointer) const {
    texts(value, pointer, {"op", "same_warp_as"});
    numbers(value, pointer, {"cycle"});
  }

  /// The elements of an array with its groups repeated, each filled by `fill`.
  template <class Fill>
  Json elements(const JsonValue& array, const char* key, const std::string& base, const Fill& fill,
                std::vector<std::string>& origins) const {
    Json all = Json::array();
    const auto add = [&](const Filler& filler, const Json& element, const std::string& pointer) {
      if (all.size() >= kMaxElements)
        throw InputError(source_, pointer, "",
                         "with its copies there are too many " + base.substr(1));
      all.push_back(element);
      (filler.*fill)(all.back(), pointer);
      origins.push_back(pointer);
    };
    std::size_t number = 0;
    for (const JsonValue& element : array.elements()) {
      const std::string pointer = base + pointer_token(number++);
      if (!element.is_object() || !element.has("for_each")) {
        add(*this, element.json(), pointer);
        continue;
      }
      element.check_keys({"for_each", key}, {"doc"});
      element.text_or("doc", "");
      const auto [index, copies] = repeated(element.at("for_each"), pointer + "/for_each");
      const Json& members = element.at(key).json();
      if (element.at(key).elements().empty()) element.at(key).fail("must not be empty");
      for (std::int64_t copy = 0; copy < copies; ++copy) {
        Filler inner = *this;
        inner.scope_.numbers.emplace_back(index, copy);
        for (std::size_t i = 0; i < members.size(); ++i)
          add(inner, members[i], pointer + "/" + key + pointer_token(i));
      }
    }
    return all;
  }

 private:
  void element_type(Json& value, const char* key) const {
    Json* const type = member(value, key);
    if (type == nullptr || !type->is_string()) return;
    for (const auto& [name, element] : scope_.types)
      if (*type == name) {
        *type = element;
        break;
      }
  }
  /// Names within a function and its operands; numbers where an operand has them.
  void computes(Json& value, const std::string& pointer) const {
    text(value, pointer);
    if (value.is_array()) {
      std::size_t i = 0;
      for (Json& part : value) computes(part, pointer + pointer_token(i++));
      return;
    }
    if (!value.is_object()) return;
    numbers(value, pointer, {"distance", "row", "column"});
    for (const char* const key : {"rows", "columns"}) all_numbers(value, pointer, key);
    if (Json* const of = member(value, "of")) computes(*of, pointer + "/of");
  }

  /// A constant is a number, or one for each value of a parameter.
  Json constants(const JsonValue& value) const {
    Json filled = Json::object();
    for (const auto& [name, one] : value.members()) {
      if (!one.is_object()) {
        filled[name] = one.json();
        continue;
      }
      const auto by = one.members();
      std::string now;
      for (const auto& [parameter, known] : scope_.numbers)
        if (by.size() == 1 && parameter == by.front().first) now = std::to_string(known);
      for (const auto& [parameter, known] : scope_.types)
        if (by.size() == 1 && parameter == by.front().first) now = known;
      if (now.empty()) one.fail("must be a number, or a parameter with a number for each value");
      const auto found = by.front().second.find(now);
      if (!found) by.front().second.fail("has no number for " + now + at_values(values_));
      filled[name] = found->json();
    }
    return filled;
  }

  void put(Json& object, const std::string& key, Json value, const std::string& pointer) const {
    if (object.contains(key))
      throw InputError(source_, pointer, quote(key), "is there twice" + at_values(values_));
    object[key] = std::move(value);
  }

  Json merged(const Json& objects, const std::string& pointer) const {
    Json all = Json::object();
    for (const Json& one : objects) {
      if (!one.is_object())
        throw InputError(source_, pointer, one.dump(), "must be an object: result and number");
      for (const auto& [key, value] : one.items()) put(all, key, value, pointer);
    }
    return all;
  }

  static Json* member(Json& value, const char* key) {
    if (!value.is_object()) return nullptr;  // the reader refuses it
    const auto found = value.find(key);
    return found == value.end() ? nullptr : &*found;
  }

  void text(Json& value, const std::string& pointer) const {
    if (!value.is_string()) return;
    value =
        guarded(value, pointer, [&](const std::string& text) { return substitute(text, scope_); });
  }
  void texts(Json& value, const std::string& pointer,
             std::initializer_list<const char*> keys) const {
    for (const char* const key : keys)
      if (Json* const found = member(value, key)) text(*found, pointer + "/" + key);
  }
  void number_in(Json& value, const std::string& pointer) const {
    if (value.is_string()) value = number(value, pointer);
  }
  void numbers(Json& value, const std::string& pointer,
               std::initializer_list<const char*> keys) const {
    for (const char* const key : keys)
      if (Json* const found = member(value, key)) number_in(*found, pointer + "/" + key);
  }
  /// All elements or members of a member.
  void all_numbers(Json& value, const std::string& pointer, const char* key) const {
    Json* const found = member(value, key);
    if (found == nullptr || !(found->is_array() || found->is_object())) return;
    std::size_t i = 0;
    for (auto& [name, each] : found->items()) {
      const std::string token = found->is_array() ? pointer_token(i++) : pointer_token(name);
      number_in(each, pointer + "/" + key + token);
    }
  }

  std::pair<std::string, std::int64_t> repeated(const JsonValue& value,
                                                const std::string& pointer) const {
    const auto members = value.members();
    if (members.size() != 1) value.fail("must have one member: an index and how many it counts");
    const auto& [index, count] = members.front();
    const bool taken = std::any_of(scope_.numbers.begin(), scope_.numbers.end(),
                                   [&, &name = index](const auto& n) { return n.first == name; }) ||
                       std::any_of(scope_.types.begin(), scope_.types.end(),
                                   [&, &name = index](const auto& t) { return t.first == name; });
    if (!is_parameter_name(index) || taken)
      value.fail("the index must be a name that nothing else has");
    const std::int64_t copies =
        count.is_string() ? number(count.json(), pointer + pointer_token(index)) : count.integer();
    if (copies < 1 || copies > kMaxCopies)
      throw InputError(source_, pointer + pointer_token(index), std::to_string(copies),
                       range_rule(1, kMaxCopies) + at_values(values_));
    return {index, copies};
  }

  const std::string& source_;
  Scope scope_;
  std::string values_;
};

KernelParameter read_parameter(const std::string& name, const JsonValue& value) {
  KernelParameter parameter;
  parameter.name = name;
  if (!is_parameter_name(name))
    value.fail(
        "its name must be a letter or _ and letters, digits or _, at most 32 and no function "
        "or element type");
  value.check_keys({"default"}, {"values", "types", "given", "doc"});
  parameter.doc = value.text_or("doc", "");
  const auto values = value.find("values"), types = value.find("types");
  if (values.has_value() == types.has_value()) value.fail("must have either values or types");
  const JsonValue list = values ? *values : *types;
  const auto elements = list.elements_up_to(kMaxParameterValues);
  if (elements.empty()) list.fail("must not be empty");
  for (const JsonValue& element : elements) {
    const auto add = [&](auto& all, auto one) {
      if (std::find(all.begin(), all.end(), one) != all.end()) element.fail("must be unique");
      all.push_back(std::move(one));
    };
    if (values)
      add(parameter.values, element.integer(0, kMaxAmount));
    else
      add(parameter.types, read_element_type(element));
  }
  const JsonValue otherwise = value.at("default");
  const std::string wanted = values ? std::to_string(otherwise.integer()) : otherwise.text();
  while (parameter.otherwise < parameter.size() && parameter.text(parameter.otherwise) != wanted)
    ++parameter.otherwise;
  if (parameter.otherwise == parameter.size()) otherwise.fail("must be one of the values");
  parameter.given = value.boolean_or("given", types.has_value());
  if (types && !parameter.given) value.at("given").fail("a type is always given, never chosen");
  return parameter;
}

}  // namespace

InputError KernelInstance::placed(const InputError& error) const {
  std::string place = error.place();
  for (const auto& [key, pointers] : origins) {
    const std::string prefix = "/" + key + "/";
    if (!place.starts_with(prefix)) continue;
    const std::size_t end = std::min(place.find('/', prefix.size()), place.size());
    const std::string digits = place.substr(prefix.size(), end - prefix.size());
    if (digits.empty() || digits.size() > 8 ||
        digits.find_first_not_of("0123456789") != std::string::npos)
      continue;
    const auto index = static_cast<std::size_t>(std::stoul(digits));
    if (index < pointers.size()) place = pointers[index] + place.substr(end);
    break;
  }
  return {error.file(), place, error.value(), error.rule() + at_values(values)};
}

bool has_parameters(const JsonDocument& document) {
  const JsonValue root = document.root();
  return root.check_format("twill.kernel", 1, kKernelVersion) >= 3 && root.has("parameters");
}

KernelTemplate::KernelTemplate(JsonDocument document) : document_(std::move(document)) {
  read_parameters();
  const ParameterIndices otherwise = indices({});
  if (!allowed(otherwise))
    document_.root().at("where").fail("the defaults must meet it" +
                                      at_values(scope(otherwise).text()));
  work(otherwise);
  instantiate(otherwise);
}

void KernelTemplate::read_parameters() {
  const JsonValue root = document_.root();
  const auto required = {std::string_view("format"), std::string_view("version"),
                         std::string_view("name"), std::string_view("ops"),
                         std::string_view("edges")};
  if (root.at("version").integer() < 4)
    root.check_keys(required, {"doc", "resident", "chunks", "pins", "parameters", "where", "work",
                               "work_unit"});
  else
    root.check_keys(required, {"doc", "resident", "chunks", "pins", "parameters", "where", "work",
                               "work_unit", "meaning"});
  root.at("work");
  const JsonValue all = root.at("parameters");
  const auto members = all.members_up_to(kMaxParameters);
  if (members.empty()) all.fail("must not be empty");
  for (const auto& [name, value] : members) parameters_.all.push_back(read_parameter(name, value));
  parameters_.work_unit = root.at("work_unit").text();
  if (parameters_.work_unit.empty()) root.at("work_unit").fail("must not be empty");
  if (const auto where = root.find("where"))
    for (const JsonValue& condition : where->elements_up_to(kMaxConditions)) condition.text();
}

Scope KernelTemplate::scope(const ParameterIndices& indices) const {
  Scope scope;
  for (std::size_t p = 0; p < indices.size(); ++p) {
    const KernelParameter& parameter = parameters_.all[p];
    if (parameter.types.empty())
      scope.numbers.emplace_back(parameter.name, parameter.values[indices[p]]);
    else
      scope.types.emplace_back(parameter.name, parameter.types[indices[p]]);
  }
  return scope;
}

ParameterIndices KernelTemplate::indices(const ParameterValues& values) const {
  ParameterIndices indices;
  for (const KernelParameter& parameter : parameters_.all) indices.push_back(parameter.otherwise);
  std::vector<bool> named(indices.size(), false);
  for (const auto& [name, value] : values) {
    std::size_t p = 0;
    std::string names;
    for (; p < indices.size() && parameters_.all[p].name != name; ++p)
      names += (names.empty() ? "" : ", ") + parameters_.all[p].name;
    if (p == indices.size())
      throw InputError(source(), "/parameters", quote(name),
                       "no such parameter; the kernel has: " + names);
    const KernelParameter& parameter = parameters_.all[p];
    const std::string place = "/parameters" + pointer_token(name);
    if (named[p]) throw InputError(source(), place, quote(value), "must be said once");
    named[p] = true;
    std::size_t i = 0;
    std::string known;
    for (; i < parameter.size() && parameter.text(i) != value; ++i)
      known += (known.empty() ? "" : ", ") + parameter.text(i);
    if (i == parameter.size())
      throw InputError(source(), place, quote(value), "must be one of: " + known);
    indices[p] = i;
  }
  return indices;
}

ParameterValues KernelTemplate::values(const ParameterIndices& indices) const {
  ParameterValues values;
  for (std::size_t p = 0; p < indices.size(); ++p)
    values.emplace_back(parameters_.all[p].name, parameters_.all[p].text(indices[p]));
  return values;
}

bool KernelTemplate::allowed(const ParameterIndices& indices) const {
  const auto where = document_.root().find("where");
  if (!where) return true;
  const Scope values = scope(indices);
  const std::vector<JsonValue> conditions = where->elements();
  for (const JsonValue& condition : conditions) try {
      if (!holds(condition.text(), values)) return false;
    } catch (const ExpressionError& error) {
      condition.fail(error.what() + at_values(values.text()));
    }
  return true;
}

Amount KernelTemplate::work(const ParameterIndices& indices) const {
  const JsonValue work = document_.root().at("work");
  if (!work.is_string()) return work.integer(1, kMaxAmount);
  const Scope values = scope(indices);
  const Amount amount = Filler(source(), values, values.text()).number(work.json(), work.pointer());
  if (amount < 1 || amount > kMaxAmount)
    throw InputError(source(), "/work", std::to_string(amount),
                     range_rule(1, kMaxAmount) + at_values(values.text()));
  return amount;
}

KernelInstance KernelTemplate::instantiate(const ParameterIndices& indices) const {
  KernelInstance instance;
  const Scope values = scope(indices);
  instance.values = values.text();
  const Filler filler(source(), values, instance.values);
  Json plain = Json::object();
  for (const auto& [key, value] : document_.root().members()) {
    if (key == "parameters" || key == "where" || key == "work" || key == "work_unit") continue;
    const auto fill = [&, &array = value](const char* name, auto method) {
      instance.origins.emplace_back(name, std::vector<std::string>{});
      return filler.elements(array, name, std::string("/") + name, method,
                             instance.origins.back().second);
    };
    if (key == "ops")
      append(plain, key, fill("ops", &Filler::op));
    else if (key == "edges")
      append(plain, key, fill("edges", &Filler::edge));
    else if (key == "chunks")
      append(plain, key, fill("chunks", &Filler::chunk));
    else if (key == "pins")
      append(plain, key, fill("pins", &Filler::pin));
    else if (key == "meaning" && value.is_object())
      append(plain, key, filler.meaning(value, instance.origins));
    else
      append(plain, key, value.json());
    if (key == "resident") filler.resident(plain["resident"], "/resident");
  }
  try {
    instance.kernel = read_kernel(JsonDocument(std::move(plain), source()));
  } catch (const InputError& error) {
    throw instance.placed(error);
  }
  return instance;
}

}  // namespace twill
