// Integers of a replayed loop, tiles of them too: where tiles lie is made of a few ranges and of
// numbers that grow with the iterations. Private to graph/ttgir/.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/ttgir/ir.hpp"
#include "graph/ttgir/replay.hpp"

namespace twill::ttgir {

/// Is a value an integer, or a tile of integers (no flags)?
bool is_integer_or_tile(const Module& module, int value);

/// What integers are as sums. A tile's terms are tiles: a range, say, in the form that it has by
/// then; its constant and the terms of numbers stand in each element.
class TileNumbers {
 public:
  TileNumbers(const Module& module, const Replay& replay) : m_(module), r_(replay) {}

  /// nullopt = not known as a sum.
  std::optional<Linear> of(const Datum& datum);

 private:
  static constexpr int kFirstTile = 1 << 28;  ///< unknown numbers have smaller names

  std::optional<Linear> of_tile(int execution, int value);
  /// The name of a tile that is made as `how` says.
  int named(const std::string& how);
  /// The same sum of tiles in another form.
  Linear formed(const Linear& in, int op);

  const Module& m_;
  const Replay& r_;
  std::map<std::pair<int, int>, std::optional<Linear>> known_;
  std::map<std::string, int> names_;
  int depth_ = 0;
};

}  // namespace twill::ttgir
