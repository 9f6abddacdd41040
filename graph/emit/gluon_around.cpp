// What each slot computes for itself (gluon_slot_printer.hpp): what it needs of what stands before
// the loop, and numbers that no op of the loop runs.
#include <algorithm>

#include "graph/emit/gluon_slot_printer.hpp"
#include "graph/emit/user_function.hpp"

namespace twill::emit {

std::string SlotPrinter::pointer_of(const Value& value, const std::string& iteration) {
  if (!plan_.counter.empty()) return earlier_pointer(value, iteration);
  const std::string where = coordinates(value.tensor, iteration);
  const std::string text = where.substr(1, where.size() - 2);
  return use(host(value.tensor) + "_ptr") + (text == "0" ? "" : " + " + text);
}

Expression SlotPrinter::early(int v) {
  const Value& value = m_.values[at(v)];
  const Layout layout = values_.layout_of(v);
  const std::string& name = plan_.variable[at(v)];
  if (plan_.resident.contains(v))
    return {use(plan_.resident.at(v).name) + ".load(" + values_.text_of(layout) + ")", layout,
            value.type};
  if (plan_.from_earlier(value)) return from_earlier(v);
  if (plan_.handed_tile(value) != nullptr) return handed_in(v, layout);
  if (!early_.insert(v).second) return {name, layout, value.type};
  if (gluon_type(value.type).empty()) refuse("type", value.id + " is of type " + value.type);
  std::string text;
  if (value.function == Function::product) {
    std::vector<Expression> in;
    for (std::size_t k = 0; k < value.operands.size(); ++k) {
      Operand one = k < 2 ? plan_.factor(v, k) : value.operands[k];
      one.transposed = false;
      in.push_back(early_operand(v, one));
    }
    outside_product(v, in);
    return {name, layout, value.type};
  }
  if (value.function != Function::load) {
    std::vector<Expression> in;
    for (const Operand& one : value.operands) in.push_back(early_operand(v, one));
    text = values_.evaluate(v, in, layout, "").text;
  } else if (value.shape.empty()) {
    text = "gl.load(" + pointer_of(value, "") + ")";
  } else if (plan_.by_elements(value.tensor)) {
    text = loaded_elements(value, elements(1, value, values_.text_of(layout), ""));
  } else if (value.shape.size() == 1) {
    text = "gl.load(" + pointer_of(value, "") + " + gl.arange(0, " +
           std::to_string(value.shape[0]) + ", layout=" + values_.text_of(layout) + "))";
  } else {
    refuse("operand", value.id + " is loaded before the loop and used behind it alone");
  }
  line(1, name + " = " + text);
  return {name, layout, value.type};
}

Expression SlotPrinter::handed_in(int v, const Layout& layout) {
  const Value& value = m_.values[at(v)];
  const std::string& name = plan_.variable[at(v)];
  const std::string& buffer = use(plan_.handed_tile(value)->name);
  if (early_.insert(v).second)
    line(1, name + " = " +
                (value.shape.empty() ? values_.number_in(buffer)
                                     : buffer + ".load(" + values_.text_of(layout) + ")"));
  return {name, layout, value.type};
}

Expression SlotPrinter::early_operand(int user, const Operand& one) {
  if (one.value < 0) return values_.number(one);
  const Function function = m_.values[at(user)].function;
  const bool down = one.transposed && meaning::reduces_rows(function);
  if (one.value >= m_.loop_begin || (one.transposed && !down) || one.is_part())
    refuse("operand", m_.values[at(user)].id + " stands before the loop and uses a part of a tile");
  return early(one.value);
}

void SlotPrinter::values_before() {
  std::set<int> all;
  for (int op = 0; op < static_cast<int>(p_.ops.size()); ++op)
    if (p_.ops[at(op)].slot == slot_) all.merge(plan_.used_before(op));
  for (const int v : all)
    if (!plan_.resident.contains(v) && !plan_.carried_in_alone(v)) early(v);
}

Expression SlotPrinter::computed(int op, int v, Iteration it) {
  const Value& value = m_.values[at(v)];
  const std::string& name = plan_.variable[at(v)];
  Expression made{name, {}, value.type};
  if (!numbers_.insert(v).second) return made;
  std::string text;
  if (value.function == Function::load) {
    if (it.from == Iteration::end) use("n");
    const std::string iteration = iteration_text(it);
    text = "gl.load(" +
           pointer_of(value, iteration.find(' ') == std::string::npos ? iteration
                                                                      : "(" + iteration + ")") +
           ")";
  } else {
    std::vector<Expression> in;
    for (const Operand& one : value.operands) {
      if (one.is_part() || one.transposed)
        refuse("operand", value.id + " is a number of a part of a tile");
      in.push_back(operand(op, one, it));
    }
    text = values_.evaluate(v, in, {}, iteration_text(it)).text;
    if (value.function == Function::places && it.from == Iteration::end) use("n");
  }
  line(depth_, name + " = " + text);
  return made;
}

}  // namespace twill::emit
