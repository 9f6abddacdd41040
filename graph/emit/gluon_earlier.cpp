// Loops before the loop in a slot that needs what they make (gluon_slot_printer.hpp): a printer of
// its own for each, whose meaning is that loop's.
#include <algorithm>

#include "graph/emit/element_text.hpp"
#include "graph/emit/gluon_slot_printer.hpp"
#include "graph/emit/user_function.hpp"

namespace twill::emit {

Expression SlotPrinter::from_earlier(int v) {
  const Value& value = m_.values[at(v)];
  const meaning::Place& place = plan_.user->places[at(value.tensor)];
  const meaning::EarlierLoop& loop = plan_.user->earlier[at(place.earlier)];
  const Layout layout = values_.layout_of(v);
  const std::string& name = plan_.variable[at(v)];
  if (early_.contains(v)) return {name, layout, value.type};
  if (!repeated_->loops.contains(loop.id)) {
    auto made = std::make_unique<SlotPrinter>(plan_.earlier[at(place.earlier)], slot_, needs_);
    made->repeated_ = repeated_;
    made->repeat();
    text_ += made->text_;
    used_.merge(made->used_);
    repeated_->loops[loop.id] = std::move(made);
  }
  // (It may be written for another loop: both have read it alike.)
  SlotPrinter& from = *repeated_->loops[loop.id];
  const Operand& one = *loop.results[at(place.result)];
  Expression result = from.repeated_operand(-1, one);
  if (result.layout == layout && result.type == value.type && one.value >= 0) return result;
  if (result.layout.kind == Layout::none && layout.kind != Layout::none)
    refuse("operand", value.id + ", which a loop before makes, repeats a number");
  if (result.type != value.type) refuse("operand", value.id + " has another type in a loop before");
  early_.insert(v);
  line(1, name + " = gl.convert_layout(" + result.text + ", " + values_.text_of(layout) + ")");
  return {name, layout, value.type};
}

std::string SlotPrinter::earlier_pointer(const Value& value, const std::string& iteration) {
  const meaning::Place& place = plan_.user->places[at(value.tensor)];
  std::string text = plan_.pointer_name(value.tensor);
  for (const meaning::Index& one : place.added ? *place.added : place.begin) {
    const std::string part = element_text(plan_, one, {"", "", iteration});
    if (part != "0") text += " + " + part;
  }
  use_arguments(text);
  return text;
}

std::string SlotPrinter::repeated_name(int v, bool before) const {
  return plan_.variable[at(v)] + (before && kept_.contains(v) ? "_before" : "");
}

Expression SlotPrinter::repeated_operand(int user, const Operand& one) {
  if (one.value < 0) return values_.number(one);
  if (one.value < m_.loop_begin) return early(one.value);
  const Function function = user < 0 ? Function::copy : m_.values[at(user)].function;
  const bool reduces = meaning::reduces_rows(function);
  if (one.is_part() || (one.transposed && !reduces))
    refuse("operand", m_.values[at(one.value)].id + " of a loop before is used in part or turned");
  return {repeated_name(one.value, one.distance > 0), values_.layout_of(one.value),
          m_.values[at(one.value)].type};
}

void SlotPrinter::repeat() {
  const auto* loop = plan_.user;
  // What the results need, in any iteration.
  std::set<int> needed;
  std::vector<int> open;
  const auto need = [&](const Operand& one) {
    if (one.value >= m_.loop_begin && one.value < m_.after_begin && needed.insert(one.value).second)
      open.push_back(one.value);
  };
  std::vector<int> before;
  for (int v = m_.after_begin; v < static_cast<int>(m_.values.size()); ++v)
    for (const Operand& one : m_.values[at(v)].operands) {
      need(one);
      if (one.value >= 0 && one.value < m_.loop_begin) before.push_back(one.value);
    }
  while (!open.empty()) {
    const int v = open.back();
    open.pop_back();
    for (const Operand& one : m_.values[at(v)].operands) need(one);
  }
  std::vector<int> order;
  for (const int v : meaning::loop_order(m_))
    if (needed.contains(v)) order.push_back(v);
  // Who reads what an iteration before made, when it has been made anew?
  std::set<int> made;
  for (const int v : order) {
    for (const Operand& one : m_.values[at(v)].operands)
      if (one.value >= 0 && one.distance > 0 && made.contains(one.value)) kept_.insert(one.value);
    made.insert(v);
  }
  // Before it.
  const std::string kept_text = std::move(text_);
  text_.clear();
  for (const int v : order)
    for (const Operand& one : m_.values[at(v)].operands)
      if (one.value >= 0 && one.value < m_.loop_begin) before.push_back(one.value);
  for (const int v : before) early(v);
  std::vector<int> carried;
  for (const int v : order) {
    const meaning::Initial* first = m_.initial_of(v);
    if (first == nullptr) continue;
    carried.push_back(v);
    if (first->what.value < 0) {
      line(1, plan_.variable[at(v)] + " = " + values_.filled_first(v, first->what, false));
      continue;
    }
    const Expression from = early(first->what.value);
    line(1, plan_.variable[at(v)] + " = " + values_.begun(v, from));
  }
  const std::string before_text = std::move(text_);
  text_.clear();
  const int depth = loop->around ? 2 : 1;
  line(depth, "for " + plan_.counter + " in range(" + number_text_of(plan_, loop->trips) + "):");
  for (const int v : carried)
    if (kept_.contains(v)) line(depth + 1, repeated_name(v, true) + " = " + plan_.variable[at(v)]);
  for (const int v : order) {
    const Value& value = m_.values[at(v)];
    const Layout layout = values_.layout_of(v);
    std::string text;
    if (value.function == Function::load && value.shape.empty()) {
      text = "gl.load(" + earlier_pointer(value, plan_.counter) + ")";
    } else if (value.function == Function::load) {
      text = loaded_elements(value,
                             elements(depth + 1, value, values_.text_of(layout), plan_.counter));
    } else {
      std::vector<Expression> in;
      for (const Operand& one : value.operands) in.push_back(repeated_operand(v, one));
      text = values_.evaluate(v, in, layout, plan_.counter).text;
    }
    line(depth + 1, plan_.variable[at(v)] + " = " + text);
  }
  // Numbers of its own.
  const std::string body = std::move(text_);
  text_ = kept_text;
  const auto numbers = [&](int where, bool of_tile) {
    for (std::size_t c = 0; c < plan_.constant.size(); ++c)
      if (loop->numbers[c].kind != meaning::Index::argument &&
          depends_on(loop->numbers[c], meaning::Index::tile) == of_tile &&
          mentions(before_text + " " + body, plan_.constant[c]))
        line(where, plan_.constant[c] + " = " + number_text_of(plan_, loop->numbers[c]));
  };
  numbers(1, false);
  text_ += before_text;
  line(1, "# the loop of line " + std::to_string(plan_.line) +
              " of the module: each slot that needs what it makes repeats it");
  if (loop->around) {
    line(1, "for tile in range(" + number_text_of(plan_, loop->around->first) + ", " +
                number_text_of(plan_, loop->around->end) + ", " +
                number_text_of(plan_, loop->around->step) + "):");
    numbers(2, true);
  }
  text_ += body;
  use_arguments(text_);
}

}  // namespace twill::emit
