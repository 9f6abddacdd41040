// Nodes of a loop's graph: one an op of the body, two where an op works on both sides of shared
// memory (see builder.hpp).
#include <algorithm>

#include "graph/error.hpp"
#include "graph/ttgir/builder.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/index_ops.hpp"
#include "graph/ttgir/stored_factors.hpp"
#include "graph/ttgir/type.hpp"

namespace twill::ttgir {
namespace {

constexpr std::string_view kShared = "SMEM";
constexpr std::int64_t kTensorRows = 128;

std::vector<std::int64_t> flattened(const std::vector<std::int64_t>& shape) {
  if (shape.empty()) return {1, 1};
  std::int64_t rows = 1;
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) rows *= shape[d];
  return {rows, shape.back()};
}

/// What the rates of products go by: 32-bit floats are multiplied as tf32.
std::string product_type(const Type& type) {
  return type.element == "f32" ? "tf32" : type.element;
}

}  // namespace

int Builder::width_of(int copies) const {
  return std::max(std::min(out_.warps, 4), out_.warps / copies);
}

int Builder::copies_of(const Operation& op) const {
  if (split_.factor == 1) return 1;
  for (const auto* list : {&op.results, &op.operands})
    for (std::size_t k = 0; k < list->size(); ++k) {
      const int value = (*list)[k];
      if (split_.of(value) < 0) continue;
      // A product with a shared result does not read split operands; a view or store does.
      return split_.factor;
    }
  return 1;
}

bool Builder::has_unit(std::string_view name) const {
  return std::any_of(machine_.units.begin(), machine_.units.end(),
                     [&](const Unit& unit) { return unit.name == name; });
}

bool Builder::has_memory(std::string_view name) const {
  return std::any_of(machine_.memories.begin(), machine_.memories.end(),
                     [&](const MachineMemory& memory) { return memory.name == name; });
}

void Builder::warn(const std::string& text) {
  auto& list = out_.warnings;
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

std::string Builder::name_of(const Operation& op, int copy, const std::string& part) {
  std::string name;
  if (!op.results.empty() && !m_.value(op.results[0]).name.empty()) {
    const Value& value = m_.value(op.results[0]);
    name = std::string(value.name);
    if (name[0] >= '0' && name[0] <= '9') {
      const std::size_t dot = op.name.find('.');
      name = std::string(op.name.substr(dot + 1)) + "_" + name;
    }
  } else {
    name = std::string(op.name.substr(op.name.find('.') + 1));
  }
  if (split_.factor > 1 && copies_of(op) > 1) name = "s" + std::to_string(copy) + "_" + name;
  if (!part.empty()) name += "." + part;
  if (names_.try_emplace(name, 2).second) return name;
  for (;;) {  // numbers go on where they were, else many ops of one name take quadratic time
    std::string unique = name + "." + std::to_string(names_[name]++);
    if (names_.try_emplace(unique, 2).second) return unique;
  }
}

std::size_t Builder::add_node(int index, int copy, const std::string& part,
                              const std::vector<std::string>& kinds) {
  const Operation& op = m_.op(index);
  if (out_.kernel.ops.size() >= static_cast<std::size_t>(kMaxOps))
    throw InputError(m_.source, Module::place(op), "more than " + std::to_string(kMaxOps) + " ops",
                     "the loop is too large");
  KernelOp node;
  node.id = name_of(op, copy, part);
  node.kind = kinds.empty() ? "" : kinds.front();
  for (const std::string& kind : kinds)
    if (machine_.rules.count(kind) != 0) {
      node.kind = kind;
      break;
    }
  NodeInfo info;
  info.op = index;
  info.copy = copy;
  info.part = part;
  info.rule = node.kind;
  info.inner = sources_.in_inner(index);
  if (!kinds.empty() && node.kind != kinds.front())
    info.note = "no rule " + kinds.front() + ": priced as " + node.kind;
  out_.kernel.ops.push_back(std::move(node));
  out_.nodes.push_back(std::move(info));
  return out_.kernel.ops.size() - 1;
}

void Builder::results_at(int index, int copy, std::size_t node) {
  for (const int value : m_.op(index).results) {
    if (split_.of(value) < 0 && copy > 0) continue;
    sources_.set(value, copy, node);
  }
  first_.emplace(std::pair(index, copy), node);
  last_[{index, copy}] = node;
}

void Builder::set_tile(std::size_t node, const std::vector<std::int64_t>& shape, const Type& type) {
  Tile tile;
  tile.shape = shape;
  tile.type = element_bits(type.element) != 0 ? type.element : type.is_pointer() ? "i64" : "i32";
  tile.operand_type = tile.type;
  at(node).tile = tile;
}

void Builder::set_registers(std::size_t node, int value) {
  const Type& t = type(value);
  const auto [known, fresh] = registers_.emplace(&t, 0);
  if (fresh) known->second = registers_per_thread(t, out_.warps, m_);
  std::int64_t held = known->second;
  if (split_.of(value) >= 0) {
    const std::int64_t whole = held * out_.warps;
    const std::int64_t threads = std::int64_t{split_.factor} * width_of(split_.factor);
    held = (whole + threads - 1) / threads;
  }
  at(node).registers = std::min(at(node).registers.value_or(0) + held, kMaxAmount);
  at(node).result = "registers";
}

void Builder::add_traffic(std::size_t node, std::int64_t bytes) {
  if (bytes > 0 && has_unit(kShared)) at(node).traffic.emplace_back(kShared, bytes);
}

void Builder::add_nodes(int block) {
  for (const int index : m_.block(block).ops) add_op(index);
  apply_profile();
}

bool Builder::alias_of_load(const Operation& op) const {
  if (op.operands.empty()) return false;
  const int made = m_.value(op.operands[0]).op;
  return made != kNone && class_of(m_.op(made)) == OpClass::load && sources_.inside(made) &&
         !replicated_[static_cast<std::size_t>(made)];
}

/// Views by name, and layout changes that move nothing.
bool Builder::is_view(const Operation& op) const {
  return class_of(op) == OpClass::view || is_left_fragment(m_, op);
}

bool Builder::is_fresh_writer(int index) const {
  for (const Buffer& buffer : buffers_)
    if (buffer.fresh && buffer.accesses.front().op == index) return true;
  return false;
}

void Builder::add_op(int index) {
  const Operation& op = m_.op(index);
  const OpClass c = class_of(op);
  if (replicated_[static_cast<std::size_t>(index)]) {
    out_.replicated.push_back(index);
    return;
  }
  if (numbers_.contains(index)) return add_number(index);
  if (c == OpClass::unknown)
    warn("unknown op " + std::string(op.name) + " (" + Module::place(op) +
         "): read, priced as an elementwise op");
  const int copies = copies_of(op);
  for (int copy = 0; copy < copies; ++copy) {
    switch (c) {
      case OpClass::terminator:
      case OpClass::synchronise:
      case OpClass::transparent:
      case OpClass::replicated: return;
      case OpClass::load:
      case OpClass::copy: add_load(index, copy); break;
      case OpClass::store: add_store(index, copy); break;
      case OpClass::mma: add_product(index, copy); break;
      case OpClass::local_alloc:
      case OpClass::tmem_alloc: add_alloc(index, copy); break;
      case OpClass::control: add_control(index, copy); break;
      default: add_compute(index, copy); break;
    }
  }
}

/// What a tile's way from shared memory to registers is priced as. A vector of which threads hold
/// copies is read by every warp, with its copies; one that is shared out is read as any tile.
std::vector<std::string> Builder::kinds_of_read(const Type& tile) const {
  if (tile.shape.size() != 1 || is_shared_out(tile)) return {"local_load", "local_alloc"};
  return {"local_load", "lds_broadcast", "local_alloc"};
}

/// Does each element of a tile lie in one thread?
bool Builder::is_shared_out(const Type& tile) const {
  const auto held = elements_per_thread(tile, m_);
  return held && *held * 32 * out_.warps <= tile.elements();
}

/// How many threads hold each element of a tile: a factor of a product is with all warps that have
/// a part of its rows (or columns) in their results.
std::int64_t Builder::copies_held(const Type& tile) const {
  const auto held = elements_per_thread(tile, m_);
  return held ? std::max<std::int64_t>(1, *held * 32 * out_.warps / tile.elements()) : 1;
}

/// A tile from global memory arrives in shared memory; ops that want it in registers read it there.
void Builder::add_load(int index, int copy) {
  const Operation& op = m_.op(index);
  const bool copies = class_of(op) == OpClass::copy;
  int tile = copies ? kNone : op.results.empty() ? kNone : op.results[0];
  if (copies)
    for (const int value : op.operands)
      if (tile == kNone && is_tile(value, TypeKind::memdesc)) tile = value;
  if (tile == kNone) return;
  if (!is_tile(tile, TypeKind::tensor) && !is_tile(tile, TypeKind::memdesc))
    throw InputError(m_.source, Module::place(op), std::string(op.name),
                     "a load needs the type of its tile");
  const std::size_t node = add_node(index, copy, "", kinds_of(m_, op, false));
  const std::vector<std::int64_t> shape = flattened(split_.shape(m_, tile));
  set_tile(node, shape, type(tile));
  at(node).result = "none";
  if (copies ? is_fresh_writer(index) : !fills_resident(tile))
    at(node).result = has_memory("smem") ? "smem" : "none";
  add_traffic(node, buffer_bytes(type(tile)) / (split_.of(tile) >= 0 ? split_.factor : 1));
  results_at(index, copy, node);
  if (copies) return;
  bool read = false;
  for (const int user : users(tile)) {
    const OpClass c = class_of(m_.op(user));
    const bool into_buffer =
        c == OpClass::local_alloc || (c == OpClass::local_store && alias_of_load(m_.op(user)));
    read = read || (!into_buffer && (c != OpClass::layout || is_view(m_.op(user))));
  }
  if (!read) return;
  const std::size_t half = add_node(index, copy, "read", kinds_of_read(type(tile)));
  set_tile(half, shape, type(tile));
  at(half).width = width_of(copies_of(op));
  set_registers(half, tile);
  add_edge(node, half, 0);
  results_at(index, copy, half);
}

/// A tile to global memory leaves through shared memory, where the computing warps put it.
void Builder::add_store(int index, int copy) {
  const Operation& op = m_.op(index);
  int tile = kNone;
  for (std::size_t k = 0; k < op.operands.size(); ++k) {
    const Type* t = m_.type_of(op.operands[k]);
    if (t == nullptr || is_address_operand(m_, op, k)) continue;
    if (t->kind == TypeKind::tensor || t->kind == TypeKind::memdesc) tile = op.operands[k];
  }
  if (tile == kNone) {  // scalars: nothing that a schedule must see
    warn("a store of a scalar (" + Module::place(op) + ") is left out of the problem");
    return;
  }
  const std::vector<std::int64_t> shape = flattened(split_.shape(m_, tile));
  const std::int64_t bytes = buffer_bytes(type(tile)) / (split_.of(tile) >= 0 ? split_.factor : 1);
  std::size_t stage = 0;
  const bool registers = type(tile).kind == TypeKind::tensor;
  if (registers) {
    stage = add_node(index, copy, "stage", {"local_alloc"});
    set_tile(stage, shape, type(tile));
    at(stage).width = width_of(copies_of(op));
    at(stage).result = has_memory("smem") ? "smem" : "none";
    results_at(index, copy, stage);
  }
  const std::size_t node = add_node(index, copy, "", kinds_of(m_, op, false));
  set_tile(node, shape, type(tile));
  at(node).result = "none";
  add_traffic(node, bytes);
  if (registers) add_edge(stage, node, 0);
  results_at(index, copy, node);
}

void Builder::add_product(int index, int copy) {
  const Operation& op = m_.op(index);
  const auto product = product_of(m_, op);
  std::vector<int> tiles;
  for (const int value : op.operands)
    if (is_tile(value, TypeKind::tensor) || is_tile(value, TypeKind::memdesc))
      tiles.push_back(value);
  if (!product || tiles.size() < 3)
    throw InputError(m_.source, Module::place(op), std::string(op.name),
                     "a product needs the types of its operands");
  const std::size_t node = add_node(index, copy, "", kinds_of(m_, op, false));
  const std::vector<std::int64_t> a = split_.shape(m_, tiles[0]), b = split_.shape(m_, tiles[1]);
  // The accumulator has all columns of the product; a right operand that two SMs share, or whose
  // columns are packed, has fewer.
  const std::vector<std::int64_t> sum = split_.shape(m_, tiles[2]);
  const std::int64_t columns = sum.empty() ? b.back() : std::max(b.back(), sum.back());
  set_tile(node, {a[a.size() - 2], columns, product->k}, type(tiles[2]));
  at(node).tile->operand_type = product_type(type(tiles[0]));
  for (int k = 0; k < 2; ++k) {
    const int operand = tiles[static_cast<std::size_t>(k)];
    if (!is_tile(operand, TypeKind::memdesc) || type(operand).tensor_memory) continue;
    add_traffic(node, buffer_bytes(type(operand)) / (split_.of(operand) >= 0 ? split_.factor : 1));
  }
  if (is_tensor_memory_mma(op)) {
    // 64 rows use half of the Tensor Core's lanes and take as long as 128 (PTX ISA, tcgen05.mma).
    if (at(node).tile->shape[0] < kTensorRows) {
      out_.nodes[node].note =
          std::to_string(at(node).tile->shape[0]) + " rows take the time of 128";
      at(node).tile->shape[0] = kTensorRows;
    }
    at(node).result = is_fresh_writer(index) && has_memory("tmem") ? "tmem" : "none";
  } else {
    at(node).width = width_of(copies_of(op));
    for (const int value : op.results)
      if (is_tile(value, TypeKind::tensor)) set_registers(node, value);
  }
  results_at(index, copy, node);
}

void Builder::add_alloc(int index, int copy) {
  const Operation& op = m_.op(index);
  int value = kNone;
  for (const int operand : op.operands)
    if (is_tile(operand, TypeKind::tensor)) value = operand;
  if (value == kNone) return;  // a name for a buffer: its writers are the nodes
  if (op.results.empty() || !is_tile(op.results[0], TypeKind::memdesc))
    throw InputError(m_.source, Module::place(op), std::string(op.name),
                     "an allocation needs the type of its buffer");
  const int buffer = op.results[0];
  const bool tensor = class_of(op) == OpClass::tmem_alloc;
  const std::size_t node = add_node(
      index, copy, "",
      alias_of_load(op) ? std::vector<std::string>{"alloc", "reshape"} : kinds_of(m_, op, false));
  set_tile(node, flattened(split_.shape(m_, buffer)), type(buffer));
  const std::string memory = tensor ? "tmem" : "smem";
  if (!tensor && alias_of_load(op)) {
    const int load = m_.value(value).op;
    at(node).alias_of = first_.at({load, std::min(copy, copies_of(m_.op(load)) - 1)});
    at(node).width = 1;
    at(node).result = "none";
    out_.nodes[node].note = "names the buffer that the load fills";
  } else {
    at(node).width = width_of(copies_of(op));
    at(node).result = has_memory(memory) ? memory : "none";
  }
  results_at(index, copy, node);
}

/// Does a loaded tile go into a buffer from before the loop that is there all the time?
bool Builder::fills_resident(int tile) const {
  const auto stores = [&](int user) {
    return class_of(m_.op(user)) == OpClass::local_store && alias_of_load(m_.op(user));
  };
  const std::span<const int> all = users(tile);
  return std::any_of(all.begin(), all.end(), stores) &&
         std::all_of(all.begin(), all.end(),
                     [&](int user) { return stores(user) && !is_fresh_writer(user); });
}

/// A loaded tile that is stored into a buffer: one transfer, by the load, which the buffer waits
/// for. It is what the allocation of a buffer for it is, wherever the buffer is named.
void Builder::add_direct_store(int index, int copy) {
  const Operation& op = m_.op(index);
  const int load = m_.value(op.operands[0]).op;
  const std::size_t source = first_.at({load, std::min(copy, copies_of(m_.op(load)) - 1)});
  const std::size_t node = add_node(index, copy, "", {"alloc", "reshape"});
  set_tile(node, flattened(split_.shape(m_, op.operands[0])), type(op.operands[0]));
  at(node).alias_of = source;
  at(node).width = 1;
  at(node).result = "none";
  out_.nodes[node].note = "names the buffer that the load fills";
  results_at(index, copy, node);
  const int buffer = op.operands[1];
  if (!is_fresh_writer(index))  // who had the buffer before is waited for by the load
    first_[{index, copy}] = source;
  else if (sources_.root(buffer) == buffer)
    sources_.set(buffer, copy, node);
}

/// Does it show two tiles that are joined, in whatever form?
bool Builder::shows_joined(const Operation& op) const {
  constexpr int kMostViewsOfJoin = 100;
  const Operation* one = &op;
  for (int depth = 0; depth < kMostViewsOfJoin && one != nullptr; ++depth) {
    if (one->name == "tt.join") return true;
    if (class_of(*one) != OpClass::view || one->operands.empty()) return false;
    const int made = m_.value(one->operands[0]).op;
    one = made == kNone || m_.op(made).block != op.block ? nullptr : &m_.op(made);
  }
  return false;
}

void Builder::add_compute(int index, int copy) {
  const Operation& op = m_.op(index);
  const OpClass c = class_of(op);
  if (c == OpClass::local_store && alias_of_load(op)) return add_direct_store(index, copy);
  const bool reduction = c == OpClass::reduction;
  const bool view = is_view(op);
  const bool from_load = c == OpClass::layout && !view && alias_of_load(op);
  // The tile that is worked on: a reduction's operand, else the result, else what is stored.
  int tile = kNone;
  if (reduction) {
    if (op.operands.empty() || !is_tile(op.operands[0], TypeKind::tensor))
      throw InputError(m_.source, Module::place(op), std::string(op.name),
                       "a reduction needs the type of its tile");
    tile = op.operands[0];
  }
  for (const int value : op.results)
    if (tile == kNone && (is_tile(value, TypeKind::tensor) || is_tile(value, TypeKind::memdesc)))
      tile = value;
  for (const int value : op.operands)
    if (tile == kNone && is_tile(value, TypeKind::tensor)) tile = value;
  if (tile == kNone) return;             // an op without tiles, as a print
  if (view && shows_joined(op)) return;  // (who uses it reads both)
  if (view && (op.operands.empty() || op.results.empty()))
    throw InputError(m_.source, Module::place(op), std::string(op.name),
                     "a view needs an operand and a result");
  bool outer = false;
  if (reduction && op.name != "tt.histogram")
    outer = axis_of(m_, op) + 1 < static_cast<int>(type(tile).shape.size());
  std::vector<std::string> kinds = kinds_of(m_, op, outer);
  if (from_load || c == OpClass::local_load) kinds = kinds_of_read(type(tile));
  if (view) kinds = {"reshape"};
  const std::size_t node = add_node(index, copy, "", kinds);
  std::vector<std::int64_t> shape = flattened(split_.shape(m_, tile));
  if (outer) std::swap(shape[0], shape[1]);
  // A vector is computed by every thread that holds a copy of an element; to and from shared memory
  // it goes as any tile.
  if (type(tile).shape.size() == 1 && !reduction && !from_load && c != OpClass::local_load &&
      c != OpClass::local_store) {
    const auto [known, fresh] = elements_.try_emplace(&type(tile));
    if (fresh) known->second = elements_per_thread(type(tile), m_);
    const std::optional<std::int64_t> held = known->second;
    const std::int64_t threads = std::int64_t{32} * out_.warps;
    if (held && *held * threads > shape[0] * shape[1])
      shape = {1, *held * threads / (split_.of(tile) >= 0 ? split_.factor : 1)};
  }
  if (c == OpClass::layout && !from_load && at(node).kind == "local_alloc") {
    if (type(tile).shape.size() == 1) {  // written once, and read as a vector of a load is
      shape = flattened(split_.shape(m_, tile));
      shape[0] *= is_shared_out(type(tile)) ? 1 : out_.warps;
      shape[0] += 1;
    } else {
      shape[0] *= 1 + copies_held(type(tile));
    }
    out_.nodes[node].note += ", written and read";
  }
  if ((from_load || c == OpClass::local_load) && type(tile).shape.size() == 2)
    shape[0] *= copies_held(type(tile));
  set_tile(node, shape, type(tile));
  if (reduction) at(node).tile->shape = shape;
  at(node).width = width_of(copies_of(op));
  at(node).result = "none";
  if (view) {
    // Its operand's node is its root; a view of something from outside the loop holds nothing.
    const auto roots = sources_.of(op.operands[0], copy);
    if (is_tile(op.results[0], TypeKind::memdesc)) at(node).width = 1;
    if (roots.size() == 1) at(node).alias_of = roots[0].node;
    results_at(index, copy, node);
    return;
  }
  for (const int value : op.results) {
    if (is_tile(value, TypeKind::tensor)) set_registers(node, value);
    // A number: each thread of the slot has it.
    if (reduction && is_tile(value, TypeKind::scalar)) {
      at(node).registers = at(node).registers.value_or(0) + 1;
      at(node).result = "registers";
    }
  }
  if (c == OpClass::tmem_store && is_fresh_writer(index) && has_memory("tmem"))
    at(node).result = "tmem";
  if (c == OpClass::local_store && is_fresh_writer(index) && has_memory("smem"))
    at(node).result = "smem";
  if (reduction && op.operands.size() > 1)
    at(node).tile->shape[0] *= static_cast<std::int64_t>(op.operands.size());
  results_at(index, copy, node);
}

/// Views of tiles that the loop carries, whose maker comes later in the text. (Buffers that it
/// carries: add_buffer_edges().)
void Builder::views_of_later() {
  for (std::size_t v = 0; v < out_.nodes.size(); ++v) {
    const Operation& op = m_.op(out_.nodes[v].op);
    if (!is_view(op) || op.operands.empty() || !is_tile(op.operands[0], TypeKind::tensor)) continue;
    const auto sources = sources_.of(op.operands[0], out_.nodes[v].copy);
    at(v).alias_of.reset();
    if (sources.size() != 1) continue;
    // (Views alone may be carried round and round: then nobody holds what they show.)
    std::size_t root = sources[0].node;
    while (root != v && at(root).alias_of) root = *at(root).alias_of;
    if (root != v) at(v).alias_of = sources[0].node;
  }
}

/// A number that the loop keeps: every thread of its slot computes it.
void Builder::add_number(int index) {
  const Operation& op = m_.op(index);
  const bool chooses = op.name == "scf.if";
  const std::size_t node =
      add_node(index, 0, "",
               chooses ? std::vector<std::string>{"elementwise", "add"} : kinds_of(m_, op, false));
  set_tile(node, {1, std::int64_t{32} * out_.warps}, type(op.results[0]));
  at(node).width = width_of(1);
  at(node).registers = 1;
  at(node).result = "registers";
  results_at(index, 0, node);
}

void Builder::add_control(int index, int copy) {
  const Operation& op = m_.op(index);
  const auto [known, fresh] = reduced_.try_emplace(index);
  if (fresh) {  // sub-tiles are alike
    const GivenCost reduced =
        op.name == "scf.if" ? reduce_branches(index, copy) : reduce_loop(index);
    reduced_[index] = reduced;
  }
  const GivenCost cost = reduced_[index];
  const std::size_t node = add_node(index, copy, "", {});
  at(node).kind = std::string(op.name);
  at(node).cost = cost;
  at(node).width = width_of(copies_of(op));
  at(node).result = "none";
  for (const int value : op.results)
    if (is_tile(value, TypeKind::tensor)) set_registers(node, value);
  if (!at(node).registers) at(node).registers = 0;
  out_.nodes[node].note =
      op.name == "scf.if" ? "the worst of its branches, on each unit"
                          : "an inner loop, as often as its trips at its bound: not its schedule";
  if (op.name == "scf.if")
    warn("the scf.if at " + Module::place(op) +
         " takes as long as the worst of its branches: " + std::to_string(cost.cycles) + " cycles");
  results_at(index, copy, node);
}

/// Measured cycles by node, then by op, then by kind of rule.
void Builder::apply_profile() {
  if (options_.profile.empty()) return;
  for (std::size_t v = 0; v < out_.kernel.ops.size(); ++v) {
    KernelOp& op = at(v);
    if (op.alias_of) continue;
    const std::string name(m_.op(out_.nodes[v].op).name);
    auto found = options_.profile.find(op.id);
    if (found == options_.profile.end()) found = options_.profile.find(name);
    if (found == options_.profile.end()) found = options_.profile.find(op.kind);
    if (found == options_.profile.end()) continue;
    const auto rule = machine_.rules.find(op.kind);
    GivenCost cost;
    cost.cycles = found->second.cycles;
    cost.occupancy = found->second.occupancy;
    cost.latency = found->second.latency;
    if (rule != machine_.rules.end()) {
      cost.unit = rule->second.unit;
      cost.variable_latency = rule->second.variable_latency;
      if (!op.width) op.width = rule->second.width;
      if (!op.result) op.result = rule->second.result;
    }
    if (cost.unit.empty()) cost.occupancy = 0;
    op.cost = cost;
    out_.nodes[v].note = "measured: profile entry " + found->first;
  }
}

}  // namespace twill::ttgir
