// The loading warp of the Hopper backward kernel, and the warp that adds dQ to its sum.
#pragma once

#include "gpu/hopper/backward/arguments.hpp"
#include "gpu/hopper/backward/traits.cuh"
#include "gpu/hopper/ptx.cuh"

namespace twill::gpu {

/// The block's tile, as its first thread left it in shared memory.
template <class F>
__device__ __forceinline__ KeyTile kept_tile(std::uint32_t shared) {
  const auto kept = [shared](std::uint32_t at) {
    return static_cast<int>(load_shared(shared + at));
  };
  KeyTile tile;
  tile.batch = kept(F::kTileBatch);
  tile.key_head = kept(F::kTileHead);
  tile.number = kept(F::kTileNumber);
  tile.first = kept(F::kTileFirst);
  tile.iterations = kept(F::kTileIterations);
  return tile;
}

/// K and V once, then Q with the log-sum-exp and dO with delta of every query tile. By one thread.
template <class F>
__device__ __forceinline__ void load_backward(const BackwardArguments& g, std::uint32_t shared,
                                              const KeyTile& tile) {
  if (tile.iterations == 0) return;
  const int key = tile.number * kKeyRows;
  barrier_expect(shared + F::kKFull, F::kTile.kv_bytes);
  tma_load(shared + F::kK, &g.k, key, 0, tile.key_head, tile.batch, shared + F::kKFull);
  RingPosition<F::kRingQ> q;
  RingPosition<F::kRingDo> d_o;
  for (int number = 0; number < tile.iterations; ++number) {
    const QueryPlace place = query_place(g, tile, number);
    const std::size_t stats =
        (static_cast<std::size_t>(tile.batch) * g.query_heads + place.query_head) * g.tiles *
            F::kRows +
        place.row;
    const BarrierAddress q_full = shared + F::kQFull + 8 * q.index();
    barrier_wait(shared + F::kQFree + 8 * q.index(), q.parity() ^ 1);
    // Every row of a tile without a causal mask sees all keys: more than a block has.
    const int seen = g.causal ? place.row + g.diagonal + 1 - key : kKeyRows + F::kRows;
    store_shared(shared + F::kSeen + 4 * q.index(), static_cast<std::uint32_t>(seen));
    barrier_expect(q_full, F::kTile.q_bytes + F::kTile.row_bytes);
    tma_load(shared + F::kQ + q.index() * F::kTile.q_bytes, &g.q, place.row, 0, place.query_head,
             tile.batch, q_full);
    bulk_load(shared + F::kLse + q.index() * F::kTile.row_bytes, g.lse + stats, F::kTile.row_bytes,
              q_full);
    ++q.count;
    if (number == 0) {
      barrier_expect(shared + F::kVFull, F::kTile.kv_bytes);
      tma_load(shared + F::kV, &g.v, key, 0, tile.key_head, tile.batch, shared + F::kVFull);
    }
    const BarrierAddress do_full = shared + F::kDoFull + 8 * d_o.index();
    barrier_wait(shared + F::kDoFree + 8 * d_o.index(), d_o.parity() ^ 1);
    barrier_expect(do_full, F::kTile.q_bytes + F::kTile.row_bytes);
    tma_load(shared + F::kDo + d_o.index() * F::kTile.q_bytes, &g.d_o, place.row, 0,
             place.query_head, tile.batch, do_full);
    bulk_load(shared + F::kDelta + d_o.index() * F::kTile.row_bytes, g.delta + stats,
              F::kTile.row_bytes, do_full);
    ++d_o.count;
  }
}

/// Adds the consumers' parts of dQ to its sum. By one warp, of which lane 0 issues and waits (bulk
/// groups are a thread's own). In a fixed order (g.added), a tile of dQ takes the key tiles one
/// after the other: each block waits until those before it have been added. Units are taken in
/// order, and every key tile before this one sees all query tiles that this one sees, so those
/// waited for are taken, by blocks that are running.
template <class F>
__device__ __forceinline__ void add_dq(const BackwardArguments& g, std::uint32_t shared,
                                       const KeyTile& tile) {
  if (tile.iterations == 0) return;
  const bool leader = threadIdx.x % 32 == 0;
  for (int w = 0; w < kConsumers; ++w) named_arrive(staging_free_barrier(w), kStagingThreads);
  for (int number = 0; number < tile.iterations; ++number) {
    const QueryPlace place = query_place(g, tile, number);
    const std::size_t at =
        (static_cast<std::size_t>(tile.batch) * g.query_heads + place.query_head) * g.tiles +
        place.row / F::kRows;
    if (leader && g.added) {
      while (load_acquire(g.added + at) != static_cast<unsigned>(tile.number)) back_off();
      fence_async_global();
    }
    for (int w = 0; w < kConsumers; ++w) {
      __syncwarp();  // bar.sync is a whole warp's
      named_sync(staging_full_barrier(w), kStagingThreads);
      if (leader)
        bulk_add(g.dq + (at * kConsumers + w) * F::kTile.dq_values,
                 shared + F::kStaging + w * (F::kTile.dq_values * 4), F::kTile.dq_values * 4);
    }
    const bool last = number + 1 == tile.iterations;
    if (leader) bulk_wait_read<1>();
    __syncwarp();
    if (!last) named_arrive(staging_free_barrier(0), kStagingThreads);
    if (leader) bulk_wait_read<0>();
    __syncwarp();
    if (!last) named_arrive(staging_free_barrier(1), kStagingThreads);
    if (leader && g.added) {
      bulk_wait_done();
      fence_async_global();
      add_release(g.added + at, 1);
    }
  }
}

}  // namespace twill::gpu
