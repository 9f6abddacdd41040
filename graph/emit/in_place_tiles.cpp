// Tiles that are loaded from one argument and stored back (in_place.hpp): rows apart by one step,
// neighbours in them, and iterations that either go along the rows or from rows to rows.
#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "graph/emit/in_place.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Index;
using meaning::IndexComparison;

/// Without the marks of 64 bits: index arithmetic is trusted not to leave its integers.
Index unmarked(Index index) {
  for (Index& one : index.of) one = unmarked(std::move(one));
  if (index.kind == Index::wide) return Index(index.of[0]);
  return index;
}

bool depends_on_element(const Index& index) {
  return depends_on(index, Index::row) || depends_on(index, Index::column);
}

/// Can the host, or anybody, say it of arguments alone?
bool of_arguments(const Index& index) {
  constexpr Index::Kind kOthers[] = {
      Index::program, Index::programs, Index::iteration, Index::tile,     Index::loaded,
      Index::row,     Index::column,   Index::narrow,    Index::gathered, Index::chosen};
  return std::none_of(std::begin(kOthers), std::end(kOthers),
                      [&](Index::Kind kind) { return depends_on(index, kind); });
}

std::optional<std::int64_t> known_number(const Index& index) {
  if (depends_on(index, Index::argument) || !of_arguments(index)) return std::nullopt;
  try {
    return value_of(index, {}, 0);
  } catch (const std::domain_error&) {
    return std::nullopt;
  }
}

Index multiple_of(const Index& index, std::int64_t factor) {
  return Index::make(Index::mul, Index(index), Index::whole(factor));
}

bool same_sum(const Index& a, const Index& b) {
  const meaning::Sum apart = difference(sum_of(a), sum_of(b));
  return apart.terms.empty() && apart.rest == 0;
}

/// How far it is from each element of a tile to the next, and from each iteration to the next.
struct Steps {
  Index row, column, iteration;
};

std::optional<Steps> steps_of(const Index& place) {
  const Index none = Index::whole(0), i = Index::make(Index::iteration);
  const Index row = Index::make(Index::row), column = Index::make(Index::column);
  const Index first = at_iteration(place, 0);
  // (Each as the others vary: they must not be in it.)
  const auto down = step_of(replaced(first, i, column)), along = step_of(replaced(first, row, i)),
             on = step_of(place);
  if (!down || !along || !on || depends_on_element(*down) || depends_on_element(*along) ||
      depends_on_element(*on))
    return std::nullopt;
  return Steps{*down, *along, *on};
}

/// Appends what must hold; false = it never does.
bool ask(std::vector<IndexComparison>& all, Index a, Index b) {
  const auto left = known_number(a), right = known_number(b);
  if (left && right) return *left >= *right;
  if (!of_arguments(a) || !of_arguments(b)) return false;
  IndexComparison one{std::move(a), IndexComparison::at_least, std::move(b)};
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
  return true;
}

}  // namespace

std::optional<std::vector<IndexComparison>> never_met_where(const meaning::Meaning& meaning,
                                                            const meaning::UserKernel& user,
                                                            int loaded, int stored) {
  std::vector<IndexComparison> all;
  if (never_met(meaning, user, loaded, stored)) return all;
  const auto& shape = meaning.tensors[at(loaded)].shape;
  const meaning::Place &from = user.places[at(loaded)], &to = user.places[at(stored)];
  if (shape.size() != 2 || shape != meaning.tensors[at(stored)].shape || user.around ||
      user.unrolled != 1 || to.adds || !from.added || !to.added ||
      !moved_in_the_loop(meaning, loaded, Function::load) ||
      !moved_in_the_loop(meaning, stored, Function::store) ||
      !stores_what_it_loads(meaning, stored, loaded))
    return std::nullopt;
  const auto place = [](const meaning::Place& one) {
    Index sum = Index::whole(0);
    for (const Index& part : *one.added) sum = Index::make(Index::add, sum, unmarked(part));
    return sum;
  };
  const Index here = place(from);
  const auto steps = steps_of(here);
  if (!same_sum(here, place(to)) || !steps) return std::nullopt;
  // Neighbours lie along rows or along columns.
  const bool turned = !known_number(steps->column);
  const auto near = known_number(turned ? steps->row : steps->column);
  const Index& far = turned ? steps->column : steps->row;
  const std::int64_t rows = shape[turned ? 1 : 0], columns = shape[turned ? 0 : 1];
  constexpr std::int64_t kMostStep = 1 << 20;
  if (!near || *near < 1 || *near > kMostStep) return std::nullopt;
  if (const auto on = known_number(steps->iteration); on && *on >= columns * *near) {
    // All that the loop moves of a row ends before the next row begins.
    if (ask(all, far, multiple_of(unmarked(user.trips), *on))) return all;
    return std::nullopt;
  }
  if (!same_sum(steps->iteration, multiple_of(far, rows)) ||
      !ask(all, far, Index::whole(columns * *near)))
    return std::nullopt;
  return all;
}

std::vector<IndexComparison> asked_of_arguments(const meaning::Meaning& meaning,
                                                const meaning::UserKernel& user) {
  std::vector<IndexComparison> all;
  const int count = static_cast<int>(user.places.size());
  for (int stored = 0; stored < count; ++stored)
    for (int loaded = 0; loaded < count; ++loaded) {
      if (!meaning.is_output(stored) || meaning.is_output(loaded) ||
          user.places[at(stored)].parameter < 0 ||
          user.places[at(stored)].parameter != user.places[at(loaded)].parameter)
        continue;
      const auto asked = never_met_where(meaning, user, loaded, stored);
      if (!asked) continue;
      for (const IndexComparison& one : *asked)
        if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
    }
  return all;
}

}  // namespace twill::emit
