// A module's loop with several of its iterations in one (meaning.hpp).
#include <cmath>
#include <utility>

#include "graph/error.hpp"
#include "graph/index.hpp"
#include "graph/meaning/unroll.hpp"
#include "graph/ttgir/meaning.hpp"

namespace twill::ttgir {
namespace {

using meaning::Index;

Index times(Index index, std::int64_t factor) {
  return Index::make(Index::mul, std::move(index), Index::whole(factor));
}

/// The same in iteration copies * i + k, where it is of iteration i.
Index in_copy(Index index, int copies, int k) {
  if (index.kind == Index::iteration)
    return Index::make(Index::add, times(Index::make(Index::iteration), copies), Index::whole(k));
  for (Index& one : index.of) one = in_copy(std::move(one), copies, k);
  return index;
}

meaning::Place in_copy(meaning::Place place, int copies, int k) {
  for (Index& one : place.begin) one = in_copy(std::move(one), copies, k);
  if (place.added)
    for (Index& one : *place.added) one = in_copy(std::move(one), copies, k);
  for (meaning::IndexComparison& one : place.mask) {
    one.a = in_copy(std::move(one.a), copies, k);
    one.b = in_copy(std::move(one.b), copies, k);
  }
  return place;
}

/// What an operand of a place is: a number, or a constant of the meaning.
Index index_of(const ModuleMeaning& of, const meaning::Operand& operand) {
  if (operand.constant.empty())
    return Index::whole(static_cast<std::int64_t>(std::llround(operand.number)));
  for (std::size_t c = 0; c < of.meaning.constants.size(); ++c)
    if (of.meaning.constants[c].first == operand.constant) return of.kernel.numbers[c];
  throw InputError(of.kernel.name, "unroll", operand.constant, "is no constant of the loop");
}

}  // namespace

ModuleMeaning unrolled(const ModuleMeaning& of, int copies) {
  if (copies == 1) return of;
  ModuleMeaning made;
  std::vector<meaning::MovedConstant> moved;
  made.meaning = meaning::unrolled(of.meaning, copies, &moved);
  made.kernel = of.kernel;
  made.kernel.unrolled = of.kernel.unrolled * copies;
  for (const meaning::MovedConstant& one : moved)
    made.kernel.numbers.push_back(Index::make(Index::add, index_of(of, one.first),
                                              times(index_of(of, one.step), one.factor)));
  // Tensors follow each other as meaning::unrolled() has them.
  made.kernel.places.clear();
  for (int t = 0; t < static_cast<int>(of.meaning.tensors.size()); ++t)
    for (int k = 0; k < (of.meaning.streams(t) ? copies : 1); ++k) {
      TileOp tile = of.tiles[at(t)];
      tile.iteration = k;
      made.tiles.push_back(tile);
      made.kernel.places.push_back(of.meaning.streams(t)
                                       ? in_copy(of.kernel.places[at(t)], copies, k)
                                       : of.kernel.places[at(t)]);
    }
  return made;
}

}  // namespace twill::ttgir
