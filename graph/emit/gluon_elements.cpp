// Tiles that are moved by pointers: every thread copies its elements (gluon_slot_printer.hpp).
//
// cp.async tells a barrier when a thread's copies are there: all threads of the slot arrive. What
// it wrote is seen by products, which read through the asynchronous proxy, after a fence of the
// slot that issues them (PTX ISA, "Async proxy").
#include <algorithm>

#include "graph/emit/element_text.hpp"
#include "graph/emit/gluon_slot_printer.hpp"
#include "graph/emit/user_function.hpp"
#include "graph/meaning/bounds.hpp"

namespace twill::emit {

namespace {

std::string range(std::int64_t extent, const std::string& layout) {
  return "gl.arange(0, " + std::to_string(extent) + ", layout=" + layout + ")";
}

}  // namespace

int SlotPrinter::index_of(const Value& value) const {
  for (std::size_t v = 0; v < m_.values.size(); ++v)
    if (m_.values[v].id == value.id) return static_cast<int>(v);
  refuse("op", value.id + " is no value");
}

void SlotPrinter::use_arguments(const std::string& text) {
  for (const std::string& one : plan_.parameter_name)
    if (!one.empty() && mentions(text, one)) use(one);
  for (const auto& [one, index] : plan_.places)
    if (mentions(text, one)) use(one);
  if (mentions(text, "n")) use("n");
}

std::string SlotPrinter::elements(int depth, const Value& value, const std::string& layout,
                                  const std::string& iteration, const std::string& first) {
  const bool across = !first.empty() && value.shape != m_.values[at(index_of(value))].shape &&
                      value.shape.size() == 2 &&
                      value.shape[0] == m_.values[at(index_of(value))].shape[0];
  const std::string& name = plan_.variable[at(index_of(value))];
  const std::string rows = name + "_down", columns = name + "_across";
  ElementNames names{rows, columns, iteration};
  const std::string pointers = element_pointers(plan_, value.tensor, names);
  const std::string mask = element_mask(plan_, value, names);
  const std::string both = pointers + " " + mask;
  use_arguments(both);
  if (value.shape.size() == 1) {
    if (mentions(both, rows)) line(depth, rows + " = " + range(value.shape[0], layout));
  } else {
    if (mentions(both, rows))
      line(depth, rows + " = " + range(value.shape[0], "gl.SliceLayout(1, " + layout + ")") +
                      "[:, None]" + (first.empty() || across ? "" : " + " + first));
    if (mentions(both, columns))
      line(depth, columns + " = " + range(value.shape[1], "gl.SliceLayout(0, " + layout + ")") +
                      "[None, :]" + (across ? " + " + first : ""));
  }
  if (!mentions(pointers, rows) || (value.shape.size() == 2 && !mentions(pointers, columns)))
    refuse("op", value.id + " moves an element several times: not emitted yet");
  return pointers + (mask.empty() ? "" : ", mask=" + mask);
}

void SlotPrinter::load_elements(int depth, const Value& value, const std::string& iteration,
                                const std::string& to, const std::string& barrier) {
  const ElementCopy copy = element_copy(plan_, value);
  if (gluon_type(value.type).empty()) refuse("type", "a tile of " + value.type + " is loaded");
  if (copy.vector == 0 || (copy.fills && !only_in_registers(value)))
    refuse("op",
           value.id +
               " is loaded by pointers that cp.async cannot follow: it copies neighbours of 4 "
               "bytes or more, as the divisors of the arguments show them, and leaves 0 where "
               "nothing is loaded (through registers ptxas spills)");
  const std::string from =
      elements(depth, value, copy_layout(value.shape, copy, warps_), iteration);
  needs_.async_copy = true;
  line(depth, "async_copy.async_load(" + to + ", " + from + ")");
  line(depth, "async_copy.mbarrier_arrive(" + barrier +
                  ", increment_count=False)  # every thread, when its copies are there");
}

/// Do only ops that take it to registers read what a load of the loop has copied?
bool SlotPrinter::only_in_registers(const Value& value) const {
  const int v = index_of(value);
  if (!m_.in_loop(v) || plan_.op_of(v) < 0) return false;
  const auto& writes = p_.ops[at(plan_.op_of(v))].writes;
  return std::none_of(writes.begin(), writes.end(), [&](int s) { return read_by_products(s); });
}

Expression SlotPrinter::filled_outside(int v, const Expression& copied, Iteration it) {
  const Value& value = m_.values[at(v)];
  if (!plan_.by_elements(value.tensor) || !element_copy(plan_, value).fills) return copied;
  if (copied.layout.rows != values_.layout_of(v).rows ||
      copied.layout.columns != values_.layout_of(v).columns || copied.layout.turned)
    refuse("operand",
           "a part of " + value.id + " is read, which has another number than 0 outside");
  if (it.from == Iteration::end) use("n");
  const std::string mask =
      masked(depth_, value, values_.text_of(copied.layout), iteration_text(it));
  return {"gl.where(" + mask + ", " + copied.text + ".to(gl.float32), " +
              values_.number(value.operands[0]).text + ")",
          copied.layout, "f32"};
}

std::string SlotPrinter::masked(int depth, const Value& value, const std::string& layout,
                                const std::string& iteration) {
  const std::string& name = plan_.variable[at(index_of(value))];
  const std::string rows = name + "_down", columns = name + "_across";
  std::string mask = element_mask(plan_, value, {rows, columns, iteration});
  use_arguments(mask);
  if (mentions(mask, rows))
    line(depth,
         rows + " = " +
             (value.shape.size() == 1
                  ? range(value.shape[0], layout)
                  : range(value.shape[0], "gl.SliceLayout(1, " + layout + ")") + "[:, None]"));
  if (mentions(mask, columns))
    line(depth, columns + " = " + range(value.shape[1], "gl.SliceLayout(0, " + layout + ")") +
                    "[None, :]");
  return mask;
}

std::string SlotPrinter::loaded_elements(const Value& value, const std::string& from) const {
  if (meaning::bounds_of(value).empty()) return "gl.load(" + from + ")";
  return "gl.load(" + from + ", other=" + values_.number(value.operands[0]).text + ")";
}

void SlotPrinter::store_elements(int depth, const Value& value, const Expression& what,
                                 const std::string& first_column, const std::string& iteration) {
  if (what.layout.turned) refuse("op", value.id + " stores a transposed tile by pointers");
  Value part = value;
  if (value.shape.size() == 2) part.shape = {what.layout.rows, what.layout.columns};
  const std::string layout = values_.text_of(
      value.shape.size() == 2 ? what.layout
                              : Layout{what.layout.kind, what.layout.rows, what.layout.columns});
  std::string to = elements(depth, part, layout, iteration, first_column);
  line(depth,
       std::string(plan_.adds(value.tensor) ? "gl.atomic_add(" : "gl.store(") +
           to.insert(to.find(", mask=") == std::string::npos ? to.size() : to.find(", mask="),
                     ", " + what.text) +
           ")");
}

void SlotPrinter::store_in_loop(int depth, int op, const Value& value, Iteration it) {
  if (plan_.links.values[at(op)].size() != 1)
    refuse("op", "the store " + value.id + " is part of a chain");
  if (!barriers_of(legal_op(op), it).empty())
    refuse("release", "the store " + value.id + " was to tell a barrier of its end");
  if (it.from == Iteration::end) use("n");
  ensure_ended(depth, op, value, it);
  const int v = plan_.links.result[at(op)];
  const Expression what = values_.evaluate(v, {operand(op, value.operands[0], it)},
                                           values_.layout_of(v), iteration_text(it));
  store_elements(depth, value, what, "", iteration_text(it));
}

bool SlotPrinter::needs_fence(int legal_event_op) const {
  const int source = legal_.source[at(legal_event_op)];
  if (source < 0 || !plan_.copied_by_threads(m_.values[at(plan_.links.result[at(source)])]))
    return false;
  for (int op = 0; op < static_cast<int>(p_.ops.size()); ++op) {
    if (p_.ops[at(op)].slot != slot_ || !is_product(op)) continue;
    for (const program::Read& read : p_.ops[at(op)].reads)
      for (const int s : p_.ops[at(source)].writes)
        if (read.storage == s) return true;
  }
  return false;
}

bool SlotPrinter::fence_for_resident() const {
  for (int op = 0; op < static_cast<int>(p_.ops.size()); ++op) {
    if (p_.ops[at(op)].slot != slot_ || !is_product(op)) continue;
    bool resident = false, fenced = false;
    for (std::size_t k = 0; k < 2; ++k) {
      const Source from =
          values_.resolve(op, m_.values[at(plan_.links.result[at(op)])].operands[k]);
      if (from.kind == Source::before)
        resident |= plan_.copied_by_threads(m_.values[at(from.value)]);
      if (from.kind == Source::memory)
        fenced |= plan_.copied_by_threads(m_.values[at(plan_.links.result[at(from.op)])]);
    }
    if (resident && !fenced) return true;
  }
  return false;
}

bool SlotPrinter::unfenced(int op, const Operand& one) const {
  const Source source = values_.resolve(op, one);
  if (source.kind != Source::memory ||
      !plan_.copied_by_threads(m_.values[at(plan_.links.result[at(source.op)])]))
    return false;
  const int load = legal_op(source.op);
  return std::none_of(legal_.program.waits.begin(), legal_.program.waits.end(),
                      [&](const program::Wait& wait) {
                        return legal_.program.events[at(wait.event)].op == load &&
                               legal_.program.ops[at(wait.before)].slot == slot_;
                      });
}

}  // namespace twill::emit
