// Products of the loop: wgmma on Hopper, whose results are in registers and in flight until a wait;
// tcgen05 on Blackwell, whose results are in tensor memory and tell a barrier
// (gluon_slot_printer.hpp).
#include <algorithm>
#include <optional>

#include "graph/emit/gluon_slot_printer.hpp"
#include "graph/emit/register_tile.hpp"

namespace twill::emit {

using program::Storage;

namespace {

/// Has a number of this type 8 bits?
bool is_narrow(const std::string& type) {
  return type == "f8" || type == "f8e5m2" || type == "i8";
}

}  // namespace

void SlotPrinter::product(int depth, int op, const Value& of_steps, Iteration it) {
  const Value value = with_whole_factors(m_, of_steps);
  const std::string first = m_.values[at(value.operands[0].value)].type;
  for (std::size_t k = 0; k < 2; ++k) {
    const Operand& one = value.operands[k];
    const std::string type = one.value < 0 ? "" : m_.values[at(one.value)].type;
    const bool wide = one != of_steps.operands[k];  // (cut to tf32)
    if (type != "f16" && type != "bf16" && !is_narrow(type) && !wide)
      refuse("type", "operands of the product " + value.id + " must be of 16 or 8 bits");
    if (is_narrow(type) && type != first)
      refuse("type", "the product " + value.id + " is of two types of 8 bits");
    // PTX ISA, wgmma.mma_async and tcgen05.mma: of 8 and of 32 bits both operands lie along K.
    if (!is_narrow(type) && !wide) continue;
    const Source source = values_.resolve(op, one);
    const bool left = hopper() && k == 0 && source.kind == Source::registers && !source.transposed;
    if (wide) {
      if (!left &&
          (source.kind != Source::memory ||
           (plan_.columns_first(plan_.value_of(source.storage)) != source.transposed) != (k == 1)))
        refuse("type",
               "operands of 32 bits of the product " + value.id + " must lie along what is summed");
      continue;
    }
    if (left) continue;
    const bool turned = source.kind == Source::memory &&
                        plan_.columns_first(m_.values[at(one.value)]) != source.transposed;
    const bool along =
        source.kind == Source::memory ? turned == (k == 1) : source.transposed == (k == 1);
    if (source.kind == Source::registers || !along)
      refuse("type", "operands of 8 bits of the product " + value.id +
                         " must lie in shared memory, along what is summed");
  }
  const int depth_of_one = values_.mixed() ? kUsualDepth : ValuePrinter::depth_of(m_, value);
  const int other = needs_.product_depth;
  // (On Hopper the layout of all results has it; where they differ, each has its own.)
  if (other != 0 && other != depth_of_one && hopper())
    refuse("type", "products of operands of " +
                       std::to_string(256 / std::max(other, depth_of_one)) + " and of " +
                       std::to_string(256 / std::min(other, depth_of_one)) +
                       " bits are in one kernel");
  needs_.product_depth = depth_of_one;
  // (PTX ISA, wgmma.mma_async: of f16 the sum may be of f16, too. In tensor memory such a sum has a
  // column of 32 bits for each number, which no storage here has.)
  const bool half = value.type == "f16" && first == "f16" && hopper();
  if (value.type != (first == "i8" ? "i32" : "f32") && !half)
    refuse("type", "the product " + value.id + " must be f32, of integers i32");
  for (const int v : plan_.links.values[at(op)])
    if (v != plan_.links.result[at(op)] && m_.values[at(v)].type != "tf32")
      refuse("op", "the product " + value.id + " is part of a chain");
  if (unfenced(op, value.operands[0]) || unfenced(op, value.operands[1])) {
    needs_.fence = true;
    line(depth,
         "fence_async_shared()  # threads copied it; a wait for what uses it, too, was enough");
  }
  const std::string b = memory_operand(op, value.operands[1], it);
  if (b.empty())
    refuse("operand", "the right operand of " + value.id + " must lie in shared memory");
  if (hopper())
    wgmma(depth, op, value, it, b);
  else
    tcgen05(depth, op, value, it, b);
}

std::string SlotPrinter::in_a_register(const std::string& type) {
  return is_narrow(type) ? "4" : type == "f32" ? "1" : "2";
}

/// The registers that a product in flight reads get another name, before its op's next one has the
/// old one.
void SlotPrinter::keep_left(int depth, int op, const std::string& left) {
  const std::string before = left + "_prev";
  for (const ProductInFlight& flight : state_.flights)
    if (flight.op == op && flight.left == before)
      refuse("op",
             "three products " + variable(op) + " with an operand in registers are in flight");
  for (ProductInFlight& flight : state_.flights)
    if (flight.op == op && flight.left == left) {
      line(depth, before + " = " + left);
      flight.left = before;
      state_.defined.insert(before);
    }
}

/// A wait cannot name registers of 8-bit numbers (Triton 3.9 does not compile it), so the product
/// that reads them ends before they are made anew.
void SlotPrinter::end_before(int depth, int op) {
  std::optional<int> last;
  for (const ProductInFlight& flight : state_.flights)
    if (flight.op == op) last = flight.iteration;
  if (last) wait_flight(depth, op, *last, "  # its left factor is made anew");
}

void SlotPrinter::wgmma(int depth, int op, const Value& value, Iteration it, const std::string& b) {
  const Layout layout = values_.layout_of(plan_.links.result[at(op)]);
  if (!register_tile(Target::hopper, layout.rows, layout.columns, warps_))
    refuse("op", "no register layout is known for the product " + value.id + ", a tile of " +
                     std::to_string(layout.rows) + " x " + std::to_string(layout.columns) + " on " +
                     std::to_string(warps_) + " warps");
  for (const int s : p_.ops[at(op)].writes)
    if (p_.storages[at(s)].kind == Storage::in_memory)
      refuse(kHandedProduct, "the result of the product " + value.id +
                                 " is handed to another slot through memory: not emitted yet");
  std::string a = memory_operand(op, value.operands[0], it), left;
  if (a.empty()) {
    ended_for(depth, op, value.operands[0], it);
    const Expression from = operand(op, value.operands[0], it);
    left = variable(op) + "_left";
    if (is_narrow(from.type))
      end_before(depth, op);
    else
      keep_left(depth, op, left);
    line(depth, left + " = gl.convert_layout(" + from.text + ", gl.DotOperandLayout(0, " +
                    values_.text_of(layout) + ", " + in_a_register(from.type) + "))");
    a = left;
    if (is_narrow(from.type)) left.clear();
  }
  std::string sum, use_acc;
  int added = -1;
  if (value.operands.size() == 3) {
    const Source source = values_.resolve(op, value.operands[2]);
    if (source.kind != Source::registers)
      refuse(source.kind == Source::memory ? kHandedProduct : "operand",
             value.id + " adds to no registers");
    added = source.op;
    sum = held(source.op, op, it, source.distance);
    if (values_.layout_of(plan_.links.result[at(added)]).depth != layout.depth) {
      if (wgmma(added))
        refuse("type", "products of operands of several widths add up: " + value.id);
      sum = "gl.convert_layout(" + sum + ", " + values_.text_of(layout) + ")";
    }
  } else {
    sum = values_.filled(plan_.links.result[at(op)], 0);
    use_acc = ", use_acc=False";
  }
  // What adds to a product's own registers needs no wait for it.
  if (added >= 0 && wgmma(added))
    for (ProductInFlight& flight : state_.flights)
      if (flight.op == added &&
          flight.iteration == it.offset - values_.resolve(op, value.operands[2]).distance)
        flight.taken = true;
  if (added != op) age_variables(depth, op);
  state_.defined.insert(variable(op));
  line(depth, variable(op) + " = warpgroup_mma(" + a + ", " + b + ", " + sum + use_acc +
                  ", is_async=True)" + size_of(value));
  if (!left.empty()) state_.defined.insert(left);
  state_.flights.push_back({op, it.offset, false, left});
  state_.token[op] = true;
  if (!barriers_of(legal_op(op), it).empty())
    refuse("release", "the product " + value.id + " was to tell a barrier of its end");
}

void SlotPrinter::tcgen05(int depth, int op, const Value& value, Iteration it,
                          const std::string& b) {
  const std::string a = memory_operand(op, value.operands[0], it);
  if (a.empty())
    refuse("operand", "the left operand of " + value.id + " must lie in shared or tensor memory");
  int result = -1;
  for (const int s : p_.ops[at(op)].writes)
    if (plan_.on_tmem(p_.storages[at(s)])) result = s;
  if (result < 0) refuse("storage", value.id + " has no place in tensor memory");
  std::string use_acc = "use_acc=False";
  if (value.operands.size() == 3) {
    const Source source = values_.resolve(op, value.operands[2]);
    const Storage& to = legal_.program.storages[at(result)];
    if (source.kind != Source::memory) refuse("operand", value.id + " adds to no tensor memory");
    const Storage& from = legal_.program.storages[at(source.storage)];
    if (from.memory != to.memory || from.base != to.base || from.size != to.size ||
        from.depth != to.depth || source.distance % to.depth != 0 || source.transposed ||
        source.columns > 0)
      refuse("storage", value.id + " adds to " + from.name +
                            ", which lies elsewhere than its "
                            "result");
    use_acc = "use_acc=True";
  }
  line(depth, "tcgen05_mma(" + a + ", " + b + ", " + copy_of(result, it) + ", " + use_acc +
                  ", mbarriers=[" + barriers_of(legal_op(op), it) + "])" + size_of(value));
}

std::string SlotPrinter::size_of(const Value& value) const {
  const Operand& left = value.operands[0];
  const auto& shape = m_.values[at(left.value)].shape;
  std::int64_t k = shape[left.transposed ? 0 : 1];
  if (left.columns > 0 && !left.transposed) k = left.columns;
  return "  # " + std::to_string(value.shape[0]) + " x " + std::to_string(value.shape[1]) + " x " +
         std::to_string(k) +
         (is_narrow(m_.values[at(left.value)].type) ? " (8 bits)"
          : m_.values[at(left.value)].type == "f32" ? " (tf32)"
                                                    : "");
}

void SlotPrinter::ended_for(int depth, int op, const Operand& one, Iteration it) {
  if (one.value < 0 || !m_.in_loop(one.value)) return;
  const Source source = values_.resolve(op, one);
  if (source.kind != Source::registers || !wgmma(source.op)) return;
  const int iteration = it.offset - source.distance;
  if (it.from == Iteration::begin && iteration < 0) return;
  wait_flight(depth, source.op, iteration, "  # RAW of " + variable(source.op));
}

}  // namespace twill::emit
