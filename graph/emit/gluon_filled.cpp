// Tiles of one number, what carried values begin with, and numbers in memory (gluon_values.hpp).
#include <cmath>

#include "graph/emit/gluon_values.hpp"
#include "graph/index.hpp"

namespace twill::emit {

using meaning::Operand;
using meaning::Value;
using program::Refusal;

std::string ValuePrinter::filled(int value, double x) const {
  const Value& one = plan_.meaning->values[at(value)];
  const std::string type = gluon_type(one.type);
  if (one.shape.empty()) {
    Operand whole;
    whole.number = x;
    if (const auto text = whole_text(whole); text && one.type == "i32")
      return "gl.to_tensor(" + *text + ")";
    if (one.type != "f32") throw Refusal{"type", one.id + " is a number of type " + one.type};
    return "gl.to_tensor(" + number_text(x) + ")";
  }
  const bool integer = one.type == "i32" || one.type == "i8";
  if (type.empty() || (integer && !(x == std::nearbyint(x) && std::abs(x) <= 127)))
    throw Refusal{"type", one.id + " is of type " + one.type};
  return repeated(integer ? std::to_string(static_cast<std::int64_t>(x)) : number_text(x), one,
                  layout_of(value));
}

std::string ValuePrinter::filled_first(int value, const Operand& what, bool of_launch) const {
  if (what.constant.empty() || plan_.user == nullptr) return filled(value, what.number);
  const Value& one = plan_.meaning->values[at(value)];
  const std::string type = gluon_type(one.type);
  if (!of_launch || type.empty())
    throw Refusal{"operand", one.id + " begins with a number of the launch"};
  const std::string text = number(what).text;
  if (one.shape.empty()) return "gl.to_tensor(" + text + ").to(" + type + ")";
  return repeated(text, one, layout_of(value));
}

std::string ValuePrinter::repeated(const std::string& number, const Value& of,
                                   const Layout& layout) const {
  std::string shape;
  for (const std::int64_t extent : of.shape)
    shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  return "gl.full([" + shape + "], " + number + ", " + gluon_type(of.type) + ", " +
         text_of(layout) + ")";
}

std::string ValuePrinter::begun(int value, const Expression& first) const {
  const Value& one = plan_.meaning->values[at(value)];
  const Layout layout = layout_of(value);
  if (first.layout.kind == Layout::none && layout.kind != Layout::none && first.type == one.type)
    return repeated(first.text, one, layout);
  Layout usual = layout;
  usual.depth = 0;
  if (layout.depth != 0 && first.layout == usual && first.type == one.type)
    return converted(first, layout);
  if (first.layout != layout || first.type != one.type)
    throw Refusal{"operand", one.id + " begins with another tile than it goes on with"};
  return first.text;
}

std::string ValuePrinter::in_a_buffer(const Value& value, const std::string& text) const {
  if (!value.shape.empty()) return text;
  return "gl.full([1], " + text + ", " + gluon_type(value.type) + ", " + one_number_layout() + ")";
}

std::string ValuePrinter::number_in(const std::string& buffer) const {
  return "gl.sum(" + buffer + ".load(" + one_number_layout() + "), axis=0)";
}

std::string ValuePrinter::one_number_layout() const {
  return lone_vector_layout(1, plan_.warps(slot_));
}

}  // namespace twill::emit
