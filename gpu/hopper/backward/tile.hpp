// Tile sizes, shared memory and fragment order of the Hopper backward kernel, by head dimension and
// rows of a query tile. Plain C++: the host sizes its launches and its tensor maps with them.
#pragma once

#include "gpu/hopper/both.hpp"
#include "gpu/hopper/forward/tile.hpp"

namespace twill::gpu {

/// Keys of a block, 64 for each consumer warpgroup (wgmma's M).
inline constexpr int kKeyRows = kWarpgroupRows * kConsumers;
inline constexpr int kBackwardThreads = 128 * (kConsumers + 1);

/// Shared memory of one block: K, V, the rings of Q and dO, two buffers of dS, one staging buffer
/// of dQ for each warpgroup, the rings of log-sum-exp and delta, barriers, and what alignment may
/// cost. Sizes in bytes; all tiles are multiples of 1024, the period of the swizzle.
struct BackwardTile {
  int head_dim;
  int rows;       ///< of a query tile
  int panels;     ///< head_dim / 64
  int kv_bytes;   ///< of the K or V tile
  int q_bytes;    ///< of a Q or dO tile
  int ds_bytes;   ///< of dS, [2 panels of 64 keys][rows][64 keys]
  int dq_values;  ///< fp32 values of a warpgroup's part of a dQ tile
  int row_bytes;  ///< of the log-sum-exp or delta of a tile
};

constexpr BackwardTile backward_tile(int head_dim, int rows) {
  return {head_dim,
          rows,
          head_dim / kPanel,
          kKeyRows * head_dim * 2,
          rows * head_dim * 2,
          rows * kKeyRows * 2,
          rows * head_dim / kConsumers,
          rows * 4};
}

inline constexpr int kBackwardBarrierBytes = 256;

constexpr int backward_shared_bytes(int head_dim, int rows, int ring_q, int ring_do) {
  const BackwardTile t = backward_tile(head_dim, rows);
  return 2 * t.kv_bytes + (ring_q + ring_do) * (t.q_bytes + t.row_bytes) + 2 * t.ds_bytes +
         kConsumers * t.dq_values * 4 + kBackwardBarrierBytes + 1024;
}

/// Query row and column of a dQ tile.
struct DqPlace {
  int row, column;
};

/// Where value i of a thread's dQ accumulator belongs: dQ^T is computed with 64 of its rows
/// (columns of dQ) as wgmma's M. With head dimension 128 each warpgroup has 64 columns and all
/// query rows, with 64 all columns and half of the query rows. The fp32 sum in global memory is
/// kept in this order, [warpgroup][i / 4][thread][i % 4], in which it is reduced without a tensor
/// map.
TWILL_GPU_BOTH constexpr DqPlace dq_place(int head_dim, int rows, int warpgroup, int thread,
                                          int i) {
  const int m = thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2);
  const int n = i / 4 * 8 + thread % 4 * 2 + i % 2;
  return head_dim == 64 ? DqPlace{warpgroup * (rows / 2) + n, m}
                        : DqPlace{n, warpgroup * kWarpgroupRows + m};
}

}  // namespace twill::gpu
