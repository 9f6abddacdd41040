// Which work a block of the Hopper forward kernel does, in what order, and which keys a row sees.
// Plain arithmetic, the same on the host and on the device: gpu/tests/work_test.cpp checks it.
#pragma once

#include "gpu/hopper/both.hpp"
#include "gpu/hopper/forward/tile.hpp"

namespace twill::gpu {

struct ForwardWork {
  int query_length;  ///< >= 1
  int key_length;    ///< >= 1
  int query_heads;
  int group;      ///< query heads that share one key/value head
  int heads;      ///< batch * query_heads
  int tile_rows;  ///< of one block's query tile
  int rows;       ///< query tiles a head, in units of (blocks of a cluster) * tile_rows rows
  int section;    ///< heads whose tiles are interleaved, longest first; not if paired
  bool paired;    ///< units 2p and 2p + 1 are one block's: a long tile of one head, a short of the
                  ///< next
  int units;      ///< rows * heads: what the clusters of the grid take turns at
  bool causal;
  int diagonal;  ///< causal: row r sees keys <= r + diagonal
  int blocks;    ///< of a cluster: 1, or 2 that share each K and V block by multicast
};

/// One block's part of a unit: which rows of which head, and how many key blocks.
struct QueryTile {
  int head;  ///< batch * query_heads + query_head
  int batch, query_head;
  int row;     ///< the first of tile_rows; may lie beyond the last row in a cluster's second block
  int blocks;  ///< key blocks from the first key on, >= 1
};

/// The number of keys, from the first, that a query row sees; negative or 0: none.
TWILL_GPU_BOTH int keys_seen(const ForwardWork& w, int row) {
  return w.causal ? smaller(w.key_length, row + w.diagonal + 1) : w.key_length;
}

/// The units of cluster `cluster` of `clusters`, in order: while less than w.units.
TWILL_GPU_BOTH int first_unit(const ForwardWork& w, int cluster) {
  return w.paired ? 2 * cluster : cluster;
}
TWILL_GPU_BOTH int next_unit(const ForwardWork& w, int unit, int clusters) {
  if (!w.paired) return unit + clusters;
  return unit % 2 == 0 ? unit + 1 : unit - 1 + 2 * clusters;
}

/// Tiles with later rows come first within a section of heads: causal ones are the longest. Paired,
/// the tile of number r from the end of an even head is followed by that from the start of the
/// next: causal ones are together as long as any other pair.
TWILL_GPU_BOTH QueryTile query_tile(const ForwardWork& w, int unit, int rank, int keys) {
  QueryTile tile;
  int from_end;
  if (w.paired) {
    const int pair = unit / 2, late = unit % 2, r = pair % w.rows;
    tile.head = pair / w.rows * 2 + late;
    from_end = late ? w.rows - 1 - r : r;
  } else {
    const int per_section = w.section * w.rows;
    const int first = unit / per_section * w.section;
    const int rest = unit % per_section;
    const int heads = smaller(w.section, w.heads - first);
    tile.head = first + rest % heads;
    from_end = rest / heads;
  }
  tile.batch = tile.head / w.query_heads;
  tile.query_head = tile.head % w.query_heads;
  tile.row = ((w.rows - 1 - from_end) * w.blocks + rank) * w.tile_rows;
  const int seen = keys_seen(w, smaller(tile.row + w.tile_rows, w.query_length) - 1);
  // A tile whose rows see no key still runs one block, wholly masked.
  tile.blocks = seen < 1 ? 1 : (seen + keys - 1) / keys;
  return tile;
}

}  // namespace twill::gpu
