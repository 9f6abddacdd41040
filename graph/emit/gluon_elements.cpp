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

void SlotPrinter::write_places(int depth, const Value& value, const std::string& layout,
                               const std::string& text, const std::string& more_rows,
                               const std::string& more_columns) {
  const std::string& name = plan_.variable[at(index_of(value))];
  const std::string rows = name + "_down", columns = name + "_across";
  const bool vector = value.shape.size() == 1;
  if (mentions(text, rows))
    line(depth,
         rows + " = " +
             (vector ? range(value.shape[0], layout)
                     : range(value.shape[0], "gl.SliceLayout(1, " + layout + ")") + "[:, None]") +
             more_rows);
  if (!vector && mentions(text, columns))
    line(depth, columns + " = " + range(value.shape[1], "gl.SliceLayout(0, " + layout + ")") +
                    "[None, :]" + more_columns);
}

std::string SlotPrinter::elements(int depth, const Value& value, const std::string& layout,
                                  const std::string& iteration, const std::string& first) {
  const bool across = !first.empty() && value.shape != m_.values[at(index_of(value))].shape &&
                      value.shape.size() == 2 &&
                      value.shape[0] == m_.values[at(index_of(value))].shape[0];
  const std::string& name = plan_.variable[at(index_of(value))];
  const std::string rows = name + "_down", columns = name + "_across";
  ElementNames names{rows, columns, iteration};
  std::string gathers;
  const auto lines = gather_lines(value, layout, names);
  for (const std::string& one : lines) gathers += one + " ";
  const std::string pointers = element_pointers(plan_, value.tensor, names);
  const std::string mask = element_mask(plan_, value, names);
  const std::string both = gathers + pointers + " " + mask;
  use_arguments(both);
  write_places(depth, value, layout, both, first.empty() || across ? "" : " + " + first,
               across ? " + " + first : "");
  for (const std::string& one : lines) line(depth, one);
  if (!moves_along(plan_, value.tensor, meaning::Index::row) ||
      (value.shape.size() == 2 && !moves_along(plan_, value.tensor, meaning::Index::column)))
    refuse("op", value.id + " moves an element several times: not emitted yet");
  return pointers + (mask.empty() ? "" : ", mask=" + mask);
}

/// Numbers that a value's places and mask are made of, gathered from memory, get names: those that
/// this layout has from before the loop, and others by lines that stand before the value's own.
std::vector<std::string> SlotPrinter::gather_lines(const Value& value, const std::string& layout,
                                                   ElementNames& names) {
  const int v = index_of(value);
  const auto before = gathered_.find({v, layout});
  if (before != gathered_.end()) names.gathered = before->second;
  std::vector<std::string> lines;
  for (meaning::Index& one : gathered_numbers(plan_, value.tensor, names.iteration)) {
    const auto known = [&](const auto& had) { return had.first == one; };
    if (std::any_of(names.gathered.begin(), names.gathered.end(), known)) continue;
    const std::size_t number = names.gathered.size();
    if (number >= std::size(kGathered))
      refuse("op", value.id + " has places made of too many numbers from memory");
    std::string name = plan_.variable[at(v)] + kGathered[number];
    lines.push_back(name + " = " + element_text(plan_, one, names));
    names.gathered.emplace_back(std::move(one), std::move(name));
  }
  return lines;
}

/// What loads of the loop gather that is the same in all iterations.
void SlotPrinter::gather_before() {
  for (int op = 0; op < static_cast<int>(p_.ops.size()); ++op) {
    const int v = plan_.links.result[at(op)];
    const Value& value = m_.values[at(v)];
    if (p_.ops[at(op)].slot != slot_ || value.function != Function::load ||
        !plan_.by_elements(value.tensor))
      continue;
    const auto all = gathered_numbers(plan_, value.tensor, "");
    const std::string layout = copy_layout(value.shape, element_copy(plan_, value), warps_);
    const std::string rows = plan_.variable[at(v)] + "_down",
                      columns = plan_.variable[at(v)] + "_across";
    ElementNames names{rows, columns, ""};
    for (const meaning::Index& one : all) {
      if (depends_on(one, meaning::Index::iteration)) continue;
      const std::size_t number = names.gathered.size();
      if (number >= std::size(kGathered)) break;
      const std::string text = element_text(plan_, one, names);
      use_arguments(text);
      write_places(1, value, layout, text);
      std::string name = plan_.variable[at(v)] + kGathered[number];
      line(1, name + " = " + text);
      names.gathered.emplace_back(one, std::move(name));
    }
    if (!names.gathered.empty()) gathered_[{v, layout}] = std::move(names.gathered);
  }
}

void SlotPrinter::load_elements(int depth, const Value& value, const std::string& iteration,
                                const std::string& to, const std::string& barrier) {
  const ElementCopy copy = element_copy(plan_, value);
  if (gluon_type(value.type).empty()) refuse("type", "a tile of " + value.type + " is loaded");
  if (copy.vector == 0 && few_elements(value) && only_in_registers(value)) {
    const std::string from =
        elements(depth, value, copy_layout(value.shape, copy, warps_), iteration);
    line(depth, to + ".store(" + loaded_elements(value, from) +
                    ")  # through registers: cp.async copies 4 bytes or more");
    line(depth, "mbarrier.arrive(" + barrier + ", count=1)");
    return;
  }
  if (copy.vector == 0 && only_in_registers(value)) {
    load_in_parts(depth, value, copy, iteration, to);
    line(depth, "mbarrier.arrive(" + barrier + ", count=1)");
    return;
  }
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

/// So many elements fit into registers of a slot that moves tiles.
std::int64_t SlotPrinter::most_elements() const {
  constexpr std::int64_t kMostOfAThread = 4;
  return kMostOfAThread * 32 * warps_;
}

bool SlotPrinter::few_elements(const Value& value) const {
  return meaning::elements(value.shape) <= most_elements();
}

/// Through registers, some rows or columns after the others.
void SlotPrinter::load_in_parts(int depth, const Value& value, const ElementCopy& copy,
                                const std::string& iteration, const std::string& to) {
  Value part = value;
  const std::size_t cut = value.shape.size() == 2 && value.shape[1] > most_elements() ? 1 : 0;
  while (part.shape[cut] % 2 == 0 && !few_elements(part)) part.shape[cut] /= 2;
  if (!few_elements(part) || !gathered_numbers(plan_, value.tensor, iteration).empty())
    refuse("op", value.id +
                     " has too many elements to be loaded through registers: cp.async copies 4 "
                     "bytes or more, and leaves 0 where nothing is loaded");
  const std::string each = std::to_string(part.shape[cut]);
  const std::string begin = plan_.tiles() ? "first_part" : "first";  // (no iteration's number)
  line(depth, "for " + begin + " in gl.static_range(0, " + std::to_string(value.shape[cut]) + ", " +
                  each + "):  # through registers: cp.async copies 4 bytes or more");
  const std::string from =
      elements(depth + 1, part, copy_layout(part.shape, copy, warps_), iteration, begin);
  line(depth + 1, to + ".slice(" + begin + ", " + each + (cut == 1 ? ", dim=1)" : ")") + ".store(" +
                      loaded_elements(value, from) + ")");
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
  write_places(depth, value, layout, mask);
  return mask;
}

std::string SlotPrinter::loaded_elements(const Value& value, const std::string& from) const {
  Operand other;
  other.number = plan_.user->places[at(value.tensor)].outside;
  if (!meaning::bounds_of(value).empty())
    other = value.operands[0];
  else if (plan_.user->places[at(value.tensor)].mask.empty())
    return "gl.load(" + from + ")";
  return "gl.load(" + from + ", other=" + values_.number(other).text + ")";
}

void SlotPrinter::store_elements(int depth, const Value& value, const Expression& what,
                                 const std::string& first_column, const std::string& iteration,
                                 const std::string& given_layout, const std::string& flag) {
  if (what.layout.turned) refuse("op", value.id + " stores a transposed tile by pointers");
  Value part = value;
  if (value.shape.size() == 2) part.shape = {what.layout.rows, what.layout.columns};
  const std::string layout =
      !given_layout.empty()
          ? given_layout
          : values_.text_of(value.shape.size() == 2
                                ? what.layout
                                : Layout{what.layout.kind, what.layout.rows, what.layout.columns});
  std::string to = elements(depth, part, layout, iteration, first_column);
  const std::size_t mask = to.find(", mask=");
  if (!flag.empty() && mask == std::string::npos)
    to += ", mask=" + flag;
  else if (!flag.empty())
    to = to.insert(mask + 7, "(") + ") & " + flag;
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
  if (value.operands.size() == 2) {
    store_elements(depth, value, what, "", iteration_text(it), "",
                   flag_of(value, what, operand(op, value.operands[1], it)));
    return;
  }
  if (const auto across = read_for_store(op, value, what))
    store_elements(depth, value, {across->text, what.layout, what.type}, "", iteration_text(it),
                   across->layout);
  else
    store_elements(depth, value, what, "", iteration_text(it));
}

std::string SlotPrinter::flag_of(const Value& value, const Expression& what,
                                 const Expression& flag) const {
  if (flag.type != "i32" || what.layout.turned)
    refuse("op", value.id + " is stored under flags of type " + flag.type);
  return "(" + values_.placed(value, 1, flag, what.layout) + " > 0)";
}

/// A tile that only goes from shared memory to where it is stored needs no layout of the products:
/// neighbours in memory are neighbours among the threads. (On Blackwell a thread of theirs has a
/// row of its own, so that no two threads write into one line; on Hopper they are such neighbours.)
std::optional<SlotPrinter::ReadAcross> SlotPrinter::read_for_store(int op, const Value& value,
                                                                   const Expression& what) const {
  const Source from = values_.resolve(op, value.operands[0]);
  const std::string read = ".load(" + values_.text_of(what.layout) + ")";
  if (hopper() || value.shape.size() != 2 || from.kind != Source::memory ||
      what.layout.kind != Layout::matrix || !what.text.ends_with(read) ||
      what.text.substr(0, what.text.size() - read.size()).find(".load(") != std::string::npos ||
      what.layout.rows != value.shape[0] || what.layout.columns != value.shape[1])
    return std::nullopt;
  const std::string layout = copy_layout(value.shape, element_copy(plan_, value), warps_);
  return ReadAcross{what.text.substr(0, what.text.size() - read.size()) + ".load(" + layout + ")",
                    layout};
}

bool SlotPrinter::needs_fence(int legal_event_op) const {
  const int source = legal_.source[at(legal_event_op)];
  if (source < 0 || !plan_.copied_by_threads(m_.values[at(plan_.links.result[at(source)])]))
    return false;
  for (int op = 0; op < static_cast<int>(p_.ops.size()); ++op) {
    // (On Blackwell one in a branch fences before it is issued.)
    if (p_.ops[at(op)].slot != slot_ || (!is_product(op) && !(hopper() && multiplies_within(op))))
      continue;
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
      const Value product = with_whole_factors(m_, m_.values[at(plan_.links.result[at(op)])]);
      const Source from = values_.resolve(op, product.operands[k]);
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
