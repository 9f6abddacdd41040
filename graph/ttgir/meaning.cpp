// What the nodes of a loop compute (meaning_builder.hpp).
#include "graph/ttgir/meaning.hpp"

#include <algorithm>

#include "graph/index.hpp"
#include "graph/meaning/bounds.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/loops.hpp"
#include "graph/ttgir/meaning_builder.hpp"
#include "graph/ttgir/sequence.hpp"
#include "graph/ttgir/type.hpp"

namespace twill::ttgir {

using meaning::Function;
using meaning::Operand;

MeaningBuilder::MeaningBuilder(const Module& module, const Machine& machine,
                               const LoopOptions& options, const LoopKernel& loop,
                               std::map<int, int> through)
    : m_(module),
      machine_(machine),
      options_(options),
      k_(loop),
      loop_(k_.loop),
      split_(options.subtile > 1 ? split_loop(m_, loop_, options.subtile) : Split{}),
      indices_(m_, loop_, !through.empty()),
      through_(std::move(through)),
      sequence_(options.sequence ? loop_sequence(m_, loop_) : std::vector<int>{}) {
  body_ = m_.regions[at(m_.op(loop_).regions[0])].blocks[0];
  for (const int op : m_.block(body_).ops) order_.emplace(op, static_cast<int>(order_.size()));
  for (int op = 0; op < static_cast<int>(m_.ops.size()); ++op)
    for (int around = op; around != kNone; around = m_.parent(around))
      if (around == loop_ && op != loop_) {
        under_.insert(op);
        break;
      }
  for (std::size_t v = 0; v < k_.nodes.size(); ++v)
    node_.emplace(std::tuple(k_.nodes[v].op, k_.nodes[v].copy, k_.nodes[v].part),
                  static_cast<int>(v));
  for (const KernelOp& op : k_.kernel.ops) names_.insert(op.id);
}

void MeaningBuilder::refuse(int op, const std::string& why) const {
  const Operation& o = m_.op(op);
  throw NoMeaning{op, std::string(o.name) + " of line " + std::to_string(o.line) + ": " + why};
}

const Type& MeaningBuilder::type(int value) const {
  return *m_.type_of(value);
}

std::string MeaningBuilder::type_name(int op, int value) const {
  const Type* t = m_.type_of(value);
  if (t == nullptr) refuse(op, "the type of a tile is not known");
  std::string number = t->number();
  if (number.empty())
    refuse(op, "no arithmetic is known of type " + std::string(t->text.substr(0, 80)));
  return number;
}

std::string MeaningBuilder::unique(const std::string& wish) {
  std::string name = wish.empty() || wish == "inf" || wish == "-inf" ? "value" : wish;
  for (int k = 2; !names_.insert(name).second; ++k) name = wish + "." + std::to_string(k);
  return name;
}

int MeaningBuilder::copies_of(int op) const {
  int copies = 0;
  while (node_.contains({op, copies, ""})) ++copies;
  return copies;
}

int MeaningBuilder::node(int op, int copy) const {
  const int copies = copies_of(op);
  if (copies == 0) return kNone;
  const int which = std::min(copy, copies - 1);
  const auto read = node_.find({op, which, "read"});
  return read != node_.end() ? read->second : node_.at({op, which, ""});
}

std::vector<std::int64_t> MeaningBuilder::shape(int op, int value, int dimension) const {
  const Type* t = m_.type_of(value);
  if (t == nullptr) refuse(op, "the type of a tile is not known");
  std::vector<std::int64_t> all;
  for (std::size_t d = 0; d < t->shape.size(); ++d) {
    std::int64_t extent = t->shape[d];
    if (dimension == static_cast<int>(d)) {
      if (extent % split_.factor != 0) refuse(op, "an extent cannot be cut into sub-tiles");
      extent /= split_.factor;
    }
    if (extent != 1) all.push_back(extent);
  }
  if (all.size() > 2) {
    // What only moves it sees a matrix: the last dimension, and all others as one.
    const Operation& o = m_.op(op);
    const bool moves = o.name == "tt.descriptor_load" || o.name == "tt.descriptor_store" ||
                       o.name == "ttg.convert_layout" || o.name == "tt.reshape" ||
                       o.name == "ttg.local_alloc" || o.name == "ttg.memdesc_reshape" ||
                       o.name == "tt.reduce" || class_of(o) == OpClass::elementwise;
    if (!moves || dimension >= 0) refuse(op, "a tile of more than two dimensions");
    while (all.size() > 2) {
      all[1] *= all[0];
      all.erase(all.begin());
    }
  }
  return all;
}

/// Is a reshape one that changes no place of the matrix that shape() sees?
bool MeaningBuilder::keeps_matrix(const Operation& op) const {
  const int index = static_cast<int>(&op - m_.ops.data());
  if ((op.name != "tt.reshape" && op.name != "ttg.memdesc_reshape") || op.operands.size() != 1 ||
      op.results.size() != 1)
    return false;
  const std::string_view text = std::string_view(*m_.text).substr(op.begin, op.end - op.begin);
  if (text.find("allow_reorder") != std::string_view::npos || split_.factor != 1) return false;
  const std::vector<std::int64_t> from = shape(index, op.operands[0], -1);
  return from.size() == 2 && from == shape(index, op.results[0], -1);
}

bool MeaningBuilder::in_loop(int op) const {
  return op != kNone && under_.contains(op);
}

/// Tiles as read_meaning() expects them: of a product M, N, K, of a reduction what it reduces.
void MeaningBuilder::finish_tile(const meaning::Meaning& meaning, meaning::Value& value) const {
  value.tile = value.shape;
  if (value.operands.empty() || value.operands[0].value < 0) return;
  const Operand& one = value.operands[0];
  std::vector<std::int64_t> seen = meaning.values[at(one.value)].shape;
  const bool product = value.function == Function::product;
  if (((one.columns > 0 || one.transposed || product) && seen.size() < 2) ||
      (product && value.shape.size() < 2))
    refuse(loop_, "the shapes of " + value.id + " and of its operands do not agree");
  if (one.columns > 0) seen[1] = one.columns;
  if (one.transposed) std::swap(seen[0], seen[1]);
  if (product) value.tile = {value.shape[0], value.shape[1], seen[1]};
  if (meaning::reduces_rows(value.function) || meaning::finds_place(value.function))
    value.tile = seen;
}

/// As read_meaning() asks for them.
void MeaningBuilder::check_shapes(const meaning::Meaning& meaning,
                                  const meaning::Value& value) const {
  std::vector<std::vector<std::int64_t>> in;
  for (const Operand& one : value.operands) {
    in.emplace_back();
    if (one.value >= 0) in.back() = meaning.values[at(one.value)].shape;
    if (in.back().size() == 2 && one.transposed) std::swap(in.back()[0], in.back()[1]);
    if (one.column >= 0) in.back().pop_back();
    if (one.row >= 0) in.back().erase(in.back().begin());
  }
  const auto is = [&](std::size_t k, const std::vector<std::int64_t>& shape) {
    return in[k] == shape;
  };
  bool right = true;
  if (value.function == Function::product) {
    right = in[0].size() == 2 && in[1].size() == 2 && in[0][1] == in[1][0] &&
            value.shape == std::vector{in[0][0], in[1][1]} && (in.size() < 3 || is(2, value.shape));
  } else if (meaning::reduces_rows(value.function)) {
    right = (in[0].size() == 2 && value.shape == std::vector{in[0][0]}) ||
            (in[0].size() == 1 && value.shape.empty());
  } else if (value.function == Function::scaled) {
    right = in[0] == value.shape && in[1].size() == 2 && in[1][0] == in[0][0] &&
            in[1][1] * kScaledTogether == in[0][1];
  } else if (value.function == Function::rearranged) {
    const meaning::Rearrangement how = meaning::rearrangement_of(value);
    std::int64_t all = 0;
    for (std::size_t k = 0; k < how.tiles; ++k) {
      right = right && meaning::elements(in[k]) == meaning::elements(in[0]) &&
              meaning.values[at(value.operands[k].value)].type == value.type;
      all += meaning::elements(in[k]);
    }
    right = right && how.elements() == meaning::elements(value.shape) && how.last() < all;
  } else if (meaning::finds_place(value.function)) {
    right = value.shape == std::vector<std::int64_t>{in[0].size() == 2 ? in[0][0] : 1, 2};
  } else if (value.function != Function::load && value.function != Function::places &&
             value.function != Function::histogram) {
    bool whole = value.shape.empty() || value.function == Function::within;
    bool rows = false, columns = false;  // a vector of each makes a matrix
    for (std::size_t k = 0; k < in.size(); ++k) {
      const bool along = value.operands[k].along_columns;
      whole = whole || is(k, value.shape);
      const bool row =
          in[k].size() == 1 && value.shape.size() == 2 && in[k][0] == value.shape[along ? 1 : 0];
      right = right && (in[k].empty() || is(k, value.shape) || row);
      (along ? columns : rows) |= row;
    }
    whole = whole || (rows && columns && meaning::is_elementwise(value.function));
    right = right && whole;
  }
  if (!right) refuse(loop_, "the shapes of " + value.id + " and of its operands do not agree");
}

// ---- nodes

void MeaningBuilder::loop_node(std::size_t v) {
  const NodeInfo& info = k_.nodes[v];
  if (info.part == "release") return;
  const Operation& op = m_.op(info.op);
  const OpClass c = class_of(op);
  if (k_.kernel.ops[v].alias_of && c != OpClass::load) return;  // a view: users look through it
  if (c == OpClass::view && reshapes(op)) return;               // (of what no op makes; likewise)
  if (c == OpClass::load || c == OpClass::copy) return load(v);
  if (c == OpClass::store) return store(v);
  int dimension = -1;
  if (!op.results.empty()) dimension = split_.of(op.results[0]);
  if (c == OpClass::tmem_store || c == OpClass::local_store) {
    const auto write = write_by(info.op, kNone);
    if (!write) refuse(info.op, "it is not known what it writes");
    dimension = split_.of(write->tile);
  }
  if (c == OpClass::mma && is_tensor_memory_mma(op))
    for (const int operand : op.operands)
      if (is_tile(operand, TypeKind::memdesc)) dimension = split_.of(operand);  // (see product())
  loop_value_[v] = 1;
  if (absorbed_.behind.contains(info.op)) return absorbing_node(v);
  loop_values_[v] = computed(info.op, k_.kernel.ops[v].id, Where::loop, info.copy, dimension);
}

void MeaningBuilder::load(std::size_t v) {
  const NodeInfo& info = k_.nodes[v];
  const Operation& op = m_.op(info.op);
  meaning::Value& value = loop_values_[v];
  value.id = k_.kernel.ops[v].id;
  loop_value_[v] = 1;
  int tile = op.results.empty() ? kNone : op.results[0];
  if (class_of(op) == OpClass::copy) {
    tile = kNone;
    for (const int operand : op.operands)
      if (tile == kNone && is_tile(operand, TypeKind::memdesc)) tile = operand;
  }
  if (tile == kNone) refuse(info.op, "it is not known what it fills");
  const int dimension = split_.of(tile);
  value.type = type_name(info.op, tile);
  value.shape = shape(info.op, tile, dimension);
  if (info.part == "read") {
    value.function = Function::copy;
    Operand one;
    one.value = kLoop + node_.at({info.op, info.copy, ""});
    value.operands = {one};
    return;
  }
  value.function = Function::load;
  const bool plain = masked_move(info.op, value, Where::loop, info.copy, dimension);
  value.tensor = tensor(info.op, info.copy, dimension >= 0 ? split_.factor : 1, dimension,
                        value.type, value.shape, plain);
}

void MeaningBuilder::store(std::size_t v) {
  const NodeInfo& info = k_.nodes[v];
  const Operation& op = m_.op(info.op);
  int tile = kNone;
  for (const int operand : op.operands)
    if (is_tile(operand, TypeKind::memdesc) ||
        (is_tile(operand, TypeKind::tensor) && !type(operand).is_pointer() &&
         type(operand).element != "i1" && tile == kNone))
      tile = operand;
  if (tile == kNone) refuse(info.op, "it is not known what it stores");
  const int dimension = split_.of(tile);
  meaning::Value& value = loop_values_[v];
  value.id = k_.kernel.ops[v].id;
  loop_value_[v] = 1;
  value.type = type_name(info.op, tile);
  value.shape = shape(info.op, tile, dimension);
  const auto stage = node_.find({info.op, info.copy, "stage"});
  if (info.part == "stage" || stage == node_.end()) {
    const Seen seen = source(info.op, tile, Where::loop, info.copy, dimension);
    value.function = Function::copy;
    value.operands = {beside(info.op, value, seen)};
    if (info.part == "stage") {
      // (A number everywhere: inside of bounds that let everything through.)
      if (value.operands[0].value < 0 && !value.shape.empty()) {
        value.function = Function::within;
        value.operands.push_back(value.operands[0]);
        value.operands.resize(at(meaning::first_bound(Function::within)) + meaning::kBoundNumbers);
      }
      return;
    }
  } else {
    Operand one;
    one.value = kLoop + stage->second;
    value.operands = {one};
  }
  value.function = Function::store;
  const bool plain = masked_move(info.op, value, Where::loop, info.copy, dimension) ||
                     flagged_move(info.op, value, Where::loop, info.copy, dimension);
  value.tensor = tensor(info.op, info.copy, dimension >= 0 ? split_.factor : 1, dimension,
                        value.type, value.shape, plain);
}

// ---- what an op computes, wherever it stands

meaning::Value MeaningBuilder::computed(int index, const std::string& id, Where where, int copy,
                                        int dimension) {
  const Operation& op = m_.op(index);
  const OpClass c = class_of(op);
  meaning::Value value;
  value.id = id;
  if (c == OpClass::mma) {
    product(index, where, copy, dimension, value);
    return value;
  }
  if (c == OpClass::control) {
    if (op.name != "scf.if" || where != Where::loop)
      refuse(index, op.name == "scf.if" ? "of branches only those of the loop are read"
                                        : "what an inner loop computes is not read yet");
    const bool masked = tried([&] {
      if (!masked_branch(index, value, copy, dimension)) refuse(index, "it is no mask");
    });
    if (masked) return value;
    value = meaning::Value();
    value.id = id;
    branch(index, id, value);
    return value;
  }
  if (c == OpClass::tmem_store || c == OpClass::local_store) {
    const int tile = write_by(index, kNone)->tile;
    value.type = type_name(index, tile);
    value.shape = shape(index, tile, dimension);
    value.operands = {beside(index, value, source(index, tile, where, copy, dimension))};
    return value;
  }
  if (op.results.empty()) refuse(index, "it is not known what it computes");
  if (places(index, value, where, copy, dimension)) return value;
  value.function = Function::copy;  // (what has been tried is forgotten)
  value.operands.clear();
  const int result = op.results[0];
  if (!is_tile(result, TypeKind::tensor) && !is_tile(result, TypeKind::memdesc) &&
      !is_tile(result, TypeKind::scalar))
    refuse(index, "it is not known what it computes");
  value.type = is_flags(result) ? "i32" : type_name(index, result);
  value.shape = shape(index, result, dimension);
  switch (c) {
    case OpClass::reduction:
      if (op.name == "tt.histogram") {
        histogram(index, value, where, copy, dimension);
        break;
      }
      reduction(index, value, where, copy, dimension);
      break;
    case OpClass::tmem_load:
    case OpClass::local_load: {
      const Seen seen = shown(index, op.operands[0], where, copy, dimension);
      value.operands = {beside(index, value, view(op, seen))};
      break;
    }
    case OpClass::layout:
    case OpClass::view:
    case OpClass::local_alloc:
    case OpClass::tmem_alloc: {
      if (op.name == "tt.gather" || op.name == "tt.cat" || op.operands.empty())
        refuse(index, "it is not known what it computes");
      if (bits(index, value, where, copy, dimension)) break;
      Seen seen =
          source(index, op.operands[0], where, copy, dimension_before_view(index, dimension));
      if (c == OpClass::view) seen = view(op, seen);
      value.operands = {beside(index, value, seen)};
      break;
    }
    case OpClass::unknown:  // (of what costs nothing is known, the table may know the function)
    case OpClass::elementwise: elementwise(index, value, where, copy, dimension); break;
    default: refuse(index, "it is not known what it computes");
  }
  return value;
}

Operand MeaningBuilder::beside(int op, const meaning::Value& value, const Seen& seen) const {
  Operand one = seen.operand;
  if (seen.vector) one.along_columns = value.shape.size() == 2 && seen.axis == 1;
  if (one.value < 0 || value.shape.size() == 2 || seen.vector) return one;
  if (value.shape.empty()) return one;
  if (one.transposed) refuse(op, "a transposed vector");
  return one;
}

// ---- products

/// What a flag of a product is in all iterations but perhaps the first: true or false.
std::optional<bool> MeaningBuilder::flag(int op, int value) const {
  if (const auto number = constant_integer(m_, value)) return *number != 0;
  const Value& v = m_.value(value);
  if (v.block != body_ || v.index == 0) return std::nullopt;
  const std::size_t k = at(v.index) - 1;
  const Operation& yield = m_.op(m_.block(body_).ops.back());
  const auto& first = m_.op(loop_).operands;
  if (k >= yield.operands.size() || k + 3 >= first.size()) return std::nullopt;
  const auto begin = constant_integer(m_, first[k + 3]);
  const auto next = yield.operands[k] == value ? begin : constant_integer(m_, yield.operands[k]);
  if (!begin || !next) return std::nullopt;
  if (*next == 0 && *begin != 0) refuse(op, "its flag is true in the first iteration alone");
  return *next != 0;
}

/// A flag that is false in the first iteration: what is added to is then 0.
bool MeaningBuilder::starts_at_zero(int op, int value) const {
  if (constant_integer(m_, value)) return false;
  const std::size_t k = at(m_.value(value).index) - 1;
  const auto begin = constant_integer(m_, m_.op(loop_).operands[k + 3]);
  const auto now = flag(op, value);
  return begin && *begin == 0 && now && *now;
}

/// Refuses types that are not multiplied here. true = factors of f32 are cut to tf32 first.
bool MeaningBuilder::factors_are_cut(int index, const std::string& a, const std::string& b,
                                     const std::string& sum) const {
  if (a == "i8" && b == "i8" && sum == "i32") return false;
  if (sum == "f16" && a == "f16" && b == "f16") return false;
  if (sum != "f32")
    refuse(index, "it adds in " + sum + ": known are f32, f16 of factors of f16, i32 of i8");
  for (const std::string& factor : {a, b})
    if (factor != "f16" && factor != "bf16" && factor != "f8" && factor != "f8e5m2" &&
        factor != "f32")
      refuse(index, "products of " + factor + " are not read");
  if (a != "f32" && b != "f32") return false;
  if (a != b) refuse(index, "it multiplies f32 with another type");
  const Operation& op = m_.op(index);
  if (is_tensor_memory_mma(op)) return true;  // (PTX ISA, tcgen05.mma: .kind::tf32)
  const std::string_view text = std::string_view(*m_.text).substr(op.begin, op.end - op.begin);
  constexpr std::string_view kKey = "inputPrecision = ";
  const std::size_t at = text.find(kKey);
  const std::string_view how =
      at == std::string_view::npos ? "ieee" : text.substr(at + kKey.size());
  const bool tf32 = how.starts_with("tf32 ") || how.starts_with("0 ");
  const bool ieee = how.starts_with("ieee") || how.starts_with("2 ");
  if (!tf32 && (!ieee || op.name != "tt.dot"))
    refuse(index, "how it multiplies f32 is not read (" + std::string(how.substr(0, 8)) + ")");
  return tf32;
}

/// A factor as a Tensor Core takes it: a step of the product.
Operand MeaningBuilder::cut_factor(int index, const std::string& product, int tile,
                                   const Operand& factor) {
  meaning::Value step;
  step.id = unique(product + ".tf32");
  step.part_of = product;
  step.type = "tf32";
  step.shape = shape(index, tile, split_.of(tile));
  step.operands = {factor};
  scalars_.push_back(std::move(step));
  Operand one;
  one.value = kScalar + static_cast<int>(scalars_.size()) - 1;
  return one;
}

void MeaningBuilder::product(int index, Where where, int copy, int along, meaning::Value& value) {
  const Operation& op = m_.op(index);
  const bool scaled = op.name == "ttng.tc_gen5_mma_scaled";
  const bool in_tensor_memory = op.name == "ttng.tc_gen5_mma" || scaled;
  if (!in_tensor_memory && op.name != "ttng.warp_group_dot" && op.name != "tt.dot")
    refuse(index, "it is not known what it computes");
  std::vector<int> tiles, flags;
  for (const int operand : op.operands) {
    if (is_tile(operand, TypeKind::tensor) || is_tile(operand, TypeKind::memdesc))
      tiles.push_back(operand);
    if (is_tile(operand, TypeKind::scalar) && type(operand).element == "i1")
      flags.push_back(operand);
  }
  if (tiles.size() != (scaled ? 5 : 3) || (in_tensor_memory ? flags.size() != 2 : flags.size() > 1))
    refuse(index, "it is not known which operand is which");
  if (in_tensor_memory && flag(index, flags[1]) != true) refuse(index, "it is not always executed");
  const int sum = tiles[2];
  const bool looped = where == Where::loop;
  if (!looped && ((!in_tensor_memory && !flags.empty()) || along >= 0))
    refuse(index, "a product outside the loop is read as a whole, without a flag");
  const int dimension = looped ? split_.of(in_tensor_memory ? sum : op.results[0]) : -1;
  value.function = Function::product;
  value.type = type_name(index, sum);
  const bool cuts =
      factors_are_cut(index, type_name(index, tiles[0]), type_name(index, tiles[1]), value.type);
  if (cuts && !looped) refuse(index, "outside the loop f32 is not multiplied");
  value.shape = shape(index, sum, dimension);
  if (value.shape.size() != 2) refuse(index, "it is no product of matrices");
  for (const int tile : {tiles[0], tiles[1]}) {
    const Seen seen = source(index, tile, where, copy, looped ? split_.of(tile) : -1);
    if (seen.vector || seen.operand.value < 0) refuse(index, "a product of a repeated number");
    if (scaled) {
      value.operands.push_back(scaled_factor(index, value.id, tile == tiles[1],
                                             tiles[tile == tiles[1] ? 4 : 3], seen.operand, where));
      continue;
    }
    value.operands.push_back(cuts ? cut_factor(index, value.id, tile, seen.operand) : seen.operand);
  }
  const std::optional<bool> adds = flags.empty() ? std::optional(true) : flag(index, flags[0]);
  if (!adds) return product_or_sum(index, flags[0], where, copy, dimension, value);
  if (!*adds) return;
  Seen seen;
  bool zero = false;
  if (!flags.empty() && starts_at_zero(index, flags[0])) {
    // The first iteration adds to nothing: what is there then is 0, whatever was written before.
    zero = true;
    zero_at_entry_ = true;
  }
  if (in_tensor_memory && in_branch_.contains(index))
    seen = held_in_branch(index, sum);
  else
    seen = in_tensor_memory ? contents(index, buffer(index, sum), where, copy, dimension, 0)
                            : source(index, sum, where, copy, dimension);
  zero_at_entry_ = false;
  if (zero && seen.operand.value < 0)
    refuse(index, "it adds to a number but in the first iteration");
  if (zero && seen.operand.distance != 1)
    refuse(index, "it adds to what its own iteration made but in the first one");
  if (seen.operand.value < 0 && seen.operand.number == 0 && seen.operand.constant.empty()) return;
  if (seen.operand.value < 0 || seen.vector || seen.operand.transposed)
    refuse(index, "it adds to a repeated number");
  value.operands.push_back(seen.operand);
}

/// Whether it adds to what is there is known at run time alone: it adds to that or to 0.
void MeaningBuilder::product_or_sum(int index, int flag, Where where, int copy, int dimension,
                                    meaning::Value& value) {
  const Operation& op = m_.op(index);
  if (!is_tensor_memory_mma(op) || where != Where::loop || in_branch_.contains(index) ||
      split_.factor != 1)
    refuse(index, "whether it adds to what is there is known at run time alone");
  const Operand by = scalar(index, flag, where, 0).operand;
  int sum = kNone, tiles = 0;
  for (const int operand : op.operands)
    if (is_tile(operand, TypeKind::memdesc) && ++tiles == 3) sum = operand;
  const Seen seen = contents(index, buffer(index, sum), where, copy, dimension, 0);
  if (seen.vector || seen.operand.value < 0 || seen.operand.transposed)
    refuse(index, "it adds to a repeated number");
  meaning::Value step;
  step.id = unique(value.id + ".added");
  step.part_of = value.id;
  step.type = value.type;
  step.shape = value.shape;
  step.function = Function::select;
  step.operands = {by, seen.operand, Operand{}};
  scalars_.push_back(std::move(step));
  Operand one;
  one.value = kScalar + static_cast<int>(scalars_.size()) - 1;
  value.operands.push_back(one);
}

// ---- all together

ModuleMeaning MeaningBuilder::run() {
  check_function();
  loop_values_.resize(k_.nodes.size());
  loop_value_.assign(k_.nodes.size(), -1);
  find_absorbed();
  for (std::size_t v = 0; v < k_.nodes.size(); ++v) loop_node(v);
  stores_of_numbers();
  stores_after();
  hand_on();
  return joined();
}

ModuleMeaning MeaningBuilder::joined() {
  keep_last();
  ModuleMeaning all;
  meaning::Meaning& m = all.meaning;
  m = std::move(out_);
  std::vector<int> place(k_.nodes.size(), -1);
  m.values = before_;
  m.loop_begin = static_cast<int>(m.values.size());
  for (std::size_t v = 0; v < k_.nodes.size(); ++v) {
    if (loop_value_[v] < 0) continue;
    place[v] = static_cast<int>(m.values.size());
    m.values.push_back(loop_values_[v]);
  }
  const int first_scalar = static_cast<int>(m.values.size());
  m.values.insert(m.values.end(), scalars_.begin(), scalars_.end());
  std::map<std::string, std::string> chunk_of;  // by value: what it is run with
  for (const Chunk& chunk : k_.kernel.chunks)
    for (const std::size_t v : chunk.ops)
      if (place[v] >= 0) {
        meaning::Value& value = m.values[at(place[v])];
        chunk_of[value.id] = value.part_of = chunk.id;
      }
  for (meaning::Value& value : m.values)
    if (const auto found = chunk_of.find(value.part_of); found != chunk_of.end())
      value.part_of = found->second;
  m.after_begin = static_cast<int>(m.values.size());
  m.values.insert(m.values.end(), after_.begin(), after_.end());
  const auto settle = [&](Operand& one) {
    if (one.value >= kScalar)
      one.value = first_scalar + one.value - kScalar;
    else if (one.value >= kAfter)
      one.value = m.after_begin + one.value - kAfter;
    else if (one.value >= kLoop)
      one.value = place[at(one.value - kLoop)];
  };
  for (meaning::Value& value : m.values)
    for (Operand& one : value.operands) {
      const bool some = one.value >= 0;
      settle(one);
      if (some && one.value < 0) refuse(loop_, value.id + " uses a view of nothing");
    }
  std::vector<bool> carried(m.values.size(), false);
  for (const meaning::Value& value : m.values)
    for (const Operand& one : value.operands)
      if (one.distance > 0) carried[at(one.value)] = true;
  for (const auto& [key, first] : initial_) {
    Operand carrier;
    carrier.value = key;
    settle(carrier);
    meaning::Initial one{carrier.value, first.what};
    settle(one.what);
    if (one.value < 0) refuse(loop_, "a view is carried");
    if (!carried[at(one.value)])
      refuse(loop_, m.values[at(one.value)].id +
                        " is used after the loop and by no later iteration: it is not kept");
    m.initial.push_back(one);
  }
  std::sort(m.initial.begin(), m.initial.end(),
            [](const auto& a, const auto& b) { return a.value < b.value; });
  for (std::size_t v = 0; v < carried.size(); ++v)
    if (carried[v] && m.initial_of(static_cast<int>(v)) == nullptr)
      refuse(loop_, m.values[v].id + " is carried, and it is not known what it begins with");
  for (meaning::Value& value : m.values) {
    finish_tile(m, value);
    check_shapes(m, value);
  }
  refuse_unkept_numbers(m, first_scalar);
  set_ranges(m);
  if (loop_order(m).empty() && m.after_begin > m.loop_begin)
    refuse(loop_, "its ops need each other in a circle within an iteration");
  const bool stored =
      std::any_of(m.values.begin(), m.values.end(),
                  [](const meaning::Value& value) { return value.function == Function::store; });
  if (!stored) refuse(loop_, "nothing that it computes is stored, in it or behind it");
  all.kernel = std::move(kernel_);
  all.kernel.numbers = std::move(numbers_);
  all.kernel.loaded = indices_.loaded();
  all.tiles = std::move(tiles_);
  return all;
}

std::variant<ModuleMeaning, NoMeaning> meaning_of_loop(const LoweredModule& lowered) {
  if (!lowered.lost.empty())
    return NoMeaning{lowered.loop.loop,
                     "the loop has been pipelined or partitioned: what stands around it is lost "
                     "where that is undone (" +
                         lowered.lost + ")"};
  if (lowered.loop.inner != kNone)
    return NoMeaning{lowered.loop.loop, "what a nest computes is not read yet"};
  try {
    return MeaningBuilder(lowered.module, lowered.machine, lowered.options, lowered.loop).run();
  } catch (const NoMeaning& no) {
    return no;
  }
}

}  // namespace twill::ttgir
