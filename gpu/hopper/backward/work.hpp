// Which work a block of the Hopper backward kernel does, in what order, and which keys a row sees.
// Plain arithmetic, the same on the host and on the device: gpu/tests/work_test.cpp checks it.
#pragma once

#include "gpu/hopper/backward/tile.hpp"

namespace twill::gpu {

struct BackwardWork {
  int query_length;  ///< >= 1
  int key_length;    ///< >= 1
  int query_heads, key_heads;
  int group;      ///< query heads that share one key/value head: their dK and dV are one sum
  int rows;       ///< of a query tile
  int tiles;      ///< query tiles that cover a head's query rows
  int key_tiles;  ///< tiles of kKeyRows keys that cover a head's keys
  int section;    ///< key/value heads whose tiles are interleaved, longest first
  int units;      ///< key_tiles * batch * key_heads: the blocks of the grid
  bool causal;
  int diagonal;  ///< causal: row r sees keys <= r + diagonal
};

/// A block's part: one tile of keys of one key/value head.
struct KeyTile {
  int batch, key_head;
  int number;      ///< of the tile in its head
  int first;       ///< query tiles first .. tiles - 1 of each of the `group` query heads
  int iterations;  ///< of all heads; 0: no query row sees a key of the tile
};

/// A tile of query rows as the number-th of a block.
struct QueryPlace {
  int query_head;
  int row;  ///< the first; may lie beyond the last row
};

/// The number of keys, from the first, that a query row sees; negative or 0: none.
TWILL_GPU_BOTH int keys_seen(const BackwardWork& w, int row) {
  return w.causal ? smaller(w.key_length, row + w.diagonal + 1) : w.key_length;
}

/// Tiles with earlier keys come first within a section of heads: causal ones are the longest.
TWILL_GPU_BOTH KeyTile key_tile(const BackwardWork& w, int unit) {
  const int per_section = w.section * w.key_tiles;
  const int first = unit / per_section * w.section;
  const int rest = unit % per_section;
  const int heads = smaller(w.section, w.units / w.key_tiles - first);
  const int head = first + rest % heads;
  KeyTile tile;
  tile.batch = head / w.key_heads;
  tile.key_head = head % w.key_heads;
  tile.number = rest / heads;
  tile.first = 0;
  if (w.causal) {
    const int row = tile.number * kKeyRows - w.diagonal;  // the first that sees a key of the tile
    if (row >= w.query_length)
      tile.first = w.tiles;
    else if (row > 0)
      tile.first = row / w.rows;
  }
  tile.iterations = (w.tiles - tile.first) * w.group;
  return tile;
}

/// Query tile number `number` (0, 1, ...) of a block's tile.
TWILL_GPU_BOTH QueryPlace query_place(const BackwardWork& w, const KeyTile& tile, int number) {
  const int per_head = w.tiles - tile.first;
  return {tile.key_head * w.group + number / per_head, (tile.first + number % per_head) * w.rows};
}

}  // namespace twill::gpu
