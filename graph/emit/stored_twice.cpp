#include "graph/emit/stored_twice.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "graph/index.hpp"
#include "graph/meaning/bounds.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Index;
using meaning::Meaning;
using meaning::Operand;
using meaning::Sum;
using meaning::UserKernel;
using meaning::Value;

constexpr std::int64_t kMostPlaces = 1 << 20;  // of two tiles that are compared one by one
constexpr std::int64_t kMostRows =
    1024;  // or iterations that are looked at where there may be more
constexpr std::int64_t kMostTrips = 1 << 14;  // of a loop, looked at one by one

/// Without the marks of 64 bits: index arithmetic is trusted not to leave its integers.
Index without_width(Index index) {
  for (Index& one : index.of) one = without_width(std::move(one));
  if (index.kind == Index::wide) return Index(index.of[0]);
  return index;
}

/// Where the elements of a tile behind a pointer lie.
struct Lie {
  std::vector<std::int64_t> shape;
  Index place;  ///< of an element, in an iteration
  Sum step[2];  ///< from row to row, from column to column (where is_linear())
};

Index element(const Lie& lie, std::int64_t row, std::int64_t column, std::int64_t i) {
  return at_iteration(replaced(lie.place, Index::whole(row), Index::whole(column)), i);
}

void note_steps(Lie& lie) {
  const Sum first = sum_of(element(lie, 0, 0, 0));
  lie.step[0] = difference(sum_of(element(lie, 1, 0, 0)), first);
  lie.step[1] = difference(sum_of(element(lie, 0, 1, 0)), first);
}

std::optional<Lie> lie_of(const Meaning& meaning, const UserKernel& user, int tensor) {
  const meaning::Place& place = user.places[at(tensor)];
  Lie lie{meaning.tensors[at(tensor)].shape, Index::whole(0), {}};
  if (place.added) {
    for (const Index& one : *place.added)
      lie.place = Index::make(Index::add, std::move(lie.place), without_width(one));
    note_steps(lie);
    return lie;
  }
  if (place.begin.size() != 1 || lie.shape.size() > 1) return std::nullopt;
  lie.place = without_width(place.begin[0]);
  if (lie.shape.size() == 1)
    lie.place = Index::make(Index::add, std::move(lie.place), Index::make(Index::row));
  note_steps(lie);
  return lie;
}

/// Do its places grow by these steps and no others, and by a known number in an iteration?
bool is_linear(const Lie& lie) {
  const Index row = Index::make(Index::row), column = Index::make(Index::column),
              i = Index::make(Index::iteration);
  const Index first = at_iteration(lie.place, 0);
  return step_of(replaced(first, i, column)).has_value() &&
         step_of(replaced(first, row, i)).has_value() && step_of(lie.place).has_value();
}

std::int64_t extent(const Lie& lie, std::size_t dimension) {
  return dimension < lie.shape.size() ? lie.shape[dimension] : 1;
}

std::optional<std::int64_t> number(const Sum& sum) {
  return sum.terms.empty() ? std::optional(sum.rest) : std::nullopt;
}

Sum times(Sum sum, std::int64_t factor) {
  for (auto& [name, by] : sum.terms) by *= factor;
  sum.rest *= factor;
  return sum;
}

/// k, where `far` is k times `of` and a number; `of` has arguments in it.
std::optional<std::int64_t> multiple(const Sum& far, const Sum& of) {
  if (far.terms.empty()) return 0;
  const auto& [argument, by] = *of.terms.begin();
  for (const auto& [name, times_argument] : far.terms) {
    if (name != argument || times_argument % by != 0) continue;
    const std::int64_t k = times_argument / by;
    return number(difference(far, times(of, k))) ? std::optional(k) : std::nullopt;
  }
  return std::nullopt;
}

/// Does all of one tile of known steps lie behind all of the other?
bool beyond(const Lie& a, const Lie& b, const Sum& far) {
  const auto apart = number(far);
  std::int64_t least[2] = {0, 0}, most[2] = {0, 0};
  for (const int which : {0, 1}) {
    const Lie& one = which == 0 ? a : b;
    for (const int d : {0, 1}) {
      const auto step = number(one.step[d]);
      if (!step || !apart) return false;
      const std::int64_t last = *step * (extent(one, at(d)) - 1);
      (last < 0 ? least : most)[which] += last;
    }
  }
  return *apart + least[1] > most[0] || *apart + most[1] < least[0];
}

enum class Met { never, unknown, perhaps };

/// In one iteration; `far`: how far the second begins behind the first.
Met met(const Lie& a, const Lie& b, const Sum& far) {
  const Sum &row_a = a.step[0], &row_b = b.step[0];
  const Sum &column_a = a.step[1], &column_b = b.step[1];
  const auto ra = number(row_a), rb = number(row_b), ca = number(column_a), cb = number(column_b);
  const auto apart = number(far);
  if (apart && ra && rb && ca && cb) {
    if (beyond(a, b, far)) return Met::never;
    if (extent(a, 0) * extent(a, 1) + extent(b, 0) * extent(b, 1) > kMostPlaces)
      return Met::perhaps;
    std::set<std::int64_t> places;
    for (std::int64_t r = 0; r < extent(a, 0); ++r)
      for (std::int64_t c = 0; c < extent(a, 1); ++c) places.insert(r * *ra + c * *ca);
    for (std::int64_t r = 0; r < extent(b, 0); ++r)
      for (std::int64_t c = 0; c < extent(b, 1); ++c)
        if (places.contains(*apart + r * *rb + c * *cb)) return Met::perhaps;
    return Met::never;
  }
  // Rows are an unknown number apart, or columns: whole tiles of them.
  for (const bool turned : {false, true}) {
    const Sum &far_a = turned ? column_a : row_a, &far_b = turned ? column_b : row_b;
    const auto near_a = turned ? ra : ca, near_b = turned ? rb : cb;
    const std::size_t along = turned ? 1 : 0, across = 1 - along;
    if (!(far_a == far_b) || far_a.terms.empty() || !near_a || !near_b) continue;
    const auto rows = multiple(far, far_a);
    if (!rows) continue;
    const std::int64_t k = *rows, rest = *number(difference(far, times(far_a, k)));
    // k rows further, `rest` along them: rows are taken to end before the next one begins.
    if (k >= extent(a, along) || -k >= extent(b, along)) return Met::never;
    std::set<std::int64_t> places;
    for (std::int64_t c = 0; c < extent(a, across); ++c) places.insert(c * *near_a);
    for (std::int64_t c = 0; c < extent(b, across); ++c)
      if (places.contains(rest + c * *near_b)) return Met::perhaps;
    return Met::never;
  }
  return apart ? Met::perhaps : Met::unknown;
}

bool knows_trips(const UserKernel& user) {
  const auto trips = number(sum_of(without_width(user.trips)));
  return trips && *trips <= kMostTrips;
}

/// As many as there are, at least `least`; where that is not known, as many as are looked at.
std::int64_t most_iterations(const UserKernel& user, std::int64_t least) {
  const auto trips = number(sum_of(without_width(user.trips)));
  return trips && *trips <= kMostTrips ? std::max(*trips, least) : kMostRows;
}

/// The first value that stores to a tensor.
int stored_by(const Meaning& meaning, int tensor) {
  for (int v = 0; v < static_cast<int>(meaning.values.size()); ++v)
    if (meaning.values[at(v)].tensor == tensor && meaning.values[at(v)].function == Function::store)
      return v;
  return -1;
}

/// The numbers of bound k of a value, as sums of arguments.
std::vector<Sum> bound_sums(const Meaning& meaning, const UserKernel& user, const Value& value,
                            std::size_t k) {
  std::vector<Sum> all;
  for (std::size_t d = 0; d < meaning::kBoundNumbers; ++d) {
    const Operand& one =
        value.operands[at(meaning::first_bound(value.function)) + k * meaning::kBoundNumbers + d];
    Index index = Index::whole(static_cast<std::int64_t>(one.number));
    for (std::size_t c = 0; c < meaning.constants.size(); ++c)
      if (!one.constant.empty() && meaning.constants[c].first == one.constant)
        index = user.numbers[c];
    all.push_back(sum_of(without_width(index)));
  }
  return all;
}

/// Is all of its tile stored, whatever the arguments are?
bool moves_all(const Value& store) {
  return meaning::bounds_of(store).empty() && store.operands.size() < 2;
}

/// Of places that are known one by one alone: is one of `a` that of `b`'s first element, in an
/// iteration that both are in?
bool surely_met(const Lie& a, const Lie& b) {
  const auto far = number(difference(sum_of(element(b, 0, 0, 0)), sum_of(element(a, 0, 0, 0))));
  const auto step = number(a.step[1]), row = number(a.step[0]);
  if (!far) return false;
  const auto within = [&](const std::optional<std::int64_t>& by, std::int64_t many) {
    return *far == 0 || (by && *by != 0 && *far % *by == 0 && *far / *by > 0 && *far / *by < many);
  };
  return within(step, extent(a, 1)) || within(row, extent(a, 0));
}

/// Is one stored only where the other is not: has one a bound that is the other's opposite?
bool excluded(const Meaning& meaning, const UserKernel& user, const Value& a, const Value& b) {
  const std::size_t of_a = meaning::bounds_of(a).size(), of_b = meaning::bounds_of(b).size();
  for (std::size_t k = 0; k < of_a; ++k)
    for (std::size_t l = 0; l < of_b; ++l) {
      const auto one = bound_sums(meaning, user, a, k), other = bound_sums(meaning, user, b, l);
      // (Of all elements of both: they have no row and no column.)
      bool opposite = true;
      for (std::size_t d = 0; d < one.size(); ++d) {
        const auto both = number(difference(one[d], times(other[d], -1)));
        opposite = opposite && both == (d == 3 ? -1 : 0) &&
                   (d == 3 || (one[d].terms.empty() && one[d].rest == 0));
      }
      if (opposite) return true;
    }
  return false;
}

/// Of tiles of one descriptor: do they begin at least their extent apart in some dimension, in all
/// iterations? unknown: how far apart is not known in any.
Met boxes_met(const Meaning& meaning, const UserKernel& user, int a, int b, bool any_iteration) {
  const auto &one = user.places[at(a)].begin, &other = user.places[at(b)].begin;
  const auto &shape = meaning.tensors[at(a)].shape, &second = meaning.tensors[at(b)].shape;
  if (one.size() != other.size() || one.size() != shape.size() || shape != second)
    return Met::perhaps;
  bool known = true;
  for (std::size_t d = 0; d < one.size(); ++d) {
    const Index x = without_width(one[d]), y = without_width(other[d]);
    const bool moves = depends_on(x, Index::iteration) || depends_on(y, Index::iteration);
    const auto apart = number(difference(sum_of(at_iteration(y, 0)), sum_of(at_iteration(x, 0))));
    known = known && apart.has_value();
    if (apart && std::llabs(*apart) >= shape[d] && (!moves || !any_iteration)) return Met::never;
    if (!apart || !moves) continue;
    // Both move on by one step, by which they stay apart.
    const auto by_x = step_of(x), by_y = step_of(y);
    if (!by_x || !by_y) continue;
    const auto step = number(sum_of(*by_x));
    if (!step || !(sum_of(*by_x) == sum_of(*by_y)) || *step == 0) continue;
    const std::int64_t size = std::llabs(*step), rest = ((*apart % size) + size) % size;
    if (rest >= shape[d] && size - rest >= shape[d]) return Met::never;
  }
  return known ? Met::perhaps : Met::unknown;
}

}  // namespace

bool stored_apart(const Meaning& meaning, const UserKernel& user, int a, int b) {
  const meaning::Place &one = user.places[at(a)], &other = user.places[at(b)];
  if (one.adds && other.adds) return true;
  const int first = stored_by(meaning, a), second = stored_by(meaning, b);
  if (first < 0 || second < 0) return true;
  const Value &va = meaning.values[at(first)], &vb = meaning.values[at(second)];
  if (excluded(meaning, user, va, vb)) return true;
  const bool looped_a = meaning.in_loop(first), looped_b = meaning.in_loop(second);
  const bool both = looped_a && looped_b, one_of = looped_a != looped_b;
  const auto from = lie_of(meaning, user, a), to = lie_of(meaning, user, b);
  if (!from || !to) {
    if (one.added || other.added) return false;
    const Met boxes = boxes_met(meaning, user, a, b, looped_a || looped_b);
    return boxes == Met::never || (boxes == Met::unknown && !one_of);
  }
  if (!is_linear(*from) || !is_linear(*to))
    return !one_of && !(one.mask.empty() && other.mask.empty() && moves_all(va) && moves_all(vb) &&
                        (surely_met(*from, *to) || surely_met(*to, *from)));
  const Sum far = difference(sum_of(element(*to, 0, 0, 0)), sum_of(element(*from, 0, 0, 0)));
  const auto on_a = step_of(from->place), on_b = step_of(to->place);
  const Sum by_a = sum_of(replaced(*on_a, Index::whole(0), Index::whole(0)));
  const Sum by_b = sum_of(replaced(*on_b, Index::whole(0), Index::whole(0)));
  if (one_of) {
    // In every iteration of the one, whose place moves by a known number.
    const auto by = number(looped_a ? by_a : by_b);
    if (!by) return false;
    const std::int64_t step = looped_a ? -*by : *by;
    const std::int64_t most = step == 0 ? 0 : most_iterations(user, 0) - 1;
    Sum moved = far;
    for (std::int64_t i = 0; i <= std::max<std::int64_t>(most, 0); ++i, moved.rest += step)
      if (met(*from, *to, moved) != Met::never) return false;
    // (Of as many iterations as one likes: they go away from each other.)
    return step == 0 || knows_trips(user) ||
           (beyond(*from, *to, moved) && (step > 0) == (*number(moved) > 0));
  }
  if (!both) return met(*from, *to, far) != Met::perhaps;
  if (!(by_a == by_b)) return false;
  const auto step = number(by_a);
  if (!step || *step == 0) return met(*from, *to, far) != Met::perhaps;
  // In other iterations, too: as many away as there are, or may be.
  const std::int64_t most = most_iterations(user, 1) - 1;
  for (std::int64_t k = -most; k <= most; ++k) {
    Sum moved = far;
    moved.rest += k * *step;
    if (met(*from, *to, moved) == Met::perhaps) return false;
  }
  return true;
}

bool loaded_for_its_store(const Meaning& meaning, const UserKernel& user, int loaded, int stored) {
  const meaning::Place &from = user.places[at(loaded)], &to = user.places[at(stored)];
  const auto a = lie_of(meaning, user, loaded), b = lie_of(meaning, user, stored);
  if (!a || !b || a->shape != b->shape || to.adds || user.around || user.parts > 1 ||
      user.unrolled != 1 || from.added.has_value() != to.added.has_value())
    return false;
  const Sum apart = difference(sum_of(a->place), sum_of(b->place));
  if (!apart.terms.empty() || apart.rest != 0) return false;
  std::set<int> made;  // of what is loaded
  int store = -1, loads = 0;
  for (int v = 0; v < static_cast<int>(meaning.values.size()); ++v) {
    const Value& value = meaning.values[at(v)];
    bool uses = value.tensor == loaded;
    if (uses) ++loads;
    for (const Operand& one : value.operands) uses = uses || made.contains(one.value);
    if (!uses) continue;
    if (meaning.in_loop(v)) return false;
    if (value.function == Function::store) {
      if (value.tensor != stored || store >= 0) return false;
      store = v;
    } else if (value.function != Function::load && value.function != Function::within &&
               !meaning::is_elementwise(value.function)) {
      return false;
    }
    made.insert(v);
  }
  for (const meaning::Initial& one : meaning.initial)
    if (made.contains(one.what.value)) return false;
  return loads == 1 && store >= meaning.after_begin;
}

}  // namespace twill::emit
