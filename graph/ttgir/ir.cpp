#include "graph/ttgir/ir.hpp"

#include <cctype>

#include "graph/meaning/number_type.hpp"

namespace twill::ttgir {

std::int64_t Type::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::string Type::number() const {
  if (element == "f8") {
    for (const auto& [name, form] : {std::pair("f8", "f8E4M3FN"), std::pair("f8e5m2", "f8E5M2")}) {
      const std::size_t at = text.find(form), end = at + std::string_view(form).size();
      // (f8E4M3FNUZ and its like are others.)
      if (at != std::string_view::npos &&
          (end == text.size() || std::isalnum(static_cast<unsigned char>(text[end])) == 0))
        return name;
    }
    return "";
  }
  return meaning::number_type(element) == nullptr ? "" : element;
}

int Module::parent(int op_index) const {
  const int at = op(op_index).block;
  if (at == kNone) return kNone;
  return regions[static_cast<std::size_t>(block(at).region)].op;
}

std::string_view Module::attribute(const Operation& op, std::string_view name, bool* found) const {
  for (const auto* list : {&op.attributes, &op.properties})
    for (const Attribute& entry : *list)
      if (entry.name == name) {
        if (found != nullptr) *found = true;
        return entry.value;
      }
  if (found != nullptr) *found = false;
  return {};
}

std::pair<std::string_view, int> Module::inherited(int op_index, std::string_view name) const {
  for (int at = op_index; at != kNone; at = parent(at)) {
    bool found = false;
    const std::string_view value = attribute(op(at), name, &found);
    if (found) return {value, at};
  }
  return {{}, kNone};
}

std::string Module::place(const Operation& op) {
  return "line " + std::to_string(op.line) + ", column " + std::to_string(op.column);
}

}  // namespace twill::ttgir
