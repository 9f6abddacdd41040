// A slot's ops in the loop (gluon_slot_printer.hpp).
#include <algorithm>

#include "graph/emit/element_text.hpp"
#include "graph/emit/gluon_slot_printer.hpp"
#include "graph/emit/user_function.hpp"

namespace twill::emit {

using program::Ending;
using program::Storage;

namespace {

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
        return {values_.number_in(copy_of(source.storage, it + -source.distance)), {}, what.type};
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
    line(depth, copy_of(s, it) + ".store(" + values_.in_a_buffer(value, text) + ")");
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
