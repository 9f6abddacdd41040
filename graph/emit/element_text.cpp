#include "graph/emit/element_text.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "graph/emit/mask_text.hpp"
#include "graph/emit/user_function.hpp"
#include "graph/index.hpp"
#include "graph/meaning/bounds.hpp"
#include "graph/meaning/number_type.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Index;
using meaning::Operand;
using meaning::Value;
using program::Refusal;

constexpr std::int64_t kAny = std::int64_t{1} << 20;  // divided by every vector's length
constexpr int kMostBytes = 16, kLeastBytes = 4;       // of one cp.async

// ---- sums

/// A sum of whole multiples of indices.
struct Terms {
  std::vector<std::pair<Index, std::int64_t>> all;
  std::int64_t rest = 0;

  void add(const Index& index, std::int64_t factor) {
    if (index.kind == Index::number) {
      rest += factor * index.value;
    } else if (index.kind == Index::add || index.kind == Index::sub) {
      add(index.of[0], factor);
      add(index.of[1], index.kind == Index::add ? factor : -factor);
    } else if (index.kind == Index::mul && index.of[0].kind == Index::number) {
      add(index.of[1], factor * index.of[0].value);
    } else if (index.kind == Index::mul && index.of[1].kind == Index::number) {
      add(index.of[0], factor * index.of[1].value);
    } else {
      const auto known =
          std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == index; });
      if (known == all.end())
        all.emplace_back(index, factor);
      else
        known->second += factor;
    }
  }
};

/// What is added stands first, then what is subtracted; "" = nothing is left.
std::string text_of(const Plan& plan, const Terms& terms, const ElementNames& names) {
  std::string text;
  for (const bool minus : {false, true}) {
    for (const auto& [index, factor] : terms.all) {
      if (factor == 0 || (factor < 0) != minus) continue;
      const std::int64_t size = std::abs(factor);
      const std::string one = element_text(plan, index, names);
      text += text.empty() ? (minus ? "0 - " : "") : (minus ? " - " : " + ");
      text += one + (size == 1 ? "" : " * " + std::to_string(size));
    }
    if (terms.rest != 0 && (terms.rest < 0) == minus)
      text += (text.empty() ? (minus ? "-" : "") : (minus ? " - " : " + ")) +
              std::to_string(std::abs(terms.rest));
  }
  return text;
}

/// A number of a bound: the index of its constant, or the number.
Index number_of(const Plan& plan, const Value& value, const Operand& one) {
  if (one.constant.empty()) {
    if (one.value >= 0 || one.number != std::trunc(one.number)) throw unknown_factor(value);
    return Index::whole(static_cast<std::int64_t>(one.number));
  }
  const auto& constants = plan.meaning->constants;
  for (std::size_t c = 0; c < constants.size(); ++c)
    if (constants[c].first == one.constant) return plan.user->numbers[c];
  throw Refusal{"op", value.id + " compares places with an unknown number"};
}

/// A bound of a load or a store: factors of row, column and iteration, and the rest.
struct BoundTerms {
  std::int64_t row = 0, column = 0;
  Index iteration, begin;
};
std::vector<BoundTerms> bounds_of(const Plan& plan, const Value& value) {
  std::vector<BoundTerms> all;
  const std::size_t count = meaning::bounds_of(value).size();
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t first =
        static_cast<std::size_t>(meaning::first_bound(value.function)) + k * meaning::kBoundNumbers;
    const auto whole = [&](std::size_t j) {
      const Operand& one = value.operands[first + j];
      if (one.value >= 0 || !one.constant.empty() || one.number != std::trunc(one.number))
        throw unknown_factor(value);
      return static_cast<std::int64_t>(one.number);
    };
    all.push_back({whole(0), whole(1), number_of(plan, value, value.operands[first + 2]),
                   number_of(plan, value, value.operands[first + 3])});
  }
  return all;
}

// ---- neighbours

/// Along one dimension of a tile, in blocks of `block` elements from a multiple of it on.
struct Along {
  std::int64_t step = 0;  ///< from element to element: 0 or 1
  std::int64_t block = kAny;
  std::int64_t divisor = kAny;  ///< of what the first of a block has
};

std::optional<Along> along(const Plan& plan, const Index& index, Index::Kind dimension) {
  const auto of = [&](int k) { return along(plan, index.of[at(k)], dimension); };
  const auto joined = [](const Along& a, const Along& b, std::int64_t step) {
    return Along{step, std::min(a.block, b.block), std::gcd(a.divisor, b.divisor)};
  };
  switch (index.kind) {
    case Index::number:
      return Along{0, kAny, index.value == 0 ? kAny : std::gcd(index.value, kAny)};
    case Index::argument:
      return Along{
          0, kAny,
          std::gcd(plan.user->parameters[at(static_cast<int>(index.value))].divisor, kAny)};
    case Index::row:
    case Index::column: return index.kind == dimension ? Along{1, kAny, kAny} : Along{0, kAny, 1};
    case Index::wide: return of(0);
    case Index::add:
    case Index::sub: {
      const auto a = of(0), b = of(1);
      if (!a || !b || (b->step != 0 && (a->step != 0 || index.kind == Index::sub)))
        return std::nullopt;
      return joined(*a, *b, a->step + b->step);
    }
    case Index::mul: {
      const auto a = of(0), b = of(1);
      if (!a || !b) return std::nullopt;
      if (a->step == 0 && b->step == 0)
        return Along{0, std::min(a->block, b->block),
                     std::gcd(std::min(a->divisor, kAny) * std::min(b->divisor, kAny), kAny)};
      const bool first = a->step != 0;
      const Index& other = index.of[first ? 1 : 0];
      if (other.kind != Index::number || other.value != 1) return std::nullopt;
      return first ? a : b;
    }
    case Index::remainder: {
      const auto a = of(0), b = of(1);
      if (!a || !b || b->step != 0) return std::nullopt;
      if (a->step == 0) return joined(*a, *b, 0);
      const std::int64_t whole = std::gcd(std::gcd(a->divisor, b->divisor), a->block);
      return Along{1, std::min(whole, b->block), whole};
    }
    case Index::quotient: {
      // The same for as many neighbours as have one quotient: keys in pages lie in groups of eight
      // (p // 8 * pages * 8 + p % 8).
      const auto a = of(0);
      const Index& by = index.of[1];
      if (a && a->step == 1 && by.kind == Index::number && by.value > 0)
        return Along{0, std::gcd(std::gcd(a->divisor, a->block), by.value), 1};
      [[fallthrough]];
    }
    default: {
      // The same all along, where its operands are.
      Along made{0, kAny, 1};
      for (const Index& one : index.of) {
        const auto part = along(plan, one, dimension);
        if (!part || part->step != 0) return std::nullopt;
        made.block = std::min(made.block, part->block);
      }
      return made;
    }
  }
}

/// So many neighbours along a dimension are let through together where this is at least 0, from a
/// multiple of as many on: what it is made of beside the dimension's place itself, which has the
/// factor 1 or -1. 0 = that is not known.
std::int64_t let_through_together(const Plan& plan, const Terms& bound, Index::Kind dimension) {
  std::int64_t mine = 0;
  for (const auto& [index, factor] : bound.all)
    if (index.kind == dimension) mine = factor;
  if (mine != 0 && mine != 1 && mine != -1) return 0;
  // x >= -rest, or x < rest + 1.
  std::int64_t divisor = std::abs(bound.rest + (mine == -1 ? 1 : 0)), block = kAny;
  for (const auto& [index, factor] : bound.all) {
    if (index.kind == dimension) continue;
    const auto part = along(plan, index, dimension);
    if (!part || part->step != 0) return 0;
    block = std::min(block, part->block);
    divisor = std::gcd(divisor, std::gcd(factor, kAny) * part->divisor);
  }
  if (mine == 0) return block;
  return std::gcd(block, divisor == 0 ? kAny : divisor);
}

/// The same of a comparison of a place's mask.
std::int64_t let_through_together(const Plan& plan, const meaning::IndexComparison& one,
                                  Index::Kind dimension) {
  using How = meaning::IndexComparison::How;
  const auto together = [&](const Index& a, const Index& b, std::int64_t less) {
    Terms bound;  // a - b - less >= 0
    bound.add(a, 1);
    bound.add(b, -1);
    bound.rest -= less;
    std::erase_if(bound.all, [](const auto& term) { return term.second == 0; });
    return let_through_together(plan, bound, dimension);
  };
  switch (one.how) {
    case How::less: return together(one.b, one.a, 1);
    case How::at_most: return together(one.b, one.a, 0);
    case How::more: return together(one.a, one.b, 1);
    case How::at_least: return together(one.a, one.b, 0);
    case How::equal:
    case How::unequal: return std::gcd(together(one.a, one.b, 0), together(one.b, one.a, 0));
  }
  return 0;
}

/// The largest number of neighbours along a dimension that one copy may have, 0 = they are none.
std::int64_t neighbours(const Plan& plan, const Value& load, Index::Kind dimension) {
  const meaning::Place& place = plan.user->places[at(load.tensor)];
  const int bytes = meaning::number_type(load.type)->bytes;
  const std::int64_t extent = load.shape[dimension == Index::row ? 0 : 1];
  Along all{0, kAny, std::gcd(plan.user->parameters[at(place.parameter)].divisor, kAny) / bytes};
  for (const Index& one : *place.added) {
    const auto part = along(plan, one, dimension);
    if (!part || (part->step != 0 && all.step != 0)) return 0;
    all = {all.step + part->step, std::min(all.block, part->block),
           std::gcd(all.divisor, part->divisor)};
  }
  if (all.step != 1) return 0;
  std::int64_t together = std::gcd(std::gcd(all.block, all.divisor), std::gcd(extent, kAny));
  for (const BoundTerms& one : bounds_of(plan, load)) {
    const bool row = dimension == Index::row;
    const std::int64_t mine = row ? one.row : one.column, other = row ? one.column : one.row;
    if (mine == 0) continue;
    if (mine != 1 && mine != -1) return 0;
    // x >= -rest, or x < rest + 1.
    Terms rest;
    rest.add(one.begin, 1);
    if (mine == -1) ++rest.rest;
    Terms each;  // what is added in each iteration
    each.add(one.iteration, 1);
    std::int64_t divisor = std::gcd(std::gcd(other, each.rest), rest.rest);
    for (const Terms* const terms : {&rest, &each})
      for (const auto& [index, factor] : terms->all) {
        const auto part = along(plan, index, dimension);
        if (!part) return 0;
        divisor = std::gcd(divisor, std::gcd(factor, kAny) * part->divisor);
      }
    together = std::gcd(together, divisor == 0 ? kAny : divisor);
  }
  for (const meaning::IndexComparison& one : place.mask) {
    const std::int64_t let = let_through_together(plan, one, dimension);
    if (let == 0) return 0;
    together = std::gcd(together, let);
  }
  std::int64_t most = kMostBytes / bytes;
  while (most > 1 && together % most != 0) most /= 2;
  return most;
}

/// Of the same number everywhere: is it longer than a name?
bool uniform(const Index& index) {
  for (const auto kind : {Index::row, Index::column, Index::iteration})
    if (depends_on(index, kind)) return false;
  return true;
}
int operations(const Index& index) {
  constexpr int kLoad = 2;
  int count = index.kind == Index::loaded || index.kind == Index::gathered ? kLoad
              : index.of.empty()                                           ? 0
                                                                           : 1;
  for (const Index& one : index.of) count += operations(one);
  return count;
}
void add_gathered(const Plan& plan, const Index& index, std::vector<Index>& all) {
  for (const auto& [name, place] : plan.places)
    if (place == index) return;  // it has a name of its own
  if (index.kind != Index::gathered && index.kind != Index::chosen) {
    for (const Index& one : index.of) add_gathered(plan, one, all);
  } else if (std::find(all.begin(), all.end(), index) == all.end()) {
    all.push_back(index);
  }
}
void add_uniform(const Index& index, std::vector<Index>& all) {
  constexpr int kShort = 2;
  if (operations(index) < kShort) return;
  if (!uniform(index)) {
    for (const Index& one : index.of) add_uniform(one, all);
  } else if (std::find(all.begin(), all.end(), index) == all.end()) {
    all.push_back(index);
  }
}

}  // namespace

std::vector<Index> gathered_numbers(const Plan& plan, int tensor, const std::string& iteration) {
  std::vector<Index> all;
  const meaning::Place& place = plan.user->places[at(tensor)];
  for (const Index& one : *place.added) add_gathered(plan, in_iteration(one, iteration), all);
  for (const meaning::IndexComparison& one : place.mask)
    for (const Index* const side : {&one.a, &one.b})
      add_gathered(plan, in_iteration(*side, iteration), all);
  return all;
}

bool moves_along(const Plan& plan, int tensor, Index::Kind dimension) {
  const std::vector<Index>& added = *plan.user->places[at(tensor)].added;
  return std::any_of(added.begin(), added.end(),
                     [&](const Index& one) { return depends_on(simple(one), dimension); });
}

std::vector<Index> shared_places(const Plan& plan) {
  std::vector<Index> all;
  for (const meaning::Place& place : plan.user->places)
    if (place.added) {
      for (const Index& one : *place.added) add_uniform(simple(one), all);
      for (const meaning::IndexComparison& one : place.mask)
        for (const Index* const side : {&one.a, &one.b}) add_uniform(simple(*side), all);
    }
  for (const Value& value : plan.meaning->values) {
    if (!plan.by_elements(value.tensor)) continue;
    for (const BoundTerms& one : bounds_of(plan, value)) {
      Terms terms;
      terms.add(one.begin, 1);
      for (const auto& [index, factor] : terms.all) add_uniform(simple(index), all);
      add_uniform(simple(one.iteration), all);
    }
  }
  return all;
}

std::string element_pointers(const Plan& plan, int tensor, const ElementNames& names) {
  const meaning::Place& place = plan.user->places[at(tensor)];
  std::string text = plan.pointer_name(tensor);
  // What is the same for all elements comes first: the pointer is one number for so long.
  for (const bool tiles : {false, true})
    for (const Index& one : *place.added) {
      if ((depends_on(one, Index::row) || depends_on(one, Index::column)) != tiles) continue;
      const std::string part = element_text(plan, one, names);
      if (part != "0") text += " + " + part;
    }
  return text;
}

program::Refusal unknown_factor(const meaning::Value& value) {
  return {"op", value.id +
                    " has places made with a number that is not whole, or that the launch alone "
                    "knows"};
}

std::string element_mask(const Plan& plan, const Value& value, const ElementNames& names) {
  std::vector<std::string> all;
  const std::vector<BoundTerms> bounds = bounds_of(plan, value);
  for (const BoundTerms& one : bounds) {
    Terms left, right;
    const auto add = [&](Index::Kind kind, std::int64_t factor) {
      if (factor > 0) left.add(Index::make(kind), factor);
      if (factor < 0) right.add(Index::make(kind), -factor);
    };
    add(Index::row, one.row);
    add(Index::column, one.column);
    Terms rest;
    rest.add(one.begin, 1);
    const Index iteration = Index::make(Index::iteration);
    if (one.iteration.kind == Index::number)
      rest.add(iteration, one.iteration.value);
    else
      rest.add(Index::make(Index::mul, one.iteration, iteration), 1);
    // left + rest >= right: compared as x < y where that has nothing else on one side, so that
    // Triton sees which neighbours are let through together.
    std::string text;
    if (left.all.empty() && right.all.empty()) {
      // As a whole or not at all: what is added on the left, what is taken away on the right.
      for (const auto& [index, factor] : rest.all)
        (factor > 0 ? left : right).add(index, std::abs(factor));
      (left.all.empty() ? left : right).rest = left.all.empty() ? rest.rest : -rest.rest;
      const std::string what = text_of(plan, left, names), limit = text_of(plan, right, names);
      text = (what.empty() ? "0" : what) + " >= " + (limit.empty() ? "0" : limit);
    } else if (left.all.empty()) {
      ++rest.rest;
      const std::string what = text_of(plan, right, names), limit = text_of(plan, rest, names);
      text = (what.empty() ? "0" : what) + " < " + (limit.empty() ? "0" : limit);
    } else {
      for (const auto& [index, factor] : right.all) rest.add(index, -factor);
      for (auto& [index, factor] : rest.all) factor = -factor;
      rest.rest = -rest.rest;
      const std::string limit = text_of(plan, rest, names);
      text = text_of(plan, left, names) + " >= " + (limit.empty() ? "0" : limit);
    }
    all.push_back(std::move(text));
  }
  for (const meaning::IndexComparison& one : plan.user->places[at(value.tensor)].mask)
    all.push_back(mask_text(plan, one, names));
  if (all.size() == 1) return all[0];
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "(" : " & (") + one + ")";
  return text;
}

meaning::Value with_whole_factors(const meaning::Meaning& meaning, const Value& product) {
  Value whole = product;
  for (std::size_t k = 0; k < 2; ++k) {
    const int step = product.operands[k].value;
    if (step >= 0 && meaning.values[at(step)].type == "tf32" &&
        meaning.values[at(step)].part_of == product.id)
      whole.operands[k] = meaning.values[at(step)].operands[0];
  }
  return whole;
}

std::optional<bool> columns_first_for_tf32(const Plan& plan, const Value& value) {
  const meaning::Meaning& m = *plan.meaning;
  if (value.type != "f32" || value.shape.size() != 2 || plan.user == nullptr) return std::nullopt;
  if (value.function == Function::load && !plan.by_elements(value.tensor)) return std::nullopt;
  for (int v = m.loop_begin; v < m.after_begin; ++v) {
    const Value& product = m.values[at(v)];
    if (product.function != Function::product) continue;
    const Value whole = with_whole_factors(m, product);
    for (std::size_t k = 0; k < 2; ++k) {
      if (whole.operands[k] == product.operands[k]) continue;
      const meaning::Operand* one = &whole.operands[k];
      bool turned = one->transposed;
      // Through views; each has what it sees before it.
      while (one->value >= 0 && m.values[at(one->value)].id != value.id && m.in_loop(one->value) &&
             plan.op_of(one->value) < 0 && !m.values[at(one->value)].operands.empty()) {
        const Value& view = m.values[at(one->value)];
        one = &view.operands[0];
        turned = turned != ((view.function == Function::transpose) != one->transposed);
      }
      if (one->value >= 0 && m.values[at(one->value)].id == value.id) return turned != (k == 1);
    }
  }
  return std::nullopt;
}

ElementCopy element_copy(const Plan& plan, const Value& load) {
  ElementCopy copy;
  const meaning::NumberType* type = meaning::number_type(load.type);
  if (type == nullptr || load.shape.empty() || load.shape.size() > 2) return copy;
  const std::int64_t rows = neighbours(plan, load, Index::row);
  const std::int64_t columns = load.shape.size() == 2 ? neighbours(plan, load, Index::column) : 0;
  copy.rows = copy.near_rows = rows > columns;
  std::int64_t most = std::max<std::int64_t>(std::max(rows, columns), 1);
  if (const auto turned = columns_first_for_tf32(plan, load); turned && *turned != copy.rows) {
    copy.rows = *turned;
    most = std::max<std::int64_t>(*turned ? rows : columns, 1);
  }
  // cp.async writes 0 where nothing is to be loaded.
  const bool zero = meaning::bounds_of(load).empty() ||
                    (load.operands[0].value < 0 && load.operands[0].constant.empty() &&
                     load.operands[0].number == 0);
  copy.fills = !zero;
  const bool nothing = plan.user->places[at(load.tensor)].outside == 0;
  if (most * type->bytes >= kLeastBytes && nothing) copy.vector = most;
  return copy;
}

std::string copy_layout(const std::vector<std::int64_t>& shape, const ElementCopy& copy,
                        int warps) {
  constexpr std::int64_t kThreads = 32;
  const auto pair = [](std::int64_t a, std::int64_t b) {
    return "[" + std::to_string(a) + ", " + std::to_string(b) + "]";
  };
  const std::int64_t vector = std::max<std::int64_t>(copy.vector, 1);
  if (shape.size() == 1)
    return "gl.BlockedLayout([" + std::to_string(vector) + "], [32], [" + std::to_string(warps) +
           "], [0])";
  const bool rows = vector == 1 ? copy.near_rows : copy.rows;
  const std::int64_t along = shape[rows ? 0 : 1];
  const std::int64_t near = std::clamp<std::int64_t>(along / vector, 1, kThreads);
  if (rows)
    return "gl.BlockedLayout(" + pair(vector, 1) + ", " + pair(near, kThreads / near) + ", " +
           pair(1, warps) + ", [0, 1])";
  return "gl.BlockedLayout(" + pair(1, vector) + ", " + pair(kThreads / near, near) + ", " +
         pair(warps, 1) + ", [1, 0])";
}

}  // namespace twill::emit
