// Register tiles and bank conflicts, beside Triton's layouts (tests/emit/bank_conflicts.py).
#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "graph/emit/bank_conflicts.hpp"

namespace bank_conflicts_test {

using namespace twill;
using emit::RegisterTile;
using emit::Target;

TEST_CASE("every element of a register tile is one thread's, and has a place of its own") {
  int tiles = 0;
  for (const Target target : {Target::hopper, Target::blackwell})
    for (const std::int64_t rows : {64, 128, 192, 256})
      for (const std::int64_t columns : {8, 16, 24, 64, 80, 96, 128, 176, 256, 512})
        for (const int warps : {4, 8}) {
          const auto tile = emit::register_tile(target, rows, columns, warps);
          // Twelve warps' rows do not divide, and 192 rows are not those of eight warps.
          if (!tile || rows % (16 * warps / tile->across) != 0) continue;
          ++tiles;
          std::set<std::pair<std::int64_t, std::int64_t>> seen;
          std::set<std::int64_t> places;
          std::int64_t wrong = 0;
          for (int warp = 0; warp < warps; ++warp)
            for (int lane = 0; lane < 32; ++lane)
              for (const auto& [row, column] : emit::elements(*tile, warp, lane)) {
                const auto place = emit::swizzled_byte(rows, columns, 2, row, column);
                wrong += row < 0 || row >= rows || column < 0 || column >= columns || place < 0 ||
                         place >= 2 * rows * columns || place % 2 != 0 ||
                         !seen.insert({row, column}).second || !places.insert(place).second;
              }
          CAPTURE(rows);
          CAPTURE(columns);
          CHECK(wrong == 0);
          CHECK(static_cast<std::int64_t>(seen.size()) == rows * columns);
        }
  CHECK(tiles > 60);
}

TEST_CASE("the swizzle of the PTX ISA, by hand") {
  // 128 bytes: piece p of row r stands where piece p xor (r mod 8) would.
  CHECK(emit::swizzled_byte(64, 64, 2, 0, 9) == 18);
  CHECK(emit::swizzled_byte(64, 64, 2, 3, 0) == 3 * 128 + 3 * 16);
  CHECK(emit::swizzled_byte(64, 64, 2, 13, 63) == 13 * 128 + 2 * 16 + 14);
  // Two blocks of 128 bytes a row: the second lies behind all rows of the first.
  CHECK(emit::swizzled_byte(64, 128, 2, 0, 64) == 64 * 128);
  // 64 bytes: two rows have the same exchange; 32 bytes: four.
  CHECK(emit::swizzled_byte(64, 32, 2, 2, 0) == 2 * 64 + 16);
  CHECK(emit::swizzled_byte(64, 16, 2, 4, 0) == 4 * 32 + 16);
  CHECK(emit::swizzled_byte(64, 8, 2, 5, 3) == 5 * 16 + 6);
}

TEST_CASE("as many bank conflicts as Triton counts") {
  std::ifstream in(TWILL_TEST_DATA "/bank-conflicts.csv");
  std::string line;
  REQUIRE(std::getline(in, line));
  int rows = 0, with = 0;
  while (std::getline(in, line)) {
    CAPTURE(line);
    std::istringstream fields(line);
    std::string target;
    std::getline(fields, target, ',');
    std::vector<std::int64_t> numbers;
    for (std::string field; std::getline(fields, field, ',');) numbers.push_back(std::stoll(field));
    REQUIRE(numbers.size() == 5);
    const auto tile = emit::register_tile(target == "hopper" ? Target::hopper : Target::blackwell,
                                          numbers[0], numbers[1], static_cast<int>(numbers[2]));
    REQUIRE(tile);
    const emit::Wavefronts found = emit::wavefronts(*tile, static_cast<int>(numbers[3]));
    CHECK(found.taken == found.least * (1 + numbers[4]));
    ++rows;
    with += numbers[4] > 0;
  }
  CHECK(rows == 150);
  CHECK(with > 20);
}

}  // namespace bank_conflicts_test
