// Products that stand before the loop or behind it (gluon_slot_printer.hpp): the slot writes the
// factors to shared memory, issues the product and waits until it has ended. So it does with those
// in a branch of the loop, whose factors are there.
#include <algorithm>

#include "graph/emit/gluon_slot_printer.hpp"
#include "graph/emit/register_tile.hpp"

namespace twill::emit {

void SlotPrinter::of_16_bits() {
  constexpr int kDepth = 16;
  if (needs_.product_depth != 0 && needs_.product_depth != kDepth)
    refuse("type", "products of operands of " + std::to_string(256 / needs_.product_depth) +
                       " and of 16 bits are in one kernel");
  needs_.product_depth = kDepth;
}

bool SlotPrinter::multiplies_within(int op) const {
  const std::vector<int>& chain = plan_.links.values[at(op)];
  return std::any_of(chain.begin(), chain.end(), [&](int v) {
    return v != plan_.links.result[at(op)] && m_.values[at(v)].function == Function::product;
  });
}

Expression SlotPrinter::product_within(int depth, int op, int v, Iteration it) {
  const Value& value = m_.values[at(v)];
  for (std::size_t k = 0; k < 2; ++k) {
    const Operand& one = value.operands[k];
    const std::string type = one.value < 0 ? "" : m_.values[at(one.value)].type;
    if (type != "f16" && type != "bf16")
      refuse("type", "operands of the product " + value.id + " in a branch must be of 16 bits");
  }
  if (value.type != "f32") refuse("type", "the product " + value.id + " must be f32");
  of_16_bits();
  const Layout layout = values_.layout_of(v);
  const std::string tile = values_.text_of(layout);
  if (hopper() && !register_tile(Target::hopper, layout.rows, layout.columns, warps_))
    refuse("op", "no register layout is known for the product " + value.id);
  const auto in_chain = [&](const Operand& one) { return chain_.contains(one.value); };
  const std::string b =
      in_chain(value.operands[1]) ? "" : memory_operand(op, value.operands[1], it);
  if (b.empty())
    refuse("operand", "the right operand of " + value.id + " must lie in shared memory");
  ensure_ended(depth, op, value, it);
  if (!hopper()) {
    tcgen05_within(depth, op, v, b, it);
    return {plan_.variable[at(v)], layout, "f32"};
  }
  const std::string name = plan_.variable[at(v)], left = name + "_left";
  std::string a = in_chain(value.operands[0]) ? "" : memory_operand(op, value.operands[0], it);
  const bool moved = a.empty();
  if (moved) {
    line(depth, left + " = gl.convert_layout(" + operand(op, value.operands[0], it).text +
                    ", gl.DotOperandLayout(0, " + tile + ", 2))");
    a = left;
  }
  for (std::size_t k = moved ? 1 : 0; k < 2; ++k)
    if (unfenced(op, value.operands[k])) {
      needs_.fence = true;
      line(depth, "fence_async_shared()  # threads copied it");
    }
  std::string sum = values_.filled(v, 0) + ", use_acc=False";
  if (value.operands.size() == 3) {
    const Expression added = operand(op, value.operands[2], it);
    if (added.layout != layout || added.type != "f32")
      refuse("operand", value.id + " adds to a tile that lies otherwise");
    sum = added.text;
  }
  line(depth, name + " = warpgroup_mma(" + a + ", " + b + ", " + sum + ", is_async=True)" +
                  size_of(value));
  const std::string list = name + (moved ? ", " + left : "");
  line(depth, list + " = warpgroup_mma_wait(0, deps=[" + list + "])");
  return {name, layout, "f32"};
}

void SlotPrinter::tcgen05_within(int depth, int op, int v, const std::string& right, Iteration it) {
  const Value& value = m_.values[at(v)];
  const ProductOutside& own = plan_.outside.at(v);
  const std::string &place = use(own.sum), &left = use(own.factor[0]->name);
  const bool adds = value.operands.size() == 3;
  if (adds) {
    const Expression added = operand(op, value.operands[2], it);
    if (added.layout != values_.layout_of(v) || added.type != "f32")
      refuse("operand", value.id + " adds to a tile that lies otherwise");
    line(depth, place + ".store(" + added.text + ")");
  }
  line(depth, left + ".store(" + operand(op, value.operands[0], it).text + ")");
  needs_.fence = true;
  line(depth, "fence_async_shared()  # what threads wrote is read by the product");
  line(depth, "tcgen05_mma(" + left + ", " + right + ", " + place +
                  ", use_acc=" + (adds ? "True" : "False") + ", mbarriers=[" + use(own.ended) +
                  "])" + size_of(value));
  const std::string count = iteration_text(it);
  std::string parity = (count.find(' ') == std::string::npos ? count : "(" + count + ")") + " & 1";
  if (it.from == Iteration::begin) parity = std::to_string(it.offset % 2);
  line(depth, "mbarrier.wait(" + use(own.ended) + ", " + parity + ")  # RAW: its sum");
  line(depth, plan_.variable[at(v)] + " = " + place + ".load(" +
                  values_.text_of(values_.layout_of(v)) + ")");
}

void SlotPrinter::outside_product(int v, const std::vector<Expression>& operands) {
  const Value& value = m_.values[at(v)];
  if (!plan_.outside.contains(v)) refuse("op", value.id + " is a product outside the loop");
  of_16_bits();
  const std::string layout = values_.text_of(values_.layout_of(v));
  const std::string a = outside_factor(v, 0, operands[0], layout);
  const std::string b = outside_factor(v, 1, operands[1], layout);
  needs_.fence = true;
  line(1, "fence_async_shared()  # what threads wrote is read by the product");
  const Expression* sum = operands.size() > 2 ? &operands[2] : nullptr;
  if (sum != nullptr && sum->layout != values_.layout_of(v))
    refuse("operand", value.id + " adds to a tile that lies otherwise");
  if (hopper())
    outside_wgmma(v, a, b, sum);
  else
    outside_tcgen05(v, a, b, sum);
}

std::string SlotPrinter::outside_factor(int v, std::size_t k, const Expression& one,
                                        const std::string& layout) {
  const Operand operand = plan_.factor(v, k);
  const std::string turned = operand.transposed ? ".permute((1, 0))" : "";
  if (const auto lies = plan_.resident.find(operand.value); lies != plan_.resident.end())
    return use(lies->second.name) + turned;
  if (one.layout.kind != Layout::matrix || one.layout.turned)
    refuse("operand", m_.values[at(v)].id + " multiplies what is no tile");
  if (const auto& buffer = plan_.outside.at(v).factor[k]) {
    line(1, use(buffer->name) + ".store(" + one.text + ")");
    return buffer->name + turned;
  }
  std::string left = plan_.variable[at(v)] + "_left";
  line(1,
       left + " = gl.convert_layout(" + one.text + ", gl.DotOperandLayout(0, " + layout + ", 2))");
  return left;
}

void SlotPrinter::outside_wgmma(int v, const std::string& a, const std::string& b,
                                const Expression* sum) {
  const std::string& name = plan_.variable[at(v)];
  line(1, name + " = warpgroup_mma(" + a + ", " + b + ", " +
              (sum != nullptr ? sum->text : values_.filled(v, 0) + ", use_acc=False") +
              ", is_async=True)" + size_of(m_.values[at(v)]));
  const std::string list = name + (a == name + "_left" ? ", " + a : "");
  line(1, list + " = warpgroup_mma_wait(0, deps=[" + list + "])");
}

void SlotPrinter::outside_tcgen05(int v, const std::string& a, const std::string& b,
                                  const Expression* sum) {
  const ProductOutside& own = plan_.outside.at(v);
  const std::string& place = use(own.sum);
  if (sum != nullptr) line(1, place + ".store(" + sum->text + ")");
  line(1, "tcgen05_mma(" + a + ", " + b + ", " + place +
              ", use_acc=" + (sum != nullptr ? "True" : "False") + ", mbarriers=[" +
              use(own.ended) + "])" + size_of(m_.values[at(v)]));
  line(1, "mbarrier.wait(" + use(own.ended) + ", 0)");
  line(1, plan_.variable[at(v)] + " = " + place + ".load(" + values_.text_of(values_.layout_of(v)) +
              ")");
}

void SlotPrinter::wait_for_resident(const std::vector<int>& stores) {
  if (slot_ < plan_.finish_slot() && plan_.resident_readers().contains(slot_)) return;
  for (const int store : stores)
    for (const int v : plan_.used_behind(store))
      if (plan_.resident.contains(v)) {
        line(1, "mbarrier.wait(" + use(plan_.resident_barrier) + ", " + turn_parity() +
                    ")  # RAW: the tiles from before the loop");
        return;
      }
}

}  // namespace twill::emit
