// A slot's ops in the loop (gluon_slot_printer.hpp).
#include <algorithm>

#include "graph/emit/element_text.hpp"
#include "graph/emit/gluon_slot_printer.hpp"
#include "graph/emit/register_tile.hpp"
#include "graph/emit/user_function.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {

using program::Ending;
using program::Storage;

namespace {

/// Has a number of this type 8 bits?
bool is_narrow(const std::string& type) {
  return type == "f8" || type == "f8e5m2" || type == "i8";
}

// Columns of tensor memory that a chain of ops holds at a time.
constexpr std::int64_t kChunk = 16;

/// Functions whose text may have the iteration in it.
bool knows_places(meaning::Function function) {
  return function == meaning::Function::causal || function == meaning::Function::within ||
         function == meaning::Function::places;
}

}  // namespace

std::string SlotPrinter::copy_of(int storage, Iteration it) {
  if (it.from == Iteration::end && p_.storages[at(storage)].depth > 1) use("n");
  return use(plan_.buffer[at(storage)]) + ring(it, p_.storages[at(storage)].depth);
}

std::string SlotPrinter::to_load(int storage, Iteration it, const std::string& cut,
                                 std::int64_t columns) {
  const Storage& place = legal_.program.storages[at(storage)];
  const std::string text = copy_of(storage, it);
  // (Storages may share their columns.)
  const std::string index = text.substr(plan_.buffer[at(storage)].size());
  const Value& value = plan_.value_of(storage);
  const int before = state_.reads[std::to_string(place.base) + value.type + index + cut]++;
  std::string whole;
  for (int k = 0; k < before; ++k) whole += ".slice(0, " + std::to_string(columns) + ")";
  return text + cut + whole;
}

std::string SlotPrinter::coordinates(int tensor, const std::string& tile) {
  if (plan_.user != nullptr) {
    std::string list;
    for (const UserCoordinate& one : user_coordinates(plan_, tensor)) {
      if (one.whole) {
        const bool bracketed = tile.starts_with('(');
        const std::string iteration = bracketed ? tile.substr(1, tile.size() - 2) : tile;
        std::string place = element_text(plan_, *one.whole, {"", "", iteration});
        use_arguments(place);
        if (place.starts_with('(')) place = place.substr(1, place.size() - 2);
        list += (list.empty() ? "" : ", ") + place;
        continue;
      }
      std::string x = one.variable.empty() ? one.number : use(one.variable);
      if (one.step != 0 && !tile.empty())
        x = (x == "0" ? "" : x + " + ") + tile + " * " + std::to_string(one.step);
      list += (list.empty() ? "" : ", ") + x;
    }
    return "[" + list + "]";
  }
  const Axes& axes = plan_.axes;
  const HostTensor& whole = axes.tensors[at(axes.tensor_of[at(tensor)])];
  std::string list;
  for (int d = 0; d < static_cast<int>(whole.axes.size()); ++d) {
    std::string x;
    const bool row = d == 0;
    if (row) x = use(plan_.tensor_name[at(tensor)] + "_row");
    const Axis& axis = axes.axes[at(whole.axes[at(d)])];
    if (axis.kind == Axis::block && !row) x = use(host(tensor) + "_column");
    if (whole.steps >= 0 && !tile.empty()) x += " + " + tile + " * " + use(host(tensor) + "_rows");
    if (axis.kind == Axis::loop)
      x += (x.empty() ? "" : " + ") + tile + " * " + std::to_string(axis.tile);
    list += (list.empty() ? "" : ", ") + (x.empty() ? std::string("0") : x);
  }
  return "[" + list + "]";
}

void SlotPrinter::op(int depth, int op, Iteration it) {
  const Value& value = m_.values[at(plan_.links.result[at(op)])];
  if (plan_.unused(plan_.links.result[at(op)]) && barriers_of(legal_op(op), it).empty()) return;
  if (legal_.read_again[at(op)]) return;
  if (value.function == Function::load)
    load(depth, op, value, it);
  else if (value.function == Function::store)
    store(depth, op, value, it);
  else if (legal_.by_warps[at(op)])
    product_by_warps(depth, op, value, it);
  else if (value.function == Function::product)
    product(depth, op, value, it);
  else
    compute(depth, op, it);
}

std::string SlotPrinter::memory_operand(int op, const Operand& one, Iteration it) {
  const Source source = values_.resolve(op, one);
  std::string text;
  const bool made = source.kind == Source::before && plan_.made.contains(source.value);
  if (source.kind == Source::before && !made && !plan_.resident.contains(source.value)) return "";
  if (made)
    text = use(plan_.made.at(source.value).name);
  else if (source.kind == Source::before)
    text = use(plan_.resident.at(source.value).name);
  else if (source.kind == Source::memory)
    text = copy_of(source.storage, it + -source.distance);
  else
    return "";
  text += place_anew(source, it);
  if (source.columns > 0) {
    if (source.kind == Source::memory && plan_.on_tmem(p_.storages[at(source.storage)]))
      refuse("operand", "a part of a tile in tensor memory is an operand of a product");
    text += ".slice(" + std::to_string(source.first_column) + ", " +
            std::to_string(source.columns) + ", dim=1)";
  }
  return text + (source.transposed ? ".permute((1, 0))" : "");
}

std::string SlotPrinter::place_anew(const Source& source, Iteration it) {
  if (!anew_ || it.from != Iteration::loop) return "";
  std::vector<std::int64_t> shape;
  std::string type;
  bool columns_first = false;
  if (source.kind == Source::memory) {
    const int storage = plan_.same_place[at(source.storage)];
    if (p_.storages[at(storage)].depth > 1 || plan_.on_tmem(p_.storages[at(storage)])) return "";
    const Value& value = plan_.value_of(storage);
    shape = value.shape;
    type = value.type;
    columns_first = plan_.columns_first(value);
  } else {
    const bool made = plan_.made.contains(source.value);
    const ExtraBuffer& buffer = (made ? plan_.made : plan_.resident).at(source.value);
    shape = buffer.shape;
    type = buffer.type;
    columns_first = !made && plan_.columns_first(m_.values[at(source.value)]);
  }
  needs_.shared_views = true;
  // The index is 0, whatever i is.
  return ".reinterpret(" + gluon_type(type) + ", [1, " + std::to_string(shape[0]) + ", " +
         std::to_string(shape[1]) + "], " + shared_layout_name(shape, type, columns_first) +
         ").index(i // 2147483647)";
}

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

Expression SlotPrinter::operand(int op, const Operand& one, Iteration it) {
  Expression whole = tile_operand(op, one, it);
  if (one.row < 0) return whole;
  // The sum of a column with one element that is not 0: exact.
  if (whole.layout.kind != Layout::matrix || whole.layout.turned)
    refuse("operand", p_.ops[at(op)].id + " takes a row of what is no tile");
  Layout rows = whole.layout, columns = whole.layout;
  rows.kind = Layout::of_rows;
  columns.kind = Layout::of_columns;
  const std::string f32 = whole.type == "f32" ? "" : ".to(gl.float32)";
  return {"gl.sum(gl.where(gl.arange(0, " + std::to_string(rows.rows) +
              ", layout=" + values_.text_of(rows) + ")[:, None] == " + std::to_string(one.row) +
              ", " + whole.text + f32 + ", 0.0), axis=0)",
          columns, "f32"};
}

Expression SlotPrinter::tile_operand(int op, const Operand& one, Iteration it) {
  Source source = values_.resolve(op, one);
  if (source.kind == Source::registers && legal_.read_again[at(source.op)]) {
    const program::Read from = p_.ops[at(source.op)].reads.front();
    const int value = plan_.links.result[at(source.op)];
    const Layout layout = values_.layout_of(value);
    return {copy_of(from.storage, it + -(source.distance + from.distance)) + ".load(" +
                values_.text_of(layout) + ")",
            layout, m_.values[at(value)].type};
  }
  switch (source.kind) {
    case Source::number: return values_.number(one);
    case Source::registers: {
      if (source.columns > 0)
        refuse("operand", "a part of registers is used by " + p_.ops[at(op)].id);
      const int value = plan_.links.result[at(source.op)];
      const std::string text = held(source.op, op, it, source.distance);
      Layout layout = values_.layout_of(value);
      // (Of the same registers: it costs nothing.)
      if (layout.depth != 0) {
        Layout usual = layout;
        usual.depth = 0;
        if (source.transposed)
          refuse("operand", "a product of another width is used transposed: not emitted yet");
        return {"gl.convert_layout(" + text + ", " + values_.text_of(usual) + ")", usual,
                m_.values[at(value)].type};
      }
      // (A factor that is held transposed is what its products take.)
      const bool turned = layout.kind == Layout::right && layout.turned;
      layout.turned = false;
      if (source.transposed == turned) return {text, layout, m_.values[at(value)].type};
      if (turned) refuse("operand", "a factor is held transposed and used as it is");
      std::swap(layout.rows, layout.columns);
      layout.turned = true;
      return {"gl.permute(" + text + ", (1, 0))", layout, m_.values[at(value)].type};
    }
    case Source::memory: {
      const int value = plan_.links.result[at(source.op)];
      const Value& what = m_.values[at(value)];
      if (source.transposed) refuse("operand", "a transposed tile is read to registers");
      if (what.shape.empty())
        return {number_in(copy_of(source.storage, it + -source.distance)), {}, what.type};
      const bool on_tmem = plan_.on_tmem(p_.storages[at(source.storage)]);
      Layout layout = values_.layout_of(value);
      std::string cut;
      if (source.columns > 0) {
        cut = ".slice(" + std::to_string(source.first_column) + ", " +
              std::to_string(source.columns) + (on_tmem ? ")" : ", dim=1)");
        layout.columns = source.columns;
      }
      if (cut.empty() && !on_tmem && read_as_factor(op, what))
        layout = values_.layout_of(plan_.links.result[at(op)]);
      const std::string text =
          on_tmem ? to_load(source.storage, it + -source.distance, cut, layout.columns)
                  : copy_of(source.storage, it + -source.distance) + cut;
      const bool turned = layout.kind == Layout::right && layout.turned;
      const Expression read{
          text + (turned ? ".permute((1, 0))" : "") + ".load(" + values_.text_of(layout) + ")",
          layout, what.type};
      return what.function == Function::load ? filled_outside(value, read, it + -source.distance)
                                             : read;
    }
    case Source::before: {
      if (source.transposed || source.columns > 0)
        refuse("operand", "a part of a tile from before the loop is read to registers");
      return early(source.value);
    }
    case Source::computed: return computed(op, source.value, it);
    case Source::chain: return chain_.at(one.value);
  }
  refuse("operand", "an operand of " + p_.ops[at(op)].id);
}

void SlotPrinter::compute(int depth, int op, Iteration it) {
  const std::vector<int>& chain = plan_.links.values[at(op)];
  const int result = plan_.links.result[at(op)];
  if (in_chunks(op)) {
    chunks(depth, {legal_op(op)}, legal_op(op), it);
    return;
  }
  chain_.clear();
  Expression last;
  std::vector<int> stores;
  for (const int v : chain) {
    const Value& value = m_.values[at(v)];
    if (value.function == Function::store && value.shape.empty()) {
      stores.push_back(v);
      continue;
    }
    if (value.function == Function::product) {
      chain_[v] = product_within(depth, op, v, it);
      continue;
    }
    if (meaning::has_tensor(value.function))
      refuse("op", value.id + " is a step of " + p_.ops[at(op)].id);
    ensure_ended(depth, op, value, it);
    std::vector<Expression> in;
    for (Operand one : value.operands) {
      // (Of a tile that is seen transposed the columns are reduced.)
      if (meaning::reduces_rows(value.function)) one.transposed = false;
      in.push_back(operand(op, one, it));
    }
    // (A tile that is used twice is read once.)
    if (in.size() == 2 && value.operands[0] == value.operands[1] &&
        in[0].text.find(".load(") != std::string::npos) {
      line(depth, "part = " + in[0].text);
      in[0].text = in[1].text = "part";
    }
    last = values_.evaluate(v, in, values_.layout_of(v), iteration_text(it));
    if (knows_places(value.function) && it.from != Iteration::begin) use("n");
    if (v != result) {
      line(depth, plan_.variable[at(v)] + " = " + last.text);
      chain_[v] = {plan_.variable[at(v)], last.layout, last.type};
    }
  }
  // (What it has made in an iteration before is stored before that is written over.)
  const bool only_moves = !stores.empty() && p_.ops[at(op)].writes.empty();
  std::erase_if(stores, [&](int v) {
    constexpr int kMostSteps = 200;
    bool before = false, now = false;
    std::vector<Operand> open = m_.values[at(v)].operands;  // (a flag, too)
    for (int steps = 0; !open.empty(); ++steps) {
      const Operand one = open.back();
      open.pop_back();
      if (one.value < 0) continue;
      if (steps > kMostSteps) refuse("op", m_.values[at(v)].id + " is made in too many steps");
      const Source source = values_.resolve(op, one);
      const bool own = source.kind == Source::registers || source.kind == Source::memory;
      if (own && source.op == op) (source.distance > 0 ? before : now) = true;
      if (source.kind == Source::chain && one.value == result) now = true;
      if (source.kind != Source::computed) continue;
      for (Operand part : m_.values[at(source.value)].operands) {
        part.distance += source.distance;
        open.push_back(part);
      }
    }
    if (before && now)
      refuse("op", m_.values[at(v)].id + " stores what its op makes now and before");
    if (before) store_number(depth, op, v, it);
    return before;
  });
  if (!stores.empty() && plan_.registers_of(op) < 0) {
    line(depth, variable(op) + " = " + last.text);
    last.text = variable(op);
  }
  if (!only_moves) keep(depth, op, it, last);
  chain_[result] = {variable(op), last.layout, last.type};
  for (const int v : stores) store_number(depth, op, v, it);
  arrive(depth, legal_op(op), it);
}

void SlotPrinter::keep(int depth, int op, Iteration it, const Expression& result) {
  const int registers = plan_.registers_of(op);
  std::string text = result.text;
  if (registers >= 0 || p_.ops[at(op)].writes.size() > 1) {
    age_variables(depth, op);
    line(depth, variable(op) + " = " + text);
    text = variable(op);
  }
  for (const int s : p_.ops[at(op)].writes) {
    const Storage& storage = p_.storages[at(s)];
    if (storage.kind != Storage::in_memory) continue;
    const Value& value = m_.values[at(plan_.links.result[at(op)])];
    line(depth, copy_of(s, it) + ".store(" + in_a_buffer(value, text) + ")");
    if (plan_.on_tmem(storage)) state_.reads.clear();
    if (!plan_.on_tmem(storage) && (read_by_products(s) || p_.ops[at(op)].fence) &&
        !stored_by_threads(s)) {
      needs_.fence = true;
      line(depth, "fence_async_shared()  # ordinary writes, read by the asynchronous proxy");
    }
  }
  if (p_.ops[at(op)].writes.empty()) refuse("op", p_.ops[at(op)].id + " writes nothing");
}

bool SlotPrinter::stored_by_threads(int storage) const {
  bool some = false;
  for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
    for (const program::Read& read : p_.ops[at(v)].reads) {
      if (read.storage != storage) continue;
      const Value& value = m_.values[at(plan_.links.result[at(v)])];
      if (value.function != Function::store || !plan_.by_elements(value.tensor)) return false;
      some = true;
    }
  return some;
}

bool SlotPrinter::read_by_products(int storage) const {
  for (int v = 0; v < static_cast<int>(p_.ops.size()); ++v)
    for (const program::Read& read : p_.ops[at(v)].reads)
      if (read.storage == storage &&
          (is_product(v) || multiplies_within(v) || p_.ops[at(v)].ending == Ending::transaction))
        return true;
  return false;
}

bool SlotPrinter::in_chunks(int op) const {
  const std::vector<int>& chain = plan_.links.values[at(op)];
  if (chain.size() < 2 || plan_.tile_written(op) < 0) return false;
  const Value& result = m_.values[at(chain.back())];
  if (result.shape.size() != 2 || result.shape[1] % kChunk != 0) return false;
  for (const int v : chain) {
    const Value& value = m_.values[at(v)];
    if (!meaning::is_elementwise(value.function) || value.shape != result.shape ||
        value.type != "f32")
      return false;
    for (const Operand& one : value.operands) {
      if (one.value < 0) continue;
      const Source source = values_.resolve(op, one);
      const bool matrix = m_.values[at(one.value)].shape.size() == 2;
      if (matrix && source.kind != Source::chain &&
          (source.kind != Source::memory || !plan_.on_tmem(p_.storages[at(source.storage)]) ||
           source.transposed || source.columns > 0))
        return false;
    }
  }
  return true;
}

std::string SlotPrinter::for_parts(int depth, std::int64_t columns, std::int64_t each) {
  const std::string width = std::to_string(each);
  if (columns <= each) return ".slice(0, " + width + ")";
  line(depth, "for column in gl.static_range(0, " + std::to_string(columns) + ", " + width + "):");
  return ".slice(column, " + width + ")";
}

void SlotPrinter::chunks(int depth, const std::vector<int>& ops, int here, Iteration it) {
  if (here != ops.back()) return;
  std::vector<std::pair<int, int>> chain;  // op and value
  for (const int one : ops) {
    const int op = legal_.source[at(one)];
    for (const int v : plan_.links.values[at(op)]) chain.emplace_back(op, v);
  }
  const int last_op = chain.back().first;
  const auto in_chain = [&](int value) {
    return std::any_of(chain.begin(), chain.end(),
                       [&](const auto& one) { return one.second == value; });
  };
  const std::int64_t columns = m_.values[at(chain.back().second)].shape[1];
  const int to = plan_.tile_written(last_op);
  // Vectors are read once.
  std::map<std::pair<int, std::size_t>, Expression> vectors;
  for (const auto& [op, v] : chain)
    for (std::size_t k = 0; k < m_.values[at(v)].operands.size(); ++k) {
      const Operand& one = m_.values[at(v)].operands[k];
      if (one.value < 0 || m_.values[at(one.value)].shape.size() == 2) continue;
      Expression vector = operand(op, one, it);
      if (values_.resolve(op, one).kind == Source::memory) {
        if (!vectors.empty()) refuse("op", "a chain with two vectors from memory");
        line(depth, "rows = " + vector.text);
        vector.text = "rows";
      }
      vectors[{v, k}] = vector;
    }
  const std::string cut = for_parts(depth, columns, kChunk);
  const int inner = depth + (columns > kChunk ? 1 : 0);
  Expression last;
  std::map<int, Expression> made;
  for (const auto& [op, v] : chain) {
    const Value& value = m_.values[at(v)];
    Layout layout = values_.layout_of(v);
    layout.columns = kChunk;
    std::vector<Expression> in;
    for (std::size_t k = 0; k < value.operands.size(); ++k) {
      const Operand& one = value.operands[k];
      if (const auto found = vectors.find({v, k}); found != vectors.end()) {
        in.push_back(found->second);
      } else if (one.value < 0) {
        in.push_back(values_.number(one));
      } else if (in_chain(one.value) && one.distance == 0) {
        in.push_back(made.at(one.value));
      } else {
        const Source source = values_.resolve(op, one);
        if (source.kind != Source::memory || source.transposed || source.columns > 0 ||
            !plan_.on_tmem(p_.storages[at(source.storage)]))
          refuse("operand", "a tile of the chain " + p_.ops[at(op)].id);
        in.push_back({to_load(source.storage, it + -source.distance, cut, kChunk) + ".load(" +
                          values_.text_of(layout) + ")",
                      layout, "f32"});
      }
    }
    last = values_.evaluate(v, in, layout, "");
    if (v != chain.back().second) {
      if (last.text != "part") line(inner, "part = " + last.text);
      made[v] = {"part", layout, last.type};
    }
  }
  line(inner, copy_of(to, it) + cut + ".store(" + last.text + ")");
  state_.reads.clear();
  arrive(depth, here, it);
}

}  // namespace twill::emit
