// A function of a module executed as its text says: op by op, loops one iteration after the other,
// tiles in double precision, nothing rounded. For one program of the grid.
//
// This is the reference that programs of a module are compared with. It knows no loop graph, no
// operands with distances and no sub-tiles, and shares no code with the reading of a loop's meaning
// (meaning.hpp), so that a mistake there shows as a wrong number.
//
// Memory behind an argument has no end: each element has a number of its own, seeded, of the
// element's type; integers are those of the launch, others small ones. What a program stores is
// noted; to load an element that it has stored is refused.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/meaning/user_kernel.hpp"
#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// A tile, row by row, extents of 1 included.
struct MovedTile {
  std::vector<std::int64_t> shape;
  std::vector<double> data;
};

struct Interpretation {
  /// Per load or store of the function, its executions: what was moved (of an addition in memory
  /// what was added).
  std::map<int, std::vector<MovedTile>> moved;
  /// Per load with a mask, of reals: what it brought. Per store with a mask: what it was given.
  std::map<int, std::vector<MovedTile>> brought;
  /// Likewise per loop or branch and number of its result, where that is a tile or number. Per loop
  /// around the loop and kCarriedBy + k: variable k in each of its iterations. Per allocation of a
  /// buffer outside the loop and kAtEntry: what is in it where the loop begins.
  std::map<std::pair<int, int>, std::vector<MovedTile>> made;
};
/// Beyond all numbers of results.
inline constexpr int kCarriedBy = 1 << 24, kAtEntry = 1 << 25;

/// Why it was not executed.
struct NotInterpreted {
  int op = kNone;
  std::string why;  ///< with the op's name and line
};

/// Executes the function around `loop`. `real` is every real argument.
std::variant<Interpretation, NotInterpreted> interpret(const Module& module, int loop,
                                                       const meaning::Launch& launch, double real,
                                                       std::uint64_t seed);

}  // namespace twill::ttgir
