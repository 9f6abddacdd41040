#include "graph/ttgir/index_values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "graph/index.hpp"
#include "graph/ttgir/comparison.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/words.hpp"

namespace twill::ttgir {
namespace {

using meaning::Index;

constexpr int kPointed = 32;         // bits of a number behind a pointer, until it is known
constexpr int kMostIndexSteps = 64;  // from an integer to what it is made of
constexpr int kMostIndexParts = 2'000;
constexpr std::size_t kLowerBound = 0, kUpperBound = 1, kStep = 2;  // of scf.for

Index sum(Index a, Index b) {
  return Index::make(Index::add, std::move(a), std::move(b));
}
Index product(Index a, Index b) {
  return Index::make(Index::mul, std::move(a), std::move(b));
}

bool is_function(const Operation& op) {
  return op.name.ends_with(".func");
}

}  // namespace

std::optional<Index::Kind> index_kind_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Index::Kind>, 10> kKinds = {
      {{"arith.addi", Index::add},
       {"arith.subi", Index::sub},
       {"arith.muli", Index::mul},
       {"arith.divsi", Index::quotient},
       {"arith.remsi", Index::remainder},
       {"arith.minsi", Index::least},
       {"arith.maxsi", Index::largest},
       {"arith.andi", Index::bit_and},
       {"arith.shrsi", Index::shift_right},
       {"arith.shli", Index::mul}}};
  for (const auto& [text, kind] : kKinds)
    if (text == name) return kind;
  return std::nullopt;
}

namespace {

/// A multiple of `by` in every iteration, divided by it: which block a loop is at that counts
/// elements (start // N of range(0, n, N)). nullopt = it is not always one.
std::optional<Index> divided_line(const Index& line, std::int64_t by) {
  const auto divides = [&](const Index& one) {
    return one.kind == Index::number && one.value >= 0 && one.value % by == 0;
  };
  const auto steps = [&](const Index& one) -> std::optional<Index> {
    if (one.kind != Index::mul || one.of.size() != 2) return std::nullopt;
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}})
      if (one.of[k].kind == Index::iteration && divides(one.of[1 - k]))
        return one.of[1 - k].value == by
                   ? Index(one.of[k])
                   : product(Index(one.of[k]), Index::whole(one.of[1 - k].value / by));
    return std::nullopt;
  };
  if (by < 2) return std::nullopt;
  if (line.kind != Index::add || line.of.size() != 2) return steps(line);
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}})
    if (divides(line.of[k]))
      if (auto rest = steps(line.of[1 - k]))
        return sum(Index::whole(line.of[k].value / by), std::move(*rest));
  return std::nullopt;
}

}  // namespace

std::optional<Index> index_made(const Module& module, const Operation& op, Index a, Index b) {
  const auto kind = index_kind_of(op.name);
  const Type* type = op.results.empty() ? nullptr : module.type_of(op.results[0]);
  if (!kind || type == nullptr) return std::nullopt;
  const bool shifts = op.name == "arith.shrsi" || op.name == "arith.shli";
  if ((shifts || *kind == Index::bit_and) && type->element != "i32" && type->element != "i64")
    return std::nullopt;
  if (*kind == Index::quotient && b.kind == Index::number)
    if (auto whole = divided_line(a, b.value)) return whole;
  if (!shifts) return Index::make(*kind, std::move(a), std::move(b));
  // (By as many bits as there are, or by a negative number, is not defined.)
  if (b.kind != Index::number || b.value < 0 || b.value >= (type->element == "i64" ? 63 : 31))
    return std::nullopt;
  if (*kind == Index::mul) b = Index::whole(std::int64_t{1} << b.value);
  return Index::make(*kind, std::move(a), std::move(b));
}

IndexValues::IndexValues(const Module& module, int loop, bool handed_through)
    : m_(module), loop_(loop) {
  body_ = m_.regions[at(m_.op(loop).regions[0])].blocks[0];
  function_ = loop;
  while (function_ != kNone && !is_function(m_.op(function_))) function_ = m_.parent(function_);
  const int parent = m_.parent(loop);
  if (parent == kNone || m_.op(parent).name != "scf.for" || m_.parent(parent) != function_ ||
      m_.op(parent).regions.empty() || m_.op(parent).operands.size() < kFirstLoopVariable ||
      (!handed_through &&
       (!m_.op(parent).results.empty() || m_.op(parent).operands.size() != kFirstLoopVariable)))
    return;
  around_ = parent;
  around_body_ = m_.regions[at(m_.op(parent).regions[0])].blocks[0];
}

std::optional<meaning::TileLoop> IndexValues::around() const {
  if (around_ == kNone || m_.op(loop_).block != around_body_) return std::nullopt;
  const Operation& loop = m_.op(around_);
  auto first = of(loop.operands[kLowerBound]), end = of(loop.operands[kUpperBound]),
       step = of(loop.operands[kStep]);
  if (!first || !end || !step) return std::nullopt;
  return meaning::TileLoop{std::move(*first), std::move(*end), std::move(*step)};
}

int IndexValues::argument(int value) const {
  if (function_ == kNone || m_.op(function_).regions.empty()) return -1;
  const Value& v = m_.value(value);
  const Region& region = m_.regions[at(m_.op(function_).regions[0])];
  return v.block != kNone && !region.blocks.empty() && v.block == region.blocks[0] ? v.index : -1;
}

std::optional<Index> IndexValues::of(int value, int depth, bool wide) const {
  if (depth > kMostIndexSteps || ++parts_ > kMostIndexParts) return std::nullopt;
  const Type* type = m_.type_of(value);
  if (type == nullptr || type->kind != TypeKind::scalar || type->is_pointer()) return std::nullopt;
  if (const auto number = constant_integer(m_, value)) return Index::make(Index::number, *number);
  if (!type->element.starts_with('i')) return std::nullopt;
  const int k = argument(value);
  if (k >= 0) return Index::make(Index::argument, k);
  const Value& v = m_.value(value);
  if (v.op == kNone && around_ != kNone && v.block == around_body_ && v.index == 0)
    return Index::make(Index::tile);
  if (v.op == kNone) return v.block == body_ ? carried(value, depth, wide) : std::nullopt;
  const Operation& op = m_.op(v.op);
  if (op.name == "tt.get_program_id" || op.name == "tt.get_num_programs") {
    const int axis = grid_axis(m_, op);
    if (axis < 0) return std::nullopt;
    return Index::make(op.name == "tt.get_program_id" ? Index::program : Index::programs, axis);
  }
  if (op.name == "tt.load") return loaded(op, depth);
  // Signs are kept.
  if (op.name == "arith.extsi" || op.name == "arith.index_cast") {
    auto one = of(op.operands[0], depth + 1, wide);
    if (!one || !wide || type->element != "i64") return one;
    return Index::make(Index::wide, {std::move(*one)});
  }
  // What is cut off of 64 bits is known where they have been 64 all the way.
  if (op.name == "arith.trunci") {
    const Type* from = m_.type_of(op.operands[0]);
    if (from == nullptr || from->element != "i64" || type->element != "i32") return std::nullopt;
    if (const auto word = word_left(m_, m_.value(value).op); word && !word->sign)
      return word->value == kNone ? Index::whole(word->number) : of(word->value, depth + 1, wide);
    auto one = of(op.operands[0], depth + 1, true);
    if (!one) return one;
    return Index::make(Index::narrow, {std::move(*one)});
  }
  if (op.name == "arith.extui" || op.name == "arith.select") return chosen(op, depth, wide);
  const auto kind = index_kind_of(op.name);
  if (!kind || op.operands.size() != 2) return std::nullopt;
  auto a = of(op.operands[0], depth + 1, wide), b = of(op.operands[1], depth + 1, wide);
  if (!a || !b) return std::nullopt;
  return index_made(m_, op, std::move(*a), std::move(*b));
}

/// A comparison of integers as 1 or 0, or one of two integers that it chooses: the sum of both,
/// each times 1 or 0.
std::optional<Index> IndexValues::chosen(const Operation& op, int depth, bool wide) const {
  const int made = op.operands.empty() ? kNone : m_.value(op.operands[0]).op;
  if (made == kNone || m_.op(made).name != "arith.cmpi" || m_.op(made).operands.size() != 2 ||
      op.operands.size() != (op.name == "arith.select" ? 3 : 1))
    return std::nullopt;
  const Operation& comparison = m_.op(made);
  const auto asked = predicate(m_, comparison);
  auto a = of(comparison.operands[0], depth + 1, wide),
       b = of(comparison.operands[1], depth + 1, wide);
  if (!asked || !a || !b) return std::nullopt;
  const auto holds = [&](bool truth) {
    return meaning::compared({*a, *how_of(*asked, truth), *b});
  };
  if (op.name == "arith.extui") return holds(true);
  auto first = of(op.operands[1], depth + 1, wide), second = of(op.operands[2], depth + 1, wide);
  if (!first || !second) return std::nullopt;
  const auto is_zero = [](const Index& x) { return x.kind == Index::number && x.value == 0; };
  if (is_zero(*first)) return product(holds(false), std::move(*second));
  if (is_zero(*second)) return product(holds(true), std::move(*first));
  return sum(product(holds(true), std::move(*first)), product(holds(false), std::move(*second)));
}

/// An integer that the function loads in its own blocks, before the loop: once in every program,
/// whatever happens to that memory later.
std::optional<Index> IndexValues::loaded(const Operation& op, int depth) const {
  constexpr std::size_t kMostLoaded = 100;
  const int index = static_cast<int>(&op - m_.ops.data());
  // (One with a mask is sometimes not loaded. The sign of fewer than 32 bits is not known.)
  const int stands_in = m_.parent(index);
  if (op.operands.size() != 1 || op.results.size() != 1 ||
      (stands_in != function_ && (around_ == kNone || stands_in != around_)) ||
      op.begin > m_.op(loop_).begin)
    return std::nullopt;
  const Type* type = m_.type_of(op.results[0]);
  const Type* from = m_.type_of(op.operands[0]);
  if (type == nullptr || from == nullptr || (type->element != "i32" && type->element != "i64"))
    return std::nullopt;
  const std::string whole = "ptr<" + type->element;
  if (from->text.find(whole + ">") == std::string_view::npos &&
      from->text.find(whole + ",") == std::string_view::npos)
    return std::nullopt;
  const auto number = [this](std::size_t k) {
    Index made = Index::make(Index::loaded, static_cast<std::int64_t>(k));
    // (Of each tile another one: depends_on() says so.)
    if (depends_on(loaded_[k].place, Index::tile)) made.of.push_back(Index::make(Index::tile));
    return made;
  };
  const auto known = std::find(loads_.begin(), loads_.end(), index);
  if (known != loads_.end()) return number(static_cast<std::size_t>(known - loads_.begin()));
  auto one = behind_pointer(op.operands[0], depth + 1);
  if (!one || loaded_.size() >= kMostLoaded) return std::nullopt;
  one->bits = type->bits;
  loaded_.push_back(std::move(*one));
  loads_.push_back(index);
  return number(loaded_.size() - 1);
}

std::optional<meaning::LoadedNumber> IndexValues::behind_pointer(int value, int depth) const {
  if (depth > kMostIndexSteps) return std::nullopt;
  const Type* type = m_.type_of(value);
  if (type == nullptr || !type->is_pointer() || type->kind != TypeKind::scalar) return std::nullopt;
  if (const int k = argument(value); k >= 0)
    return meaning::LoadedNumber{k, Index::whole(0), kPointed};
  const int made = m_.value(value).op;
  if (made == kNone || m_.op(made).name != "tt.addptr" || m_.op(made).operands.size() != 2)
    return std::nullopt;
  auto base = behind_pointer(m_.op(made).operands[0], depth + 1);
  auto offset = of(m_.op(made).operands[1], depth + 1);
  if (!base || !offset) return std::nullopt;
  base->place = sum(std::move(base->place), std::move(*offset));
  return base;
}

/// The loop's variable, or one that grows by the same number in every iteration.
std::optional<Index> IndexValues::carried(int value, int depth, bool wide) const {
  const Value& v = m_.value(value);
  const Operation& loop = m_.op(loop_);
  const bool of_64 = wide && m_.type_of(value) != nullptr && m_.type_of(value)->element == "i64";
  const Index i = of_64 ? Index::make(Index::wide, {Index::make(Index::iteration)})
                        : Index::make(Index::iteration);
  const auto line = [&](int first, int step) -> std::optional<Index> {
    auto a = of(first, depth + 1, wide), b = of(step, depth + 1, wide);
    if (!a || !b || depends_on(*b, Index::iteration)) return std::nullopt;
    return sum(std::move(*a), product(i, std::move(*b)));
  };
  if (v.index == 0) return line(loop.operands[kLowerBound], loop.operands[kStep]);
  const std::size_t k = at(v.index) - 1;
  if (m_.block(body_).ops.empty()) return std::nullopt;
  const Operation& yield = m_.op(m_.block(body_).ops.back());
  if (yield.name != "scf.yield" || k >= yield.operands.size() ||
      kFirstLoopVariable + k >= loop.operands.size())
    return std::nullopt;
  const Value& next = m_.value(yield.operands[k]);
  if (yield.operands[k] == value) return of(loop.operands[kFirstLoopVariable + k], depth + 1, wide);
  if (next.op == kNone || m_.op(next.op).name != "arith.addi") return std::nullopt;
  const auto& operands = m_.op(next.op).operands;
  for (const std::size_t mine : {std::size_t{0}, std::size_t{1}})
    if (operands[mine] == value)
      return line(loop.operands[kFirstLoopVariable + k], operands[1 - mine]);
  return std::nullopt;
}

std::optional<Index> IndexValues::trips() const {
  const Operation& loop = m_.op(loop_);
  const auto first = of(loop.operands[kLowerBound]), end = of(loop.operands[kUpperBound]),
             step = of(loop.operands[kStep]);
  if (!first || !end || !step) return std::nullopt;
  // (end - first + step - 1) / step, for steps from 1.
  const Index one = Index::make(Index::number, 1);
  return Index::make(
      Index::quotient,
      sum(Index::make(Index::sub, *end, *first), Index::make(Index::sub, *step, one)), *step);
}

std::optional<IndexValues::Affine> IndexValues::tile(int value, int depth) const {
  if (depth > kMostIndexSteps || ++parts_ > kMostIndexParts) return std::nullopt;
  const Value& v = m_.value(value);
  const Type* type = m_.type_of(value);
  if (type == nullptr || type->kind != TypeKind::tensor) return std::nullopt;
  if (v.op == kNone) return carried_tile(value, depth);
  const Operation& op = m_.op(v.op);
  const auto inner = [&](std::size_t k) { return tile(op.operands[k], depth + 1); };
  if (op.name == "tt.splat") {
    auto scalar = of(op.operands[0], depth + 1);
    if (!scalar) return std::nullopt;
    return Affine{0, 0, std::move(*scalar)};
  }
  if (op.name == "arith.constant") {
    // dense<N>
    std::string_view text = op.literal;
    const std::size_t open = text.find('<');
    if (open == std::string_view::npos || !text.ends_with('>')) return std::nullopt;
    text = text.substr(open + 1, text.size() - open - 2);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return Affine{0, 0, Index::make(Index::number, number)};
  }
  if (op.name == "tt.make_range") {
    std::int64_t start = 0;
    const std::string_view text = m_.attribute(op, "start");
    if (std::from_chars(text.data(), text.data() + text.size(), start).ec != std::errc())
      return std::nullopt;
    return Affine{1, 0, Index::make(Index::number, start)};
  }
  if (op.name == "ttg.convert_layout" || op.name == "tt.broadcast" || op.name == "arith.extsi")
    return inner(0);
  if (op.name == "tt.trans" && is_transposition(m_.attribute(op, "order"))) {
    auto one = inner(0);
    if (one) std::swap(one->row, one->column);
    return one;
  }
  if (op.name == "tt.expand_dims") {
    auto one = inner(0);
    const Type* from = m_.type_of(op.operands[0]);
    if (!one || from == nullptr || from->shape.size() != 1 || one->column != 0) return std::nullopt;
    if (axis_of(m_, op) == 0) std::swap(one->row, one->column);
    return one;
  }
  if (op.name != "arith.addi" && op.name != "arith.subi" && op.name != "arith.muli")
    return std::nullopt;
  auto a = inner(0), b = inner(1);
  if (!a || !b) return std::nullopt;
  if (op.name == "arith.muli") {
    // One of them is the same number everywhere, and where the other is not, a known one.
    if (a->row != 0 || a->column != 0) std::swap(a, b);
    if (a->row != 0 || a->column != 0) return std::nullopt;
    Affine result{0, 0, product(b->begin, a->begin)};
    if (b->row == 0 && b->column == 0) return result;
    constexpr std::int64_t kMostFactor = 1 << 30;
    if (a->begin.kind != Index::number || std::abs(a->begin.value) > kMostFactor ||
        std::abs(b->row) > kMostFactor || std::abs(b->column) > kMostFactor)
      return std::nullopt;
    result.row = b->row * a->begin.value;
    result.column = b->column * a->begin.value;
    return result;
  }
  const bool plus = op.name == "arith.addi";
  const std::int64_t sign = plus ? 1 : -1;
  return Affine{
      a->row + sign * b->row, a->column + sign * b->column,
      Index::make(plus ? Index::add : Index::sub, std::move(a->begin), std::move(b->begin))};
}

/// A tile that grows by the same number everywhere in every iteration.
std::optional<IndexValues::Affine> IndexValues::carried_tile(int value, int depth) const {
  const Value& v = m_.value(value);
  const Operation& loop = m_.op(loop_);
  if (v.block != body_ || v.index == 0 || m_.block(body_).ops.empty()) return std::nullopt;
  const std::size_t k = at(v.index) - 1;
  const Operation& yield = m_.op(m_.block(body_).ops.back());
  if (yield.name != "scf.yield" || k >= yield.operands.size() ||
      kFirstLoopVariable + k >= loop.operands.size())
    return std::nullopt;
  auto first = tile(loop.operands[kFirstLoopVariable + k], depth + 1);
  const int next = yield.operands[k], made = m_.value(next).op;
  if (next == value || !first) return first;
  if (made == kNone || m_.op(made).name != "arith.addi") return std::nullopt;
  const auto& operands = m_.op(made).operands;
  for (const std::size_t mine : {std::size_t{0}, std::size_t{1}}) {
    if (operands[mine] != value) continue;
    auto step = tile(operands[1 - mine], depth + 1);
    if (!step || step->row != 0 || step->column != 0 || depends_on(step->begin, Index::iteration))
      return std::nullopt;
    first->begin = sum(std::move(first->begin),
                       product(Index::make(Index::iteration), std::move(step->begin)));
    return first;
  }
  return std::nullopt;
}

int grid_axis(const Module& module, const Operation& op) {
  bool found = false;
  std::string_view text = module.attribute(op, "axis", &found);
  if (!found) text = std::string_view(*module.text).substr(op.begin, op.end - op.begin);
  if (!found) {
    text.remove_prefix(op.name.size());
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  // In either form: "x", or "0 : i32".
  if (text.starts_with('x') || text.starts_with('0')) return 0;
  if (text.starts_with('y') || text.starts_with('1')) return 1;
  if (text.starts_with('z') || text.starts_with('2')) return 2;
  return -1;
}

bool is_transposition(std::string_view order) {
  std::string plain;
  for (const char c : order)
    if (c != ' ') plain += c;
  return plain == "array<i32:1,0>";
}

}  // namespace twill::ttgir
