#include "graph/emit/in_place.hpp"

#include <cstdlib>
#include <optional>
#include <set>
#include <vector>

#include "graph/emit/user_function.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

using meaning::Function;
using meaning::Index;
using meaning::Meaning;

/// Where the elements of a vector lie; nullopt = not behind a pointer.
std::optional<Index> elements(const meaning::UserKernel& user, int tensor) {
  const meaning::Place& place = user.places[at(tensor)];
  if (place.parameter < 0 ||
      user.parameters[at(place.parameter)].kind != meaning::Parameter::pointer)
    return std::nullopt;
  if (!place.added) {
    if (place.begin.size() != 1) return std::nullopt;
    return Index::make(Index::add, place.begin[0], Index::make(Index::row));
  }
  Index sum = Index::whole(0);
  for (const Index& one : *place.added) sum = Index::make(Index::add, sum, one);
  return sum;
}

/// A bound from below of what is never less than 0; nullopt = that is not known.
std::optional<std::int64_t> least(const Index& index) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  switch (index.kind) {
    case Index::number:
      return index.value >= 0 && index.value < kLarge ? std::optional(index.value) : std::nullopt;
    case Index::programs: return 1;
    case Index::wide: return least(index.of[0]);
    case Index::add:
    case Index::mul: {
      const auto a = least(index.of[0]), b = least(index.of[1]);
      if (!a || !b) return std::nullopt;
      if (index.kind == Index::add) return *a + *b < kLarge ? std::optional(*a + *b) : std::nullopt;
      if (*b != 0 && *a > kLarge / *b) return std::nullopt;
      return *a * *b;
    }
    default: return std::nullopt;
  }
}

/// Are neighbours in the vector neighbours in memory?
bool of_neighbours(const Index& places) {
  const Index none = Index::whole(0);
  const meaning::Sum step = difference(sum_of(replaced(places, Index::whole(1), none)),
                                       sum_of(replaced(places, none, none)));
  return step.terms.empty() && step.rest == 1;
}

}  // namespace

bool stores_what_it_loads(const Meaning& meaning, int stored, int loaded) {
  std::vector<int> open;
  std::set<int> seen;
  for (int v = meaning.loop_begin; v < meaning.after_begin; ++v)
    if (meaning.values[at(v)].tensor == stored) open.push_back(v);
  while (!open.empty()) {
    const meaning::Value& value = meaning.values[at(open.back())];
    open.pop_back();
    if (value.tensor == loaded) return true;
    for (const meaning::Operand& one : value.operands)
      if (one.value >= 0 && one.distance == 0 && seen.insert(one.value).second)
        open.push_back(one.value);
  }
  return false;
}

bool moved_in_the_loop(const Meaning& meaning, int tensor, Function function) {
  for (int v = 0; v < static_cast<int>(meaning.values.size()); ++v)
    if (meaning.values[at(v)].tensor == tensor &&
        (!meaning.in_loop(v) || meaning.values[at(v)].function != function))
      return false;
  return true;
}

bool never_met(const Meaning& meaning, const meaning::UserKernel& user, int loaded, int stored) {
  const auto& shape = meaning.tensors[at(loaded)].shape;
  if (shape.size() != 1 || shape != meaning.tensors[at(stored)].shape || user.around ||
      user.places[at(stored)].adds || !moved_in_the_loop(meaning, loaded, Function::load) ||
      !moved_in_the_loop(meaning, stored, Function::store))
    return false;
  const auto from = elements(user, loaded), to = elements(user, stored);
  if (!from || !to || !of_neighbours(*from) || !of_neighbours(*to)) return false;
  const meaning::Sum apart = difference(sum_of(*to), sum_of(*from));
  const auto step = step_of(*from), same = step_of(*to);
  if (!apart.terms.empty() || !step || !same) return false;
  const auto grows = least(simple(*step));
  const meaning::Sum steps = difference(sum_of(*step), sum_of(*same));
  if (!steps.terms.empty() || steps.rest != 0 || !grows) return false;
  // In other iterations they are a step or more apart, less what they are in their own.
  const std::int64_t length = shape[0], own = std::abs(apart.rest);
  if (*grows < length + own) return false;
  return own >= length || (own == 0 && stores_what_it_loads(meaning, stored, loaded));
}

}  // namespace twill::emit
