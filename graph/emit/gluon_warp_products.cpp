// Products that the warps of a slot compute themselves (mma.sync): of fewer rows than wgmma and
// tcgen05.mma have, factors in registers, ended where they stand (gluon_slot_printer.hpp).
#include "graph/emit/element_text.hpp"
#include "graph/emit/gluon_slot_printer.hpp"

namespace twill::emit {

Layout ValuePrinter::as_right_factor(int value) const {
  const meaning::Meaning& m = *plan_.meaning;
  const int op = m.in_loop(value) ? plan_.op_of(value) : -1;
  if (op < 0 || m.values[at(value)].function != meaning::Function::copy ||
      plan_.links.values[at(op)].size() != 1)
    return {};
  Layout layout;
  for (int u = m.loop_begin; u < static_cast<int>(m.values.size()); ++u)
    for (std::size_t k = 0; k < m.values[at(u)].operands.size(); ++k) {
      if (m.values[at(u)].operands[k].value != value) continue;
      const int user = m.in_loop(u) ? plan_.op_of(u) : -1;
      if (user < 0 || k != 1 || !plan_.legal.by_warps[at(user)]) return {};
      const auto& shape = m.values[at(u)].shape;
      const Layout here{Layout::right, shape[0], shape[1], m.values[at(u)].operands[k].transposed};
      if (layout.kind != Layout::none && layout != here) return {};
      layout = here;
    }
  return layout;
}

bool SlotPrinter::read_as_factor(int op, const Value& tile) const {
  if (values_.layout_of(plan_.links.result[at(op)]).kind != Layout::right) return false;
  // (What is put in where nothing was loaded goes by the tile's rows and columns.)
  return tile.function != Function::load || !plan_.by_elements(tile.tensor) ||
         !element_copy(plan_, tile).fills;
}

void SlotPrinter::product_by_warps(int depth, int op, const Value& value, Iteration it) {
  if (plan_.links.values[at(op)].size() != 1)
    refuse("op", "the product " + value.id + " is part of a chain");
  if (value.type != "f32") refuse("type", "the product " + value.id + " of few rows must be f32");
  needs_.warp_products = true;
  ensure_ended(depth, op, value, it);
  const Layout layout = values_.layout_of(plan_.links.result[at(op)]);
  const std::string tile = values_.text_of(layout);
  // Read from memory as it is taken, or converted.
  const std::string left_layout = "gl.DotOperandLayout(0, " + tile + ", 2)";
  const std::string buffer = memory_operand(op, value.operands[0], it);
  std::string a;
  if (buffer.empty())
    a = "gl.convert_layout(" + operand(op, value.operands[0], it).text + ", " + left_layout + ")";
  else
    a = buffer + ".load(" + left_layout + ")";
  const Expression right = operand(op, value.operands[1], it);
  Layout taken = layout;
  taken.kind = Layout::right;
  // (A transposed tile in the registers of one that is not: gl.permute() of it.)
  const std::string b = right.layout == taken ? right.text
                                              : "gl.convert_layout(" + right.text + ", " +
                                                    values_.text_of(taken) + ")";
  std::string sum = values_.filled(plan_.links.result[at(op)], 0);
  if (value.operands.size() == 3) sum = operand(op, value.operands[2], it).text;
  keep(depth, op, it, {"mma_v2(" + a + ", " + b + ", " + sum + ")", layout, "f32"});
  arrive(depth, legal_op(op), it);
}

}  // namespace twill::emit
