// A slot's ops in the loop (cuda_slot_printer.hpp).
#include <algorithm>

#include "graph/emit/cuda_slot_printer.hpp"
#include "graph/emit/cuda_words.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {

using program::Storage;

namespace {

// Columns of gpu/hopper/wgmma.cuh's products.
constexpr std::int64_t kProductColumns[] = {32, 40, 64, 80, 128, 256};

}  // namespace

std::string CudaSlotPrinter::copy_at(int storage, Iteration it) const {
  const std::string& name = plan_.buffer[at(storage)];
  const int depth = p_.storages[at(storage)].depth;
  const bool tensor = plan_.on_tmem(p_.storages[at(storage)]);
  std::string place = tensor ? "tmem + " + name : shared(name);
  if (depth == 1) return place;
  // (What is carried into iteration 0 is a copy of the ring, too.)
  while (it.from != Iteration::end && it.offset < 0) it.offset += depth;
  return "copy_of<" + std::to_string(depth) + ">(" + place + ", " + name +
         (tensor ? "Columns, " : "Bytes, ") + cuda_iteration(it) + ")";
}

void CudaSlotPrinter::op(int depth, int op, Iteration it) {
  const Value& value = m_.values[at(plan_.links.result[at(op)])];
  const program::Op& done = legal_.program.ops[at(legal_op(op))];
  if (!done.async_proxy)
    for (const program::Read& read : done.reads)
      for (const program::Op& other : legal_.program.ops)
        fences_.loaded |=
            other.ending == program::Ending::transaction &&
            std::find(other.writes.begin(), other.writes.end(), read.storage) != other.writes.end();
  if (value.function == Function::load)
    load(depth, op, value, it);
  else if (value.function == Function::store)
    store(depth, op, value, it);
  else if (value.function == Function::product)
    product(depth, op, value, it);
  else if (!legal_.read_again[at(op)])
    compute(depth, op, it);
}

std::string CudaSlotPrinter::memory_operand(int op, const Operand& one, Iteration it, bool left) {
  const Source source = values_.resolve(op, one);
  std::string address;
  std::vector<std::int64_t> shape;
  if (source.kind == Source::before) {
    address = shared(plan_.resident.at(source.value).name);
    shape = m_.values[at(source.value)].shape;
  } else if (source.kind == Source::memory) {
    const Value& held_there = plan_.value_of(source.storage);
    if (product_element(held_there.type, blackwell()).empty())
      refuse("type", harmless(held_there.id) + " must be f16 or bf16: a product reads it");
    address = copy_at(source.storage, it + -source.distance);
    shape = held_there.shape;
  } else {
    return "";
  }
  const std::int64_t rows = shape[0];
  if (on_tmem(source)) {
    if (!left || source.transposed || source.columns > 0)
      refuse("operand", "a product of " + harmless(p_.ops[at(op)].id) +
                            " takes a part or the transpose of a tile in tensor memory, or one on "
                            "its right");
    return "InLanes{" + address + "}";
  }
  std::int64_t offset = 0;
  if (source.columns > 0) {
    if (source.first_column % 64 != 0 || (source.columns % 64 != 0 && source.columns > 64))
      refuse("operand", "a product takes columns " + std::to_string(source.first_column) +
                            " and on: panels have 64");
    offset = source.first_column / 64 * rows * 128;
  }
  // A is M x K: its rows, or turned its columns, are M. B is K x N: turned, its rows are N.
  const bool k_major = left != source.transposed;
  const std::string& type =
      m_.values[at(source.kind == Source::before ? source.value
                                                 : plan_.links.result[at(source.op)])]
          .type;
  if (type == "f8" && (!k_major || source.columns > 0))
    refuse("operand", "a product of 8-bit elements sums over the columns of whole tiles: " +
                          harmless(p_.ops[at(op)].id));
  if (offset > 0) address += " + " + std::to_string(offset);
  const Value& value = m_.values[at(plan_.links.result[at(op)])];
  const int across = blackwell() ? 1 : c_.shares(slot_, value);
  // Its columns of the result are rows of B, or panels of 64 columns.
  if (!left && across > 1)
    address +=
        " + group * " + std::to_string(value.shape[1] / across * (k_major ? 128 : rows * 128 / 64));
  if (left && !blackwell() && across == 1) {
    const std::int64_t of_group = (k_major ? 64 : rows) * 128;
    if (c_.warpgroups(slot_) > 1)
      address += " + group * " + std::to_string(blocks_of(value) * of_group);
  }
  return std::string(k_major ? "KMajor" : "MnMajor") + (blackwell() ? "Tile<" : "<") +
         std::to_string(rows) + ">{" + address + "}";
}

std::set<int> CudaSlotPrinter::multiplied_by(int op) const {
  std::set<int> all;
  const Value& value = m_.values[at(plan_.links.result[at(op)])];
  for (std::size_t k = 0; k < 2 && k < value.operands.size(); ++k) {
    const Source source = values_.resolve(op, value.operands[k]);
    if (source.kind == Source::memory) all.insert(source.storage);
  }
  return all;
}

void CudaSlotPrinter::meet(int depth, const std::string& comment) {
  line(depth,
       "named_sync(" + std::to_string(slot_ + 1) + ", " +
           std::to_string(128 * c_.warpgroups(slot_)) + ");",
       comment);  // 0 is __syncthreads's
  fences_.written.clear();
  fences_.multiplied.clear();
  fences_.read.clear();
  for (const CudaFlight& flight : flights_) fences_.multiplied.merge(multiplied_by(flight.op));
}

bool CudaSlotPrinter::overlap(int storage, const std::set<int>& others) const {
  const auto& shares = p_.storages[at(storage)].shares;
  return std::any_of(others.begin(), others.end(), [&](int s) {
    return s == storage || std::find(shares.begin(), shares.end(), s) != shares.end();
  });
}

void CudaSlotPrinter::product(int depth, int op, const Value& value, Iteration it) {
  const int result = plan_.links.result[at(op)];
  const std::string& type = m_.values[at(std::max(value.operands[0].value, 0))].type;
  for (std::size_t k = 0; k < 2; ++k) {
    const Operand& one = value.operands[k];
    if (one.value < 0 || product_element(m_.values[at(one.value)].type, blackwell()).empty() ||
        m_.values[at(one.value)].type != type)
      refuse("type",
             "operands of the product " + harmless(value.id) + " must both be f16 or both bf16");
  }
  if (value.type != "f32") refuse("type", "the product " + harmless(value.id) + " must be f32");
  if (plan_.links.values[at(op)].size() != 1)
    refuse("op", "the product " + harmless(value.id) + " is part of a chain");
  if (!blackwell() && std::find(std::begin(kProductColumns), std::end(kProductColumns),
                                value.shape[1]) == std::end(kProductColumns))
    refuse("op", "the product " + harmless(value.id) + " has " + std::to_string(value.shape[1]) +
                     " columns: gpu/hopper/wgmma.cuh has 32, 40, 64, 80, 128 and 256");
  for (const int s : p_.ops[at(op)].writes)
    if (!blackwell() && p_.storages[at(s)].kind == Storage::in_memory)
      refuse(kHandedProduct, "the result of the product " + harmless(value.id) +
                                 " is handed to another slot through memory: not emitted yet");
  const std::string b = memory_operand(op, value.operands[1], it, false);
  if (b.empty())
    refuse("operand", "the right operand of " + harmless(value.id) + " must lie in shared memory");
  const Operand& first = value.operands[0];
  const auto& shape = m_.values[at(first.value)].shape;
  std::int64_t k = shape[first.transposed ? 0 : 1];
  if (first.columns > 0 && !first.transposed) k = first.columns;
  const std::int64_t at_once = type == "f8" ? 32 : 16;
  if (k % at_once != 0)
    refuse("op", "the product " + harmless(value.id) + " sums over " + std::to_string(k) +
                     ": must be a multiple of " + std::to_string(at_once));
  if (type == "f8" && value.shape[1] != 64 && value.shape[1] != 128 && value.shape[1] != 256)
    refuse("op", "the product " + harmless(value.id) + " of 8-bit elements has " +
                     std::to_string(value.shape[1]) +
                     " columns: gpu/hopper/wgmma.cuh has 64, 128 and 256");
  std::string a = memory_operand(op, first, it, true), left;
  if (blackwell()) {
    tensor_product(depth, op, value, it, a, b, k);
    return;
  }
  if (a.empty()) {
    const Source source = values_.resolve(op, first);
    if (source.kind != Source::registers || source.transposed || source.columns > 0)
      refuse("operand", "the left operand of " + harmless(value.id) +
                            " must be a whole tile in registers or lie in shared memory");
    a = left = held(source.op, op, it, source.distance);
    touch(depth, left, "RAW");
  }
  const std::string& name = variable(op);
  const bool onto = value.operands.size() == 3;
  if (onto) {
    const Source source = values_.resolve(op, value.operands[2]);
    if (source.kind != Source::registers || source.transposed || source.columns > 0)
      refuse("operand", harmless(value.id) + " adds to no registers");
    const std::string sum = held(source.op, op, it, source.distance);
    if (sum != name) {
      touch(depth, sum, "RAW");
      touch(depth, name, "WAW");
      age_variables(depth, op);
      line(depth, name + " = " + sum + ";");
    } else if (history_[at(op)] > 0) {
      refuse("op", harmless(value.id) + " adds to its own registers and older ones are read");
    }
  } else {
    touch(depth, name, "WAW");
    age_variables(depth, op);
  }
  declare(name, type_of(result));
  defined_.insert(name);
  const std::set<int> reads = multiplied_by(op);
  if (std::any_of(reads.begin(), reads.end(), [&](int s) { return overlap(s, fences_.written); }))
    meet(depth, "all warpgroups of the slot have written what the product reads");
  fences_.multiplied.insert(reads.begin(), reads.end());
  line(depth,
       std::string(onto ? "start_product_onto<" : "start_product<") +
           product_element(type, blackwell()) + ", " + std::to_string(k) + ">(" + name + ", " + a +
           ", " + b + ");",
       std::to_string(value.shape[0]) + " x " + std::to_string(value.shape[1]) + " x " +
           std::to_string(k));
  flights_.push_back({op, it.offset, name, left});
}

CudaExpression CudaSlotPrinter::number(const Operand& operand) const {
  for (std::size_t k = 0; k < m_.constants.size(); ++k)
    if (!operand.constant.empty() && m_.constants[k].first == operand.constant)
      return {plan_.constant[k]};
  return {float_text(operand.number)};
}

std::string CudaSlotPrinter::read_name(int op, const std::string& place) {
  for (const char* const end : {"_read", "_read2"}) {
    std::string name = variable(op) + end;
    const auto [found, first] = read_.emplace(name, place);
    if (first || found->second == place) return name;
  }
  refuse("operand", "an op reads more than two copies of " + harmless(p_.ops[at(op)].id));
}

CudaExpression CudaSlotPrinter::operand(int depth, int op, const Operand& one, Iteration it,
                                        int user) {
  if (one.row >= 0) return row_of_tile(depth, op, one, it, user);
  Source source = values_.resolve(op, one);
  if (one.along_columns) {
    if (source.kind != Source::registers || !legal_.read_again[at(source.op)])
      refuse("operand", "a vector along the columns is used by " + harmless(p_.ops[at(op)].id));
    const std::int64_t columns = m_.values[at(plan_.links.result[at(op)])].shape[1];
    const int storage = p_.ops[at(source.op)].reads.front().storage;
    const int distance = source.distance + p_.ops[at(source.op)].reads.front().distance;
    fences_.apart = true;
    const std::string from = copy_at(storage, it + -distance);
    const std::int64_t own = columns / c_.shares(slot_, m_.values[at(plan_.links.result[at(op)])]);
    if (blackwell()) return {"along_columns<" + std::to_string(own) + ">(" + from + ", group)"};
    return {"columns_of<" + std::to_string(own) + ">(" + from + ", " +
            (own == columns ? "0" : "group * " + std::to_string(own)) + ")"};
  }
  if (source.kind != Source::number && source.kind != Source::chain &&
      (source.transposed || source.columns > 0))
    refuse("operand",
           "a part or the transpose of a tile is used by " + harmless(p_.ops[at(op)].id));
  switch (source.kind) {
    case Source::number: return number(one);
    case Source::chain: return {chain_.at(one.value), c_.by_lanes[at(one.value)]};
    case Source::registers: {
      const std::string name = held(source.op, op, it, source.distance);
      touch(depth, name, "RAW");
      return {name, c_.by_lanes[at(plan_.links.result[at(source.op)])]};
    }
    case Source::memory: {
      const int value = plan_.links.result[at(source.op)];
      const Value& what = m_.values[at(value)];
      const int from = p_.ops[at(source.op)].slot;
      if (on_tmem(source)) {
        const std::string place = copy_at(source.storage, it + -source.distance);
        const std::string name = read_name(source.op, place);
        if (what.type != "f32")
          refuse("operand", "the 16-bit tile " + harmless(what.id) +
                                " is read to registers from tensor memory: not emitted yet");
        declare(name, type_of(value));
        load_lanes(depth, name, source.storage, place + own_part(what.shape[1]));
        return {name};
      }
      if (!blackwell()) {
        const std::string place = copy_at(source.storage, it + -source.distance);
        const std::string name = read_name(source.op, place);
        declare(name, type_of(value));
        load_shared_tile(depth, name, source, place);
        return {name};
      }
      if (what.function == Function::load || what.type != "f32")
        refuse("operand", "the tile " + harmless(what.id) + " of " + harmless(what.type) +
                              " is read to registers from shared memory: not emitted yet");
      if (c_.warpgroups(from) != c_.warpgroups(slot_))
        refuse("storage", harmless(what.id) + " is handed to a slot of another number of warps");
      const std::string place = copy_at(source.storage, it + -source.distance);
      const std::string name = read_name(source.op, place);
      declare(name, type_of(value));
      fences_.apart = true;
      line(depth, std::string(what.shape.size() == 1 ? "load_rows(" : "load_fragments(") + name +
                      ", " + place + ", group);");
      return {name};
    }
    case Source::before:
      return plan_.resident.contains(source.value)
                 ? resident_tile(depth, source.value)
                 : CudaExpression{plan_.variable[at(source.value)]};
    case Source::computed: refuse("operand", "a number is used that no op runs");
  }
  refuse("operand", "an operand of " + harmless(p_.ops[at(op)].id));
}

void CudaSlotPrinter::compute(int depth, int op, Iteration it) {
  read_.clear();
  if (in_parts(op)) {
    parts(depth, {legal_op(op)}, it);
    return;
  }
  if (copies_lanes(depth, op, it) || copies_operand(depth, op, it)) return;
  const int result = plan_.links.result[at(op)];
  chain_.clear();
  CudaExpression last;
  for (const int v : plan_.links.values[at(op)]) {
    const Value& value = m_.values[at(v)];
    std::vector<CudaExpression> in;
    for (const Operand& one : value.operands) in.push_back(operand(depth, op, one, it, v));
    last = evaluate(v, in, cuda_iteration(it));
    if (v != result) {
      const std::string& name = plan_.variable[at(v)];
      declare(name, type_of(v));
      line(depth, name + " = " + last.text + ";");
      chain_[v] = name;
    }
  }
  keep(depth, op, it, last);
  arrive(depth, legal_op(op), it, "arrive");
}

void CudaSlotPrinter::load_shared_tile(int depth, const std::string& name, const Source& source,
                                       const std::string& place) {
  const Value& what = m_.values[at(plan_.links.result[at(source.op)])];
  const int from = p_.ops[at(source.op)].slot;
  const bool loaded = what.function == Function::load, half = !element_type(what.type).empty();
  if (!half && what.type != "f32")
    refuse("operand", "the tile " + harmless(what.id) + " of " + harmless(what.type) +
                          " is read to registers from shared memory: not emitted yet");
  if (half && (what.shape.size() != 2 || c_.shares(slot_, what) > 1 || what.shape[1] % 64 != 0))
    refuse("operand", "the 16-bit tile " + harmless(what.id) +
                          " is read to registers from shared memory by warpgroups that share out "
                          "its columns, or has columns that are not by 64");
  // (What another slot has stored all of it has told of; within a slot nothing was told.)
  if (half && from == slot_ && !loaded)
    refuse("operand", harmless(what.id) + " is read back from shared memory by its own slot");
  if (!half && !loaded && c_.warpgroups(from) != c_.warpgroups(slot_))
    refuse("storage", harmless(what.id) + " is handed to a slot of another number of warps");
  if (!half && what.shape.size() == 2 && (loaded || stored_in_bulk(source.storage))) {
    line(depth, "load_panels<" + std::to_string(what.shape[0]) + ">(" + name + ", " + place + ", " +
                    panel_place(what) + ");");
  } else {
    line(depth, (half                     ? "load_operand<" + std::to_string(what.shape[0]) + ">("
                 : what.shape.size() == 1 ? std::string("load_rows(")
                                          : std::string("load_fragments(")) +
                    name + ", " + place + ", group);");
  }
  fences_.apart = true;
  fences_.read.insert(source.storage);
}

std::string CudaSlotPrinter::sharing_out(int storage) const {
  const Value& what = plan_.value_of(storage);
  const int w = writer(storage);
  const bool panels =
      stored_in_bulk(storage) ||
      (w >= 0 && m_.values[at(plan_.links.result[at(w)])].function == Function::load);
  std::string text = panels && what.type == "f32" ? "panels " : "";
  for (const std::int64_t extent : what.shape) text += std::to_string(extent) + " ";
  return text + what.type;
}

void CudaSlotPrinter::end_reading(int depth, int storage) {
  const std::string own = sharing_out(storage);
  for (const int s : fences_.read)
    if (overlap(storage, {s}) && sharing_out(s) != own) {
      meet(depth, "no warp of the slot reads there any more");
      return;
    }
}

CudaExpression CudaSlotPrinter::row_of_tile(int depth, int op, const Operand& one, Iteration it,
                                            int user) {
  Operand tile;
  tile.value = one.value;
  tile.distance = one.distance;
  const Source source = values_.resolve(op, tile);
  const Value& what = m_.values[at(one.value)];
  if (source.kind != Source::registers || source.transposed || source.columns > 0 ||
      one.is_part() != (one.row >= 0) || one.columns > 0 || one.rows > 0 || one.column >= 0 ||
      one.along_columns || c_.shares(slot_, what) > 1)
    refuse("operand", harmless(m_.values[at(user)].id) +
                          " takes a row of a tile that is not a whole one in registers");
  const std::string from = held(source.op, op, it, source.distance);
  touch(depth, from, "RAW");
  const std::string& buffer = c_.row_buffer.at(user);
  const std::string place =
      "copy_of<2>(" + shared(buffer) + ", " + buffer + "Bytes, " + cuda_iteration(it) + ")";
  const std::string name = plan_.variable[at(user)] + "_read";
  declare(name, type_of(user));
  line(depth, "store_row(" + place + ", group, " + std::to_string(one.row) + ", " + from + ");");
  meet(depth, "the row is there, and nobody reads that of two iterations before");
  line(depth, "load_rows(" + name + ", " + place + ", group);");
  return {name};
}

bool CudaSlotPrinter::copies_operand(int depth, int op, Iteration it) {
  if (blackwell() || plan_.links.values[at(op)].size() != 1) return false;
  const Value& value = m_.values[at(plan_.links.result[at(op)])];
  if (value.function != Function::copy || value.operands[0].value < 0 ||
      value.operands[0].along_columns)
    return false;
  const Source source = values_.resolve(op, value.operands[0]);
  if (source.kind != Source::memory || source.transposed || source.columns > 0) return false;
  const Value& what = m_.values[at(plan_.links.result[at(source.op)])];
  if (on_tmem(source) || what.shape.empty() || what.type != value.type ||
      (what.type == "f32" && what.function != Function::load))
    return false;
  claim(depth, op);
  load_shared_tile(depth, variable(op), source, copy_at(source.storage, it + -source.distance));
  hand_over(depth, op, it, {variable(op)});
  arrive(depth, legal_op(op), it, "arrive");
  return true;
}

CudaExpression CudaSlotPrinter::resident_tile(int depth, int v) {
  const Value& value = m_.values[at(v)];
  if (blackwell() || value.type != "f32" || value.shape.size() != 2)
    refuse("operand", "a tile from before the loop is read to registers, and is " +
                          harmless(value.type) + " or on Blackwell");
  const std::string& name = plan_.variable[at(v)];
  declare(name, type_of(v));
  fences_.apart = true;
  line(depth, "load_panels<" + std::to_string(value.shape[0]) + ">(" + name + ", " +
                  shared(plan_.resident.at(v).name) + ", " + panel_place(value) + ");");
  return {name};
}

void CudaSlotPrinter::keep(int depth, int op, Iteration it, const CudaExpression& result) {
  claim(depth, op);
  line(depth, variable(op) + " = " + result.text + ";");
  hand_over(depth, op, it, result);
}

void CudaSlotPrinter::claim(int depth, int op) {
  const std::string& name = variable(op);
  if (p_.ops[at(op)].writes.empty()) refuse("op", harmless(p_.ops[at(op)].id) + " writes nothing");
  touch(depth, name, "WAR");
  if (plan_.registers_of(op) >= 0) age_variables(depth, op);
  declare(name, type_of(plan_.links.result[at(op)]));
}

void CudaSlotPrinter::hand_over(int depth, int op, Iteration it, const CudaExpression& result) {
  const int value = plan_.links.result[at(op)];
  const std::string& name = variable(op);
  for (const int s : p_.ops[at(op)].writes) {
    if (p_.storages[at(s)].kind != Storage::in_memory) continue;
    const auto& shape = m_.values[at(value)].shape;
    const bool half = m_.values[at(value)].type != "f32";
    if (plan_.on_tmem(p_.storages[at(s)])) {
      store_lanes(depth, s, copy_at(s, it) + own_part(half ? shape[1] / 2 : shape[1]), name);
      continue;
    }
    fences_.apart = true;
    if (!blackwell()) {
      end_reading(depth, s);
      if (overlap(s, fences_.multiplied)) meet(depth, "no warpgroup's product reads it any more");
      fences_.written.insert(s);
    }
    const std::string what = result.by_lanes ? "over_lanes(" + name + ")" : name;
    const std::string how = shape.size() == 1   ? "store_rows("
                            : half              ? "store_operand<" + std::to_string(shape[0]) + ">("
                            : stored_in_bulk(s) ? "store_panels("
                                                : "store_fragments(";
    if (how == "store_panels(" && (!blackwell() || shape[0] == 64))
      panels(depth, m_.values[at(value)], copy_at(s, it), what);
    else
      line(depth, how + copy_at(s, it) + ", group, " + what + ");");
    if (p_.ops[at(op)].fence || half) {
      line(depth, "fence_async_shared();", "ordinary writes, read by the asynchronous proxy");
      fences_.loaded = false;
    }
  }
}

std::string CudaSlotPrinter::panel_place(const Value& value) const {
  const int across = c_.shares(slot_, value), blocks = blocks_of(value);
  const std::string block = across > 1 || c_.warpgroups(slot_) == 1 ? "0"
                            : blocks == 1                           ? "group"
                                          : "group * " + std::to_string(blocks);
  const std::string first =
      across == 1 ? "0" : "group * " + std::to_string(value.shape[1] / across);
  return block + ", " + first;
}

void CudaSlotPrinter::panels(int depth, const Value& value, const std::string& to,
                             const std::string& what) {
  line(depth, "store_panels<" + std::to_string(value.shape[0]) + ">(" + to + ", " +
                  panel_place(value) + ", " + what + ");");
}

CudaExpression CudaSlotPrinter::evaluate(int v, const std::vector<CudaExpression>& in,
                                         const std::string& iteration) const {
  const Value& value = m_.values[at(v)];
  const bool by_lanes = c_.by_lanes[at(v)];
  // An operand; a sum by lanes as the rows', unless the result is one, too.
  // What is taken together by rows is f32.
  const auto x = [&](std::size_t k) {
    const Operand& one = value.operands[k];
    if (meaning::reduces_rows(value.function) && one.value >= 0 &&
        !element_type(m_.values[at(one.value)].type).empty())
      return "widened(" + in[k].text + ")";
    return in[k].by_lanes && !by_lanes ? "over_lanes(" + in[k].text + ")" : in[k].text;
  };
  const auto rank = [&](const Operand& one) {
    return one.value < 0  ? std::size_t{0}
           : one.row >= 0 ? std::size_t{1}
                          : m_.values[at(one.value)].shape.size();
  };
  std::size_t largest = 0;
  for (const Operand& one : value.operands) largest = std::max(largest, rank(one));
  if (!meaning::reduces_rows(value.function) && largest != value.shape.size())
    refuse("operand", harmless(value.id) + " has a shape that none of its operands has");
  std::string text;
  switch (value.function) {
    case Function::copy:
    case Function::store: text = x(0); break;
    case Function::add: text = x(0) + " + " + x(1); break;
    case Function::sub: text = x(0) + " - " + x(1); break;
    case Function::mul: text = x(0) + " * " + x(1); break;
    case Function::div: text = x(0) + " / " + x(1); break;
    case Function::mul_add: text = "multiply_add(" + x(0) + ", " + x(1) + ", " + x(2) + ")"; break;
    case Function::mul_sub:
      text = "multiply_subtract(" + x(0) + ", " + x(1) + ", " + x(2) + ")";
      break;
    case Function::max: text = "larger(" + x(0) + ", " + x(1) + ")"; break;
    case Function::exp2:
      text = "power_of_2(" + x(0) + (in.size() == 2 ? " * " + x(1) : "") + ")";
      break;
    case Function::log2: text = "binary_logarithm(" + x(0) + ")"; break;
    case Function::reciprocal: text = "reciprocal(" + x(0) + ")"; break;
    case Function::min: text = "smaller(" + x(0) + ", " + x(1) + ")"; break;
    case Function::abs:
    case Function::sqrt:
    case Function::rsqrt:
    case Function::log:
    case Function::sin:
    case Function::cos:
    case Function::erf:
    case Function::floor:
    case Function::ceil:
    case Function::toward_zero:
      text = std::string(cuda_function(value.function)) + "(" + x(0) + ")";
      break;
    case Function::select: text = "where_positive(" + x(0) + ", " + x(1) + ", " + x(2) + ")"; break;
    case Function::row_max: text = "max_of_rows(" + x(0) + ")"; break;
    case Function::row_min: text = "min_of_rows(" + x(0) + ")"; break;
    case Function::row_sum:
      text = blackwell() ? "sum_of_rows(" + x(0) + ")"
             : by_lanes  ? "lane_sum(" + x(0) + ")"
                         : "over_lanes(lane_sum(" + x(0) + "))";
      break;
    case Function::lower: text = "masked(" + x(0) + ", group, 0, 0, 1, 0.f)"; break;
    case Function::causal: {
      const Operand &first = value.operands[1], &share = value.operands[2];
      const auto whole = [](const Operand& one) {
        return one.value < 0 && std::abs(one.number) < 1e9 &&
               one.number == static_cast<double>(static_cast<int>(one.number));
      };
      if (iteration.empty() || !whole(first) || !whole(share) || share.number < 1)
        refuse("op", harmless(value.id) + " is a causal mask of numbers that are not whole");
      text = "masked(" + x(0) + ", group, (" + iteration + ") * " + std::to_string(value.shape[1]) +
             ", " + std::to_string(static_cast<int>(first.number)) + ", " +
             std::to_string(static_cast<int>(share.number)) + ", -INFINITY)";
      break;
    }
    default:
      refuse("op", harmless(value.id) + " is a " + std::string(name_of(value.function)) +
                       " in registers");
  }
  // Arithmetic is done in f32.
  const bool reduces = value.function == Function::lower || value.function == Function::causal;
  for (const Operand& one : value.operands)
    if (one.value >= 0 && m_.values[at(one.value)].type != "f32" &&
        (reduces || rank(one) != 2 || value.function == Function::copy) &&
        m_.values[at(one.value)].type != value.type)
      refuse("type", harmless(value.id) + " of elements of type " +
                         harmless(m_.values[at(one.value)].type));
  if (value.type == "f32" || value.shape.empty()) {
    if (value.type != "f32") refuse("type", "the number " + harmless(value.id) + " must be f32");
    // A vector or a number where the result is a larger one.
    return {text, by_lanes};
  }
  const bool as_it_is = (value.function == Function::copy || value.function == Function::store) &&
                        value.operands[0].value >= 0 &&
                        m_.values[at(value.operands[0].value)].type == value.type;
  if (!as_it_is) text = "rounded<" + element_type(value.type) + ">(" + text + ")";
  return {text, by_lanes};
}

}  // namespace twill::emit
