// The loading warps of the Hopper forward kernel: K and V blocks into their rings, Q tiles.
#pragma once

#include "gpu/hopper/forward/arguments.hpp"
#include "gpu/hopper/forward/traits.cuh"
#include "gpu/hopper/ptx.cuh"

namespace twill::gpu {

/// K and V blocks of every tile, each K one block ahead of its V.
template <class F>
__device__ __forceinline__ void load_keys_values(const ForwardArguments& g, std::uint32_t shared,
                                                 int rank) {
  RingPosition<F::kRing> k, v;
  const auto load = [&](const CUtensorMap* map, std::uint32_t ring, RingPosition<F::kRing>& at,
                        BarrierAddress full, BarrierAddress free, int key, int head, int batch) {
    const std::uint32_t to = shared + ring + at.index() * F::kTile.kv_bytes;
    full += shared + 8 * at.index();
    free += shared + 8 * at.index();
    barrier_wait(free, at.parity() ^ 1);
    barrier_expect(full, F::kTile.kv_bytes);
    if (g.blocks == 1) {
      tma_load(to, map, key, 0, head, batch, full);
    } else {  // each block loads half of the panels, for both
      tma_load_multicast(to + rank * (F::kTile.kv_bytes / 2), map, key,
                         rank * (F::kTile.panels / 2), head, batch, full, 0b11);
    }
    ++at.count;
  };
  const int first = blockIdx.x / g.blocks, step = gridDim.x / g.blocks;
  for (int unit = first_unit(g, first); unit < g.units; unit = next_unit(g, unit, step)) {
    const QueryTile tile = query_tile(g, unit, rank, F::kKeys);
    const int head = tile.query_head / g.group;
    for (int t = 0; t <= tile.blocks; ++t) {
      if (t < tile.blocks)
        load(&g.k, F::kKRing, k, F::kKFull, F::kKFree, (tile.blocks - 1 - t) * F::kKeys, head,
             tile.batch);
      if (t > 0)
        load(&g.v, F::kVRing, v, F::kVFull, F::kVFree, (tile.blocks - t) * F::kKeys, head,
             tile.batch);
    }
  }
}

/// The Q tile of each consumer warpgroup.
template <class F>
__device__ __forceinline__ void load_queries(const ForwardArguments& g, std::uint32_t shared,
                                             int rank) {
  std::uint32_t parity = 1;
  const int first = blockIdx.x / g.blocks, step = gridDim.x / g.blocks;
  for (int unit = first_unit(g, first); unit < g.units;
       unit = next_unit(g, unit, step), parity ^= 1) {
    const QueryTile tile = query_tile(g, unit, rank, F::kKeys);
    for (int w = 0; w < F::kConsumers; ++w) {
      const BarrierAddress full = shared + F::kQFull + 8 * w;
      barrier_wait(shared + F::kQFree + 8 * w, parity);
      barrier_expect(full, F::kTile.q_bytes);
      tma_load(shared + w * F::kTile.q_bytes, &g.q, tile.row + w * kWarpgroupRows, 0,
               tile.query_head, tile.batch, full);
    }
  }
}

}  // namespace twill::gpu
