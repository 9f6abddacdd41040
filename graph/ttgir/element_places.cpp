#include "graph/ttgir/element_places.hpp"

#include <charconv>
#include <string>
#include <utility>

#include "graph/index.hpp"
#include "graph/ttgir/comparison.hpp"
#include "graph/ttgir/constants.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/pointer_roots.hpp"

namespace twill::ttgir {

using meaning::Elements;
using meaning::Index;

namespace {

constexpr int kMostSteps = 64;            // from a pointer to what it is made of
constexpr int kMostVisits = 5'000;        // of numbers, each as often as it is used
constexpr std::size_t kMostAdded = 16;    // places added to one pointer
constexpr int kNarrow = 32, kWhole = 64;  // bits of integers

/// dense<N>, of an integer.
std::optional<std::int64_t> repeated_number(std::string_view text) {
  if (text.starts_with("dense<") && text.ends_with('>')) text = text.substr(6, text.size() - 7);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// 1 where not all of them hold, else 0.
Index not_all(const std::vector<meaning::IndexComparison>& all) {
  Index holds = Index::whole(1);
  for (const meaning::IndexComparison& one : all)
    holds = holds.kind == Index::number ? compared(one)
                                        : Index::make(Index::mul, std::move(holds), compared(one));
  return Index::make(Index::sub, Index::whole(1), std::move(holds));
}

/// Is it one number or another, by a comparison, all of 32 bits? (Where 64 begin is not said then.)
bool chooses_narrow(const Module& module, const Operation& op) {
  const auto narrow = [&](int value) {
    const Type* const type = module.type_of(value);
    return type != nullptr && type->kind == TypeKind::scalar && type->element == "i32";
  };
  const int asked = op.operands.size() == 3 ? module.value(op.operands[0]).op : kNone;
  return asked != kNone && module.op(asked).name == "arith.cmpi" && op.results.size() == 1 &&
         narrow(op.results[0]) && module.op(asked).operands.size() == 2 &&
         narrow(module.op(asked).operands[0]) && narrow(module.op(asked).operands[1]);
}

}  // namespace

ElementPlaces::ElementPlaces(const Module& module, int loop, const IndexValues& indices)
    : m_(module), loop_(loop), indices_(indices) {
  body_ = m_.regions[at(m_.op(loop).regions[0])].blocks[0];
}

std::optional<std::pair<int, int>> ElementPlaces::variable(int value) const {
  const Value& v = m_.value(value);
  if (v.op != kNone || v.block != body_ || v.index == 0 || m_.block(body_).ops.empty())
    return std::nullopt;
  const Operation &loop = m_.op(loop_), &yield = m_.op(m_.block(body_).ops.back());
  const std::size_t k = at(v.index) - 1;
  if (yield.name != "scf.yield" || k >= yield.operands.size() ||
      kFirstLoopVariable + k >= loop.operands.size())
    return std::nullopt;
  return std::pair(loop.operands[kFirstLoopVariable + k], yield.operands[k]);
}

bool ElementPlaces::shown(const Operation& op, Index& index) const {
  const Type *to = m_.type_of(op.results[0]), *from = m_.type_of(op.operands[0]);
  if (to == nullptr || from == nullptr || to->shape.size() > 2) return false;
  const Index row = Index::make(Index::row), column = Index::make(Index::column);
  if (op.name == "ttg.convert_layout") return true;
  if (op.name == "tt.expand_dims") {
    if (from->shape.size() != 1) return false;
    if (axis_of(m_, op) == 0) index = replaced(std::move(index), column, column);
    return true;
  }
  if (op.name == "tt.trans") {
    if (!is_transposition(m_.attribute(op, "order"))) return false;
    index = replaced(std::move(index), column, row);
    return true;
  }
  if (op.name == "tt.broadcast") {
    if (from->shape.size() != to->shape.size()) return false;
    // (A dimension of one element has that one everywhere.)
    const auto of = [&](std::size_t d, const Index& one) {
      return d < from->shape.size() && from->shape[d] == 1 ? Index::whole(0) : one;
    };
    index = replaced(std::move(index), of(0, row), of(1, column));
    return true;
  }
  return false;
}

// ---- pointers

std::optional<Elements> ElementPlaces::pointer(int value, int depth) const {
  const Type* type = m_.type_of(value);
  if (depth > kMostSteps || type == nullptr || !type->is_pointer() || type->shape.size() > 2)
    return std::nullopt;
  if (const int k = indices_.argument(value); k >= 0) return Elements{k, {}};
  const Value& v = m_.value(value);
  if (v.op == kNone) return carried_pointer(value, depth);
  const Operation& op = m_.op(v.op);
  if (op.operands.empty()) return std::nullopt;
  auto base = pointer(op.operands[0], depth + 1);
  if (!base) return std::nullopt;
  if (op.name == "tt.splat") return base;
  if (op.name == "tt.addptr" && op.operands.size() == 2) {
    auto offset = number(op.operands[1], depth + 1);
    if (!offset || base->added.size() >= kMostAdded) return std::nullopt;
    base->added.push_back(std::move(*offset));
    return base;
  }
  for (Index& one : base->added)
    if (!shown(op, one)) return std::nullopt;
  // (Of no place, too, only a view is one.)
  Index none = Index::whole(0);
  return shown(op, none) ? base : std::nullopt;
}

/// A pointer that grows by the same places in every iteration.
std::optional<Elements> ElementPlaces::carried_pointer(int value, int depth) const {
  const auto both = variable(value);
  if (!both) return std::nullopt;
  auto first = pointer(both->first, depth + 1);
  if (!first || both->second == value) return first;
  const int next = m_.value(both->second).op;
  if (next == kNone || m_.op(next).name != "tt.addptr" || m_.op(next).operands[0] != value)
    return std::nullopt;
  auto step = number(m_.op(next).operands[1], depth + 1);
  if (!step || depends_on(*step, Index::iteration) || first->added.size() >= kMostAdded)
    return std::nullopt;
  first->added.push_back(Index::make(
      Index::mul, Index::make(Index::wide, {Index::make(Index::iteration)}), std::move(*step)));
  return first;
}

// ---- integers, alone or in tiles

std::optional<Index> ElementPlaces::number(int value, int depth) const {
  const Type* type = m_.type_of(value);
  if (++steps_ > kMostVisits) return std::nullopt;
  if (depth > kMostSteps || type == nullptr || type->is_pointer() || type->shape.size() > 2 ||
      (type->kind != TypeKind::tensor && type->kind != TypeKind::scalar))
    return std::nullopt;
  if (type->element != "i32" && type->element != "i64") return std::nullopt;
  const Value& v = m_.value(value);
  if (v.op == kNone)
    return type->kind == TypeKind::scalar ? indices_.of(value) : carried_number(value, depth);
  return made(m_.op(v.op), depth);
}

std::optional<Index> ElementPlaces::made(const Operation& op, int depth) const {
  const int result = op.results.empty() ? kNone : op.results[0];
  if (op.name == "arith.constant") {
    const auto number = repeated_number(op.literal);
    return number ? std::optional(Index::whole(*number)) : std::nullopt;
  }
  if (op.name == "tt.make_range") {
    std::int64_t start = 0;
    const std::string_view text = m_.attribute(op, "start");  // "0 : i32"
    if (std::from_chars(text.data(), text.data() + text.size(), start).ec != std::errc())
      return std::nullopt;
    if (start == 0) return Index::make(Index::row);
    return Index::make(Index::add, Index::make(Index::row), Index::whole(start));
  }
  if (op.name == "tt.get_program_id" || op.name == "tt.get_num_programs")
    return result == kNone ? std::nullopt : indices_.of(result);
  if (op.name == "tt.load") {
    auto once = result == kNone ? std::nullopt : indices_.of(result);
    return once ? std::move(once) : gathered(op, depth);
  }
  if (op.operands.empty() || result == kNone) return std::nullopt;
  if (op.name == "arith.select") return chooses_narrow(m_, op) ? indices_.of(result) : std::nullopt;
  const auto kind = index_kind_of(op.name);
  if (kind && op.operands.size() == 2) {
    auto a = number(op.operands[0], depth + 1), b = number(op.operands[1], depth + 1);
    if (!a || !b) return std::nullopt;
    return index_made(m_, op, std::move(*a), std::move(*b));
  }
  auto one = number(op.operands[0], depth + 1);
  if (!one) return std::nullopt;
  if (op.name == "tt.splat") return one;
  if (op.name == "arith.extsi") {
    if (m_.type_of(op.operands[0])->bits != kNarrow || m_.type_of(result)->bits != kWhole)
      return std::nullopt;
    return Index::make(Index::wide, {std::move(*one)});
  }
  return shown(op, *one) ? one : std::nullopt;
}

/// Integers that the function loads, alone or in a tile, from where it stores nothing: whoever
/// needs them may load them again.
std::optional<Index> ElementPlaces::gathered(const Operation& load, int depth) const {
  // (With a mask another number stands for those that are not loaded.)
  if ((load.operands.size() != 1 && load.operands.size() != 3) || load.results.size() != 1 ||
      m_.attribute(load, "isVolatile") == "true")
    return std::nullopt;
  const Type *type = m_.type_of(load.results[0]), *from = m_.type_of(load.operands[0]);
  if (type == nullptr || from == nullptr) return std::nullopt;
  const std::string whole = "ptr<" + type->element;
  if (from->text.find(whole + ">") == std::string_view::npos &&
      from->text.find(whole + ",") == std::string_view::npos)
    return std::nullopt;
  auto place = pointer(load.operands[0], depth + 1);
  if (!place || !never_stored(m_, indices_.function(), place->parameter)) return std::nullopt;
  Index made = Index::make(Index::gathered, std::move(place->added));
  made.value = place->parameter;
  if (load.operands.size() == 3) {
    const auto mask = comparisons(load.operands[1], depth + 1);
    auto other = number(load.operands[2], depth + 1);
    if (!mask || !other) return std::nullopt;
    std::vector<Index> of = {made, std::move(*other)};
    for (const meaning::IndexComparison& one : *mask) of.push_back(compared(one));
    // (Text has no load of one place under the masks of many.)
    for (const auto kind : {Index::row, Index::column})
      for (std::size_t k = 1; k < of.size(); ++k)
        if (depends_on(of[k], kind) && !depends_on(made, kind)) return std::nullopt;
    made = Index::make(Index::chosen, std::move(of));
  }
  // One of the loop that is the same in all iterations would be loaded before it, and so where the
  // loop does not run, too; one of a branch, where that is not taken.
  for (int around = m_.parent(static_cast<int>(&load - m_.ops.data())); around != kNone;
       around = m_.parent(around)) {
    if (around == loop_ && !depends_on(made, Index::iteration)) return std::nullopt;
    if (around == indices_.function()) break;
    if (m_.op(around).name != "scf.for") return std::nullopt;
  }
  return made;
}

std::optional<std::vector<meaning::IndexComparison>> ElementPlaces::comparisons(int value,
                                                                                int depth) const {
  constexpr std::size_t kMostComparisons = 16;
  const Value& v = m_.value(value);
  const Type* type = m_.type_of(value);
  if (depth > kMostSteps || v.op == kNone || type == nullptr || type->element != "i1" ||
      type->shape.size() > 2)
    return std::nullopt;
  const Operation& op = m_.op(v.op);
  if (op.name == "arith.constant") {
    if (op.literal == "true" || op.literal == "dense<true>")
      return std::vector<meaning::IndexComparison>{};
    return std::nullopt;
  }
  if (op.name == "arith.cmpi" && op.operands.size() == 2) {
    const auto asked = predicate(m_, op);
    const auto how = asked ? how_of(*asked, true) : std::nullopt;
    auto a = number(op.operands[0], depth + 1), b = number(op.operands[1], depth + 1);
    if (!how || !a || !b) return std::nullopt;
    return std::vector{meaning::IndexComparison{std::move(*a), *how, std::move(*b)}};
  }
  if (op.operands.empty()) return std::nullopt;
  auto all = comparisons(op.operands[0], depth + 1);
  if (!all) return std::nullopt;
  if (op.name == "arith.ori" && op.operands.size() == 2) {
    // Not where neither holds, each side 1 or 0. (A sum of two flags would be one of one bit.)
    const auto others = comparisons(op.operands[1], depth + 1);
    if (!others) return std::nullopt;
    return std::vector{
        meaning::IndexComparison{Index::make(Index::mul, not_all(*all), not_all(*others)),
                                 meaning::IndexComparison::equal, Index::whole(0)}};
  }
  if (op.name == "arith.andi" && op.operands.size() == 2) {
    auto others = comparisons(op.operands[1], depth + 1);
    if (!others || all->size() + others->size() > kMostComparisons) return std::nullopt;
    for (meaning::IndexComparison& one : *others) all->push_back(std::move(one));
    return all;
  }
  if (op.name == "tt.splat") return all;
  for (meaning::IndexComparison& one : *all)
    if (!shown(op, one.a) || !shown(op, one.b)) return std::nullopt;
  Index none = Index::whole(0);
  return shown(op, none) ? std::move(all) : std::nullopt;
}

/// A tile of integers that grows by the same numbers in every iteration.
std::optional<Index> ElementPlaces::carried_number(int value, int depth) const {
  const auto both = variable(value);
  if (!both) return std::nullopt;
  auto first = number(both->first, depth + 1);
  if (!first || both->second == value) return first;
  const int next = m_.value(both->second).op;
  if (next == kNone || m_.op(next).name != "arith.addi") return std::nullopt;
  const auto& operands = m_.op(next).operands;
  for (const std::size_t mine : {std::size_t{0}, std::size_t{1}}) {
    if (operands[mine] != value) continue;
    auto step = number(operands[1 - mine], depth + 1);
    if (!step || depends_on(*step, Index::iteration)) return std::nullopt;
    return Index::make(Index::add, std::move(*first),
                       Index::make(Index::mul, Index::make(Index::iteration), std::move(*step)));
  }
  return std::nullopt;
}

}  // namespace twill::ttgir
