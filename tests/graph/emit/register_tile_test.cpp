// Which bits of a column are a thread's own, beside the elements of all threads.
#include <doctest/doctest.h>

#include <cstdint>

#include "graph/emit/register_tile.hpp"

namespace register_tile_test {

using namespace twill;
using emit::RegisterTile;
using emit::Target;

std::int64_t bits(Target target, std::int64_t rows, std::int64_t columns, int warps) {
  const auto tile = emit::register_tile(target, rows, columns, warps);
  REQUIRE(tile.has_value());
  return emit::column_bits_of_threads(*tile);
}

TEST_CASE("a thread's own bits of a column, by hand") {
  // wgmma: two neighbours a lane, four lanes a row (PTX ISA, "wgmma, register fragments").
  CHECK(bits(Target::hopper, 128, 128, 8) == 6);
  CHECK(bits(Target::hopper, 64, 128, 4) == 6);
  // Two warpgroups with 64 columns each.
  CHECK(bits(Target::hopper, 64, 128, 8) == 64 + 6);
  // With 40 each the second one begins in the middle of what the first one counts in.
  CHECK(bits(Target::hopper, 64, 80, 8) == 0);
  // A row a thread; the second warpgroup has the other half of it.
  CHECK(bits(Target::blackwell, 128, 64, 4) == 0);
  CHECK(bits(Target::blackwell, 128, 64, 8) == 32);
  // Half a row a thread.
  CHECK(bits(Target::blackwell, 64, 64, 4) == 32);
}

TEST_CASE("without a thread's own bits its columns are those of every thread") {
  int apart = 0, none = 0;
  for (const Target target : {Target::hopper, Target::blackwell})
    for (const std::int64_t rows : {64, 128, 256})
      for (const std::int64_t columns : {8, 16, 24, 64, 80, 96, 128, 256, 320, 512})
        for (const int warps : {4, 8}) {
          const auto tile = emit::register_tile(target, rows, columns, warps);
          if (!tile || rows % (16 * warps / tile->across) != 0) continue;
          const std::int64_t own = emit::column_bits_of_threads(*tile);
          const auto first = emit::elements(*tile, 0, 0);
          std::int64_t wrong = 0, differ = 0;
          for (int warp = 0; warp < warps; ++warp)
            for (int lane = 0; lane < 32; ++lane) {
              const auto mine = emit::elements(*tile, warp, lane);
              REQUIRE(mine.size() == first.size());
              for (std::size_t k = 0; k < mine.size(); ++k) {
                differ += mine[k].second != first[k].second;
                wrong += own != 0 && (mine[k].second & ~own) != first[k].second;
                // What a thread adds is the same for all of its elements.
                wrong += own != 0 && (mine[k].second & own) != (mine[0].second & own);
              }
            }
          CAPTURE(rows);
          CAPTURE(columns);
          CAPTURE(warps);
          CHECK(wrong == 0);
          if (own != 0) CHECK(differ > 0);
          ++(own != 0 ? apart : none);
        }
  CHECK(apart > 40);
  CHECK(none > 5);
}

}  // namespace register_tile_test
