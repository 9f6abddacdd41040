// What stands before a loop and behind it, and where its tiles lie (meaning_builder.hpp).
#include <algorithm>
#include <charconv>

#include "graph/index.hpp"
#include "graph/meaning/bounds.hpp"
#include "graph/meaning/number_type.hpp"
#include "graph/ttgir/branch_condition.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/converted_constant.hpp"
#include "graph/ttgir/element_places.hpp"
#include "graph/ttgir/index_ops.hpp"
#include "graph/ttgir/meaning_builder.hpp"
#include "graph/ttgir/op_text.hpp"
#include "graph/ttgir/successors.hpp"

namespace twill::ttgir {

using meaning::Function;
using meaning::Index;

namespace {

constexpr std::size_t kMostAround = 10'000;  // values before and after a loop
constexpr int kMostAroundDepth = 200;

std::string part_name(const std::string& name, int copy, int dimension) {
  return dimension < 0 ? name : "s" + std::to_string(copy) + "_" + name;
}

}  // namespace

std::string wished_name(const Module& module, const Operation& op) {
  std::string name;
  if (!op.results.empty()) name = std::string(module.value(op.results[0]).name);
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) {
    const std::string kind(op.name.substr(op.name.find('.') + 1));
    name = name.empty() ? kind : kind + "_" + name;
  }
  return name;
}

/// The value before the loop that an op makes: part `copy` of it, where it is cut along
/// `dimension`.
int MeaningBuilder::before(int index, int copy, int dimension) {
  if (dimension < 0) copy = 0;
  const auto known = before_at_.find({index, copy, dimension});
  if (known != before_at_.end()) return known->second;
  if (before_at_.size() > kMostAround) refuse(index, "too much is computed before the loop");
  const Operation& op = m_.op(index);
  const auto& ops = m_.block(m_.op(loop_).block).ops;
  // (Around the loop's block, too: an outer loop's body uses what is made before that.)
  if (op.block == m_.op(loop_).block && class_of(op) != OpClass::load &&
      std::find(ops.begin(), ops.end(), index) > std::find(ops.begin(), ops.end(), loop_))
    refuse(index, "it is used before the loop and stands behind it");
  if (!through_.empty() && op.block == m_.op(loop_).block)
    refuse(index, "it is made anew by a loop around the loop");
  if (class_of(op) == OpClass::load && stored_before(index))
    refuse(index, "it loads behind the loop, where something has been stored");
  meaning::Value value;
  const std::string id = unique(part_name(wished_name(m_, op), copy, dimension));
  if (class_of(op) == OpClass::load) {
    const int tile = op.results.empty() ? kNone : op.results[0];
    if (tile == kNone || (!is_tile(tile, TypeKind::tensor) && !is_tile(tile, TypeKind::scalar)))
      refuse(index, "it is not known what it loads");
    value.id = id;
    value.function = Function::load;
    value.type = type_name(index, tile);
    value.shape = shape(index, tile, dimension);
    const bool plain = masked_move(index, value, Where::before, copy, dimension);
    if (branch_behind(index) != kNone) {
      // What is loaded in a branch is used there alone: where it is not entered, 0 does.
      if (!plain || value.shape.empty()) refuse(index, "in a branch it is not read");
      if (meaning::bounds_of(value).empty()) value.operands = {meaning::Operand{}};
      add_conditions(index, value, Where::before);
    }
    value.tensor = tensor(index, copy, dimension < 0 ? 1 : split_.factor, dimension, value.type,
                          value.shape, plain);
  } else {
    value = computed(index, id, Where::before, copy, dimension);
  }
  before_.push_back(std::move(value));
  return before_at_[{index, copy, dimension}] = static_cast<int>(before_.size()) - 1;
}

/// Of a load behind the loop, in its block: may anything have been stored behind its argument since
/// the loop began? If not, it loads what lay there before the loop. (Different arguments lie
/// apart.)
bool MeaningBuilder::stored_before(int load) const {
  const auto& ops = m_.block(m_.op(loop_).block).ops;
  const auto loop = std::find(ops.begin(), ops.end(), loop_);
  // (In a branch behind the loop, or in another loop: where that stands.)
  auto here = ops.end();
  for (int around = load; around != kNone && here == ops.end(); around = m_.parent(around))
    here = std::find(loop, ops.end(), around);
  if (here == ops.end()) return false;
  const std::optional<int> own = root_moved(load);
  for (int op = 0; op < static_cast<int>(m_.ops.size()); ++op) {
    if (class_of(m_.op(op)) != OpClass::store) continue;
    if (const auto root = root_moved(op); own && root && *own != *root) continue;
    for (int around = op; around != kNone; around = m_.parent(around))
      if (std::find(loop, here, around) != here || (around == *here && around != load)) return true;
  }
  return false;
}

/// The argument behind which an op loads or stores by pointers; nullopt = it is not known.
std::optional<int> MeaningBuilder::root_moved(int op) const {
  const Operation& o = m_.op(op);
  if ((o.name != "tt.load" && o.name != "tt.store") || o.operands.empty()) return std::nullopt;
  const int root = root_of(o.operands[0]);
  return root < 0 ? std::nullopt : std::optional(root);
}

int MeaningBuilder::after(int index, int copy, int dimension) {
  if (dimension < 0) copy = 0;
  const auto known = after_at_.find({index, copy, dimension});
  if (known != after_at_.end()) return known->second;
  if (after_at_.size() > kMostAround) refuse(index, "too much is computed behind the loop");
  const Operation& op = m_.op(index);
  if (class_of(op) == OpClass::control)
    refuse(index, "behind the loop only tiles that it made are worked on here");
  meaning::Value value = computed(index, unique(part_name(wished_name(m_, op), copy, dimension)),
                                  Where::after, copy, dimension);
  after_.push_back(std::move(value));
  return after_at_[{index, copy, dimension}] = static_cast<int>(after_.size()) - 1;
}

/// Along which dimension a value behind the loop is cut: as what it is made of.
int MeaningBuilder::dimension_after(int value, int depth) const {
  if (split_.factor == 1) return -1;
  const Value& v = m_.value(value);
  if (depth > kMostAroundDepth) refuse(loop_, "too much is computed behind the loop");
  if (v.op == kNone) return split_.of(value);
  if (v.op == loop_) {
    const Operation& yield = m_.op(m_.block(body_).ops.back());
    return at(v.index) < yield.operands.size() ? split_.of(yield.operands[at(v.index)]) : -1;
  }
  const Operation& op = m_.op(v.op);
  const OpClass c = class_of(op);
  if (c == OpClass::local_alloc || c == OpClass::tmem_alloc) {
    if (split_.of(value) >= 0 || op.operands.empty()) return split_.of(value);
    return dimension_after(op.operands[0], depth + 1);
  }
  if (!is_tile(value, TypeKind::tensor) && !is_tile(value, TypeKind::memdesc)) return -1;
  int found = -1;
  for (const int operand : op.operands) {
    if (!is_tile(operand, TypeKind::tensor) && !is_tile(operand, TypeKind::memdesc)) continue;
    int dimension = dimension_after(operand, depth + 1);
    if (dimension < 0) continue;
    if (op.name == "tt.expand_dims" && dimension >= axis_of(m_, op)) ++dimension;
    if (op.name == "tt.trans" || op.name == "ttg.memdesc_trans") dimension = 1 - dimension;
    if (c == OpClass::reduction) {
      const int axis = axis_of(m_, op);
      if (dimension == axis) refuse(v.op, "it reduces over sub-tiles");
      if (dimension > axis) --dimension;
    }
    if (found >= 0 && found != dimension) refuse(v.op, "its operands are cut along two dimensions");
    found = dimension;
  }
  return found;
}

void MeaningBuilder::store_after(int index) {
  const Operation& store = m_.op(index);
  int tile = kNone;
  for (std::size_t k = 0; k < store.operands.size(); ++k)
    if ((is_tile(store.operands[k], TypeKind::tensor) ||
         is_tile(store.operands[k], TypeKind::memdesc)) &&
        !is_address_operand(m_, store, k))
      tile = store.operands[k];
  if (tile == kNone) return store_number(index);
  const int dimension = dimension_after(tile);
  const int copies = dimension < 0 ? 1 : split_.factor;
  for (int copy = 0; copy < copies; ++copy) {
    meaning::Value value;
    value.id = unique(part_name(wished_name(m_, store), copy, dimension));
    value.function = Function::store;
    value.type = type_name(index, tile);
    value.shape = shape(index, tile, dimension);
    value.operands = {beside(index, value, source(index, tile, Where::after, copy, dimension))};
    if (value.operands[0].value < 0 && !value.shape.empty()) repeat_after(value);
    const bool plain = masked_move(index, value, Where::after, copy, dimension) ||
                       (branch_behind(index) == kNone &&
                        flagged_move(index, value, Where::after, copy, dimension));
    if (branch_behind(index) != kNone) add_conditions(index, value, Where::after);
    value.tensor = tensor(index, copy, copies, dimension, value.type, value.shape, plain);
    after_.push_back(std::move(value));
  }
}

/// A number everywhere: a tile inside of bounds that let everything through.
void MeaningBuilder::repeat_after(meaning::Value& store) {
  meaning::Value tile;
  tile.id = unique(store.id + ".filled");
  tile.function = Function::within;
  tile.type = store.type;
  tile.shape = store.shape;
  tile.operands = {store.operands[0], store.operands[0]};
  tile.operands.resize(at(meaning::first_bound(Function::within)) + meaning::kBoundNumbers);
  after_.push_back(std::move(tile));
  store.operands[0] = {};
  store.operands[0].value = kAfter + static_cast<int>(after_.size()) - 1;
}

/// The conditions of the branches that an op behind the loop stands in, as bounds.
void MeaningBuilder::add_conditions(int index, meaning::Value& value, Where where) {
  static const Type kNumber;  // (a condition is no tile)
  const auto conditions = conditions_behind(index);
  if (!conditions ||
      conditions->size() + meaning::bounds_of(value).size() > at(meaning::kMostBounds))
    refuse(index, "it has too many conditions");
  for (const HalfPlane& one : *conditions) add_places(index, one, kNumber, value, where, 0, -1);
}

/// The argument behind which a pointer or a descriptor leads; -1 = it is not known.
int MeaningBuilder::root_of(int pointer) const {
  for (int depth = 0; depth < kMostAroundDepth; ++depth) {
    const int k = indices_.argument(pointer), made = m_.value(pointer).op;
    if (k >= 0 || made == kNone) return k;
    const Operation& op = m_.op(made);
    if ((op.name != "tt.addptr" && op.name != "tt.splat" && op.name != "tt.broadcast" &&
         op.name != "tt.expand_dims" && op.name != "ttg.convert_layout") ||
        op.operands.empty())
      return -1;
    pointer = op.operands[0];
  }
  return -1;
}

/// Of a store before the loop, in its block: may it as well happen behind the loop, as nothing in
/// the function loads or adds to what lies behind its argument? (Of other stores there, which are
/// in the meaning, too, a kernel's places must say that they lie apart:
/// graph/emit/stored_twice.hpp.)
bool MeaningBuilder::stored_later(int store) const {
  if (m_.op(store).name != "tt.store" || split_.factor != 1 || kernel_.around) return false;
  const int own = root_of(m_.op(store).operands[0]);
  if (own < 0) return false;
  for (int other = 0; other < static_cast<int>(m_.ops.size()); ++other) {
    const OpClass c = class_of(m_.op(other));
    if (m_.op(other).name == "tt.store" ||
        (c != OpClass::load && c != OpClass::copy && c != OpClass::store))
      continue;
    for (const int operand : m_.op(other).operands) {
      const Type* t = m_.type_of(operand);
      if (t == nullptr || (!t->is_pointer() && t->kind != TypeKind::descriptor)) continue;
      if (const int root = root_of(operand); root < 0 || root == own) return false;
    }
  }
  return true;
}

// ---- where tiles lie

int MeaningBuilder::tensor(int op, int copy, int copies, int dimension, const std::string& type,
                           const std::vector<std::int64_t>& shape, bool plain) {
  const meaning::Place where =
      plain ? place(op, copy, copies, dimension, shape) : masked_place(op, copy, dimension, shape);
  std::string wish = "tensor";
  if (where.parameter >= 0) wish = kernel_.parameters[at(where.parameter)].name;
  meaning::Tensor one;
  one.name = unique(copies > 1 ? part_name(wish, copy, dimension) : wish);
  one.shape = shape;
  one.type = type;
  out_.tensors.push_back(one);
  kernel_.places.push_back(where);
  tiles_.push_back({op, copy, copies, dimension, -1, !plain});
  return static_cast<int>(out_.tensors.size()) - 1;
}

/// Does a store add to what is there?
bool MeaningBuilder::adds(int index) const {
  const Operation& op = m_.op(index);
  if (op.name != "tt.descriptor_reduce" && op.name != "tt.atomic_rmw") return false;
  const std::string_view text = std::string_view(*m_.text).substr(op.begin, op.end - op.begin);
  const std::string_view kind = text.substr(0, std::min<std::size_t>(text.size(), 60));
  if (kind.find(" add") == std::string_view::npos && kind.find(" fadd") == std::string_view::npos)
    refuse(index, "of reductions in memory only additions are read");
  for (const int result : op.results)
    for (const Operation& user : m_.ops)
      if (std::find(user.operands.begin(), user.operands.end(), result) != user.operands.end())
        refuse(index, "what was there before it adds is used");
  return true;
}

meaning::Place MeaningBuilder::place(int index, int copy, int copies, int dimension,
                                     const std::vector<std::int64_t>& shape) const {
  const Operation& op = m_.op(index);
  meaning::Place where;
  const bool gathers = op.name.find("gather") != std::string_view::npos ||
                       op.name.find("scatter") != std::string_view::npos;
  if (gathers || op.name == "tt.atomic_cas") refuse(index, "what it moves is not read");
  where.adds = adds(index);
  std::vector<Index> begin;
  int descriptor = kNone;
  for (const int operand : op.operands) {
    if (is_tile(operand, TypeKind::descriptor) && descriptor == kNone) descriptor = operand;
  }
  if (descriptor != kNone) {
    for (const int operand : op.operands) {
      if (!is_tile(operand, TypeKind::scalar)) continue;
      auto one = indices_.of(operand);
      if (!one) one = ElementPlaces(m_, loop_, indices_).integer(operand);  // (gathered, perhaps)
      if (!one) return where;
      begin.push_back(*one);
    }
    where.parameter = indices_.argument(descriptor);
    if (where.parameter < 0) return where;
    // Of [1, 128, 64] the tile is a matrix.
    const std::size_t rank = type(descriptor).shape.size();
    if (begin.size() != rank || rank != shape.size()) where.parameter = -1;
    if (where.parameter >= 0 && dimension >= 0)
      begin[at(dimension)] =
          Index::make(Index::add, begin[at(dimension)], Index::whole(copy * shape[at(dimension)]));
    (void)copies;
    where.begin = std::move(begin);
    return where;
  }
  // A vector of neighbours behind a pointer; else each element has a place of its own.
  if (op.operands.empty()) return where;
  const bool masked = branch_behind(index) != kNone ||
                      std::any_of(op.operands.begin(), op.operands.end(), [&](int operand) {
                        const Type* t = m_.type_of(operand);
                        return t != nullptr && t->element == "i1";
                      });
  // (In the loop several elements of fewer than 32 bits are copied at once; what is stored there is
  // stored element by element.)
  const Type* pointed = m_.type_of(op.operands[0]);
  const bool narrow =
      in_loop(index) && pointed != nullptr &&
      (class_of(op) == OpClass::store || pointed->text.find("ptr<f32>") == std::string_view::npos);
  const auto from = shape.empty() || (shape.size() == 1 && !masked && !narrow && !where.adds)
                        ? pointer(op.operands[0], 0)
                        : std::nullopt;
  if (!from && shape.empty()) return where;
  if (!from) return place_by_elements(op.operands[0], copy, dimension, shape, where);
  where.parameter = from->first;
  where.begin = {dimension >= 0
                     ? Index::make(Index::add, from->second, Index::whole(copy * shape[0]))
                     : from->second};
  return where;
}

/// Of a load or a store under a mask that is no rule of places.
meaning::Place MeaningBuilder::masked_place(int index, int copy, int dimension,
                                            const std::vector<std::int64_t>& shape) const {
  const Operation& op = m_.op(index);
  const auto [mask, behind] = mask_of(op);
  meaning::Place where;
  if (mask == kNone || shape.empty() ||
      (op.name != "tt.load" && op.name != "tt.store" && op.name != "tt.atomic_rmw"))
    return where;
  where.adds = adds(index);
  // (Where nothing is said of elements that are left out, anything is right: 0.)
  if (op.name == "tt.load" && behind != kNone) {
    const int made = m_.value(behind).op;
    if (made != kNone && m_.op(made).name == "arith.constant")
      where.outside = constant(index, behind).operand.number;
    else if (const auto known = converted_constant(m_, behind))
      where.outside = known->of(constant(index, known->value).operand.number);
    else
      return where;
  }
  return place_by_elements(op.operands[0], copy, dimension, shape, std::move(where), mask);
}

meaning::Place MeaningBuilder::place_by_elements(int tile, int copy, int dimension,
                                                 const std::vector<std::int64_t>& shape,
                                                 meaning::Place where, int mask) const {
  const Type* t = m_.type_of(tile);
  const ElementPlaces elements(m_, loop_, indices_);
  const auto found = elements.of(tile);
  if (!found || t == nullptr || t->kind != TypeKind::tensor || found->added.empty()) return where;
  const auto moved =
      mask == kNone ? std::optional(std::vector<meaning::IndexComparison>{}) : elements.mask(mask);
  if (!moved) return where;
  // Of a tile with an extent of 1 the other dimension is the vector's; a part begins further on.
  Index at_place[2] = {Index::whole(0), Index::whole(0)};
  Index::Kind next = Index::row;
  std::size_t left = 0;
  for (std::size_t d = 0; d < t->shape.size(); ++d) {
    const std::int64_t extent =
        static_cast<int>(d) == dimension ? t->shape[d] / split_.factor : t->shape[d];
    if (extent == 1 && static_cast<int>(d) != dimension) continue;
    at_place[d] = Index::make(next);
    if (static_cast<int>(d) == dimension && copy > 0)
      at_place[d] = Index::make(Index::add, at_place[d], Index::whole(copy * extent));
    next = Index::column;
    ++left;
  }
  if (left != shape.size()) return where;
  where.parameter = found->parameter;
  where.added.emplace();
  for (const Index& one : found->added)
    where.added->push_back(replaced(one, at_place[0], at_place[1]));
  for (const meaning::IndexComparison& one : *moved)
    where.mask.push_back({replaced(one.a, at_place[0], at_place[1]), one.how,
                          replaced(one.b, at_place[0], at_place[1])});
  return where;
}

/// A pointer argument and how many elements behind it the first element of a vector of neighbours
/// lies.
std::optional<std::pair<int, Index>> MeaningBuilder::pointer(int value, int depth) const {
  const Value& v = m_.value(value);
  const Type* t = m_.type_of(value);
  if (depth > kMostAroundDepth || t == nullptr) return std::nullopt;
  if (const int k = indices_.argument(value); k >= 0 && t->is_pointer())
    return std::pair(k, Index::whole(0));
  if (v.op == kNone) return std::nullopt;
  const Operation& op = m_.op(v.op);
  if (op.name == "tt.splat" || op.name == "ttg.convert_layout")
    return pointer(op.operands[0], depth + 1);
  if (op.name != "tt.addptr") return std::nullopt;
  auto base = pointer(op.operands[0], depth + 1);
  if (!base) return std::nullopt;
  if (is_tile(op.operands[1], TypeKind::scalar)) {
    // (Of 64 bits it says where 32 become 64.)
    auto offset =
        type(op.operands[1]).element == "i64" ? std::nullopt : indices_.of(op.operands[1]);
    if (!offset) offset = ElementPlaces(m_, loop_, indices_).integer(op.operands[1]);
    if (!offset) return std::nullopt;
    base->second = Index::make(Index::add, base->second, *offset);
    return base;
  }
  // Of a tile the neighbours, once.
  const auto offset = indices_.tile(op.operands[1]);
  const int under = m_.value(op.operands[0]).op;
  if (!offset || offset->row != 1 || offset->column != 0 || under == kNone ||
      m_.op(under).name != "tt.splat")
    return std::nullopt;
  base->second = Index::make(Index::add, base->second, offset->begin);
  return base;
}

/// Is it a text of the user's, or a function of a library, that is not said to be pure?
bool MeaningBuilder::may_do_more(const Operation& op) const {
  if (op.name != "tt.elementwise_inline_asm" && op.name != "tt.extern_elementwise") return false;
  const std::string_view pure = m_.attribute(op, "pure");
  return pure.find("true") == std::string_view::npos;
}

/// The function's name and parameters, and whether it does something else than the loop and what
/// stands in its block.
void MeaningBuilder::check_function() {
  const int function = indices_.function();
  if (function == kNone) refuse(loop_, "it is in no function");
  if (in_sequence()) {
    const auto here = std::find(sequence_.begin(), sequence_.end(), loop_);
    kernel_.part = static_cast<int>(here - sequence_.begin());
    kernel_.parts = static_cast<int>(sequence_.size());
  }
  const Operation& op = m_.op(function);
  kernel_.name = std::string(op.symbol);
  const Block& entry = m_.block(m_.regions[at(op.regions[0])].blocks[0]);
  for (const int argument : entry.arguments) {
    meaning::Parameter one;
    one.name = std::string(m_.value(argument).name);
    const Type* t = m_.type_of(argument);
    if (t == nullptr) refuse(function, "the type of an argument is not known");
    one.type = t->element;
    one.divisor = divisor_of(m_, m_.value(argument).name);
    if (t->kind == TypeKind::descriptor) {
      one.kind = meaning::Parameter::descriptor;
      if (const std::string number = t->number(); !number.empty()) one.type = number;
      one.block = t->shape;
    } else if (t->kind == TypeKind::scalar && t->is_pointer()) {
      one.kind = meaning::Parameter::pointer;
      const std::size_t open = t->text.find("ptr<");
      if (open != std::string_view::npos && t->text.ends_with('>'))
        one.pointed = std::string(t->text.substr(open + 4, t->text.size() - open - 5));
    } else if (t->kind == TypeKind::scalar && t->element.starts_with('i')) {
      one.kind = meaning::Parameter::integer;
    } else if (t->kind == TypeKind::scalar && t->element.starts_with('f')) {
      one.kind = meaning::Parameter::real;
    }
    kernel_.parameters.push_back(std::move(one));
  }
  if (const auto trips = indices_.trips())
    kernel_.trips = *trips;
  else
    kernel_.incomplete =
        "how often the loop runs is not made of arguments and the program's place alone";
  if (m_.op(loop_).block != entry.region && m_.parent(loop_) != function) {
    kernel_.around = indices_.around();
    if (!kernel_.around)
      kernel_.incomplete =
          "the loop is in a branch, or in a loop that carries something from tile to tile or has "
          "bounds that are not made of arguments and the program's place";
  }
  if (m_.regions[at(op.regions[0])].blocks.size() != 1 && kernel_.incomplete.empty()) {
    auto returns =
        kernel_.around ? std::nullopt : early_returns(m_, indices_, function, m_.op(loop_).block);
    if (returns)
      kernel_.returns = std::move(*returns);
    else
      kernel_.incomplete =
          "the function branches from block to block, and not only to return where integers of "
          "arguments and the program's place say so";
  }
  for (int other = 0; other < static_cast<int>(m_.ops.size()); ++other) {
    const Operation& one = m_.op(other);
    const bool calls = one.name == "tt.call" || one.name == "llvm.call";
    bool within = false;
    for (int around = other; around != kNone; around = m_.parent(around))
      within = within || around == function;
    if (within && kernel_.incomplete.empty() && (calls || may_do_more(one)))
      kernel_.incomplete = std::string(one.name) + " of line " + std::to_string(one.line) +
                           (calls ? " calls a function, which may store"
                                  : " is not pure: it may do more than its result says");
  }
  // What has effects stands in the loop, or in its block and is a store behind it.
  const auto& ops = m_.block(m_.op(loop_).block).ops;
  const auto loop = std::find(ops.begin(), ops.end(), loop_);
  for (int other = 0; other < static_cast<int>(m_.ops.size()); ++other) {
    if (class_of(m_.op(other)) != OpClass::store) continue;
    if (under_.contains(other)) continue;  // (Numbers: stores_of_numbers().)
    int around = other;
    while (around != kNone && around != function) around = m_.parent(around);
    if (around != function) continue;
    const auto here = std::find(ops.begin(), ops.end(), other);
    if (here != ops.end() && (here > loop || stored_later(other))) continue;
    if (branch_behind(other) != kNone) continue;
    if (in_sequence()) continue;  // (Together they must have them all: graph/emit/sequence.cpp.)
    if (kernel_.incomplete.empty())
      kernel_.incomplete = std::string(m_.op(other).name) + " of line " +
                           std::to_string(m_.op(other).line) +
                           " is neither in the loop nor behind it in its block";
  }
}

}  // namespace twill::ttgir
