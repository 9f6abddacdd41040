#include "graph/emit/register_tile.hpp"

#include <algorithm>

namespace twill::emit {

std::optional<RegisterTile> register_tile(Target target, std::int64_t rows, std::int64_t columns,
                                          int warps) {
  if (warps < 4 || warps % 4 != 0) return std::nullopt;
  RegisterTile tile{RegisterTile::accumulators, rows, columns, warps, 1};
  if (target == Target::hopper) {
    // A warpgroup's wgmma has 64 rows and a multiple of 8 columns, at most 256.
    if (rows < 64 || rows % 64 != 0 || columns % 8 != 0 || columns < 8) return std::nullopt;
    // Where there are fewer rows than warps for them, warpgroups share out the columns.
    while (rows < std::int64_t{16} * warps / tile.across) tile.across *= 2;
    if (columns % (8 * tile.across) != 0) return std::nullopt;
    return tile;
  }
  tile.across = warps / 4;  // warpgroups share out the columns
  if (warps > 8 || columns < tile.across || columns % tile.across != 0) return std::nullopt;
  // A row a thread: what a warp's quarter of the lanes gives it.
  tile.form = RegisterTile::row;
  if (rows == 128) return tile;
  // 64 rows lie in 16 lanes of each quarter; a warp's two halves read half of the columns each.
  tile.form = RegisterTile::half_row;
  if (rows != 64 || columns / tile.across < 2 || (columns & (columns - 1)) != 0)
    return std::nullopt;
  return tile;
}

std::int64_t product_columns(const RegisterTile& tile) {
  const std::int64_t part = tile.columns / tile.across;
  std::int64_t columns = std::min<std::int64_t>(part, 256);
  while (part % columns != 0) columns -= 8;
  return columns;
}

std::vector<std::pair<std::int64_t, std::int64_t>> elements(const RegisterTile& tile, int warp,
                                                            int lane) {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  const std::int64_t part = tile.columns / tile.across;
  if (tile.form == RegisterTile::accumulators) {
    const std::int64_t along = tile.warps / tile.across;  // warps with rows of their own
    const std::int64_t columns = product_columns(tile);
    for (std::int64_t row = 16 * (warp % along) + lane / 4; row < tile.rows; row += 16 * along)
      for (std::int64_t first = columns * (warp / along); first < tile.columns;
           first += columns * tile.across)
        for (std::int64_t column = first + std::int64_t{2} * (lane % 4); column < first + columns;
             column += 8)
          for (const std::int64_t below : {0, 8})
            for (const std::int64_t beside : {0, 1}) all.emplace_back(row + below, column + beside);
    return all;
  }
  const bool whole = tile.form == RegisterTile::row;
  const std::int64_t row = whole ? 32 * (warp % 4) + lane : 16 * (warp % 4) + lane % 16;
  const std::int64_t width = whole ? part : part / 2;
  const std::int64_t first = part * (warp / 4) + (whole ? 0 : width * (lane / 16));
  for (std::int64_t column = first; column < first + width; ++column) all.emplace_back(row, column);
  return all;
}

std::int64_t column_bits_of_threads(const RegisterTile& tile) {
  constexpr int kLanesOfWarp = 32;
  const auto first = elements(tile, 0, 0);
  std::int64_t bits = 0, known = 0;
  for (const auto& [row, column] : first) known |= column;
  for (int warp = 0; warp < tile.warps; ++warp)
    for (int lane = 0; lane < kLanesOfWarp; ++lane) {
      const auto mine = elements(tile, warp, lane);
      if (mine.size() != first.size()) return 0;
      for (std::size_t k = 0; k < mine.size(); ++k) bits |= mine[k].second ^ first[k].second;
    }
  return (bits & known) == 0 ? bits : 0;
}

}  // namespace twill::emit
