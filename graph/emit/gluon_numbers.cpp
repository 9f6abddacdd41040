// Numbers that a kernel stores, or adds to what is there, by pointers (gluon_slot_printer.hpp).
#include "graph/emit/element_text.hpp"
#include "graph/emit/gluon_slot_printer.hpp"

namespace twill::emit {

void SlotPrinter::store_number(int depth, int op, int v, Iteration it) {
  const Value& value = m_.values[at(v)];
  if (it.from == Iteration::end) use("n");
  ensure_ended(depth, op, value, it);
  const std::string iteration = iteration_text(it);
  const Expression number =
      values_.evaluate(v, {operand(op, value.operands[0], it)}, {}, iteration);
  const std::string flag =
      value.operands.size() == 2 ? flag_of_number(value, operand(op, value.operands[1], it)) : "";
  write_number(depth, value, number.text, iteration, flag);
}

std::string SlotPrinter::flag_of_number(const Value& value, const Expression& flag) const {
  if (flag.type != "i32" || flag.layout.kind != Layout::none)
    refuse("op", value.id + " is stored under a flag of type " + flag.type);
  return "(" + flag.text + " > 0)";
}

void SlotPrinter::write_number(int depth, const Value& value, const std::string& number,
                               const std::string& iteration, const std::string& flag) {
  const std::string factor =
      iteration.find(' ') == std::string::npos ? iteration : "(" + iteration + ")";
  const std::string mask = flag.empty() ? element_mask(plan_, value, {"", "", iteration}) : flag;
  use_arguments(mask);
  line(depth, std::string(plan_.adds(value.tensor) ? "gl.atomic_add(" : "gl.store(") +
                  pointer_of(value, factor) + ", " + number +
                  (mask.empty() ? "" : ", mask=" + mask) + ")");
}

}  // namespace twill::emit
