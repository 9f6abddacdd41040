// A consumer warpgroup of the Hopper forward kernel: the statements of its slot's program
// (forward/program.hpp), and what each does.
#pragma once

#include "gpu/hopper/forward/arguments.hpp"
#include "gpu/hopper/forward/traits.cuh"
#include "gpu/hopper/ptx.cuh"
#include "gpu/hopper/store.cuh"

#include <utility>

namespace twill::gpu {

/// Do warpgroups with schedules of their own take turns on the tensor core? Not, to measure what
/// that costs.
#ifdef TWILL_GPU_NO_TURNS
inline constexpr bool kWithTurns = false;
#else
inline constexpr bool kWithTurns = true;
#endif

/// One consumer warpgroup's state. All arrays are in registers.
template <class F, int kSlot>
struct Consumer {
  static constexpr int kKeys = F::kKeys, kHeadDim = F::kTile.head_dim;
  static constexpr bool kTurns = kWithTurns && F::kSchedule.slots > 1;
  using Qk = Wgmma<F::kElement, kKeys>;
  using Pv = Wgmma<F::kElement, kHeadDim>;

  const ForwardArguments& g;
  const std::uint32_t shared;  ///< address of the Q tiles; the rest at F's offsets
  const int group;             ///< this warpgroup, from 0
  const int rank;              ///< of the block in its cluster

  float s[kKeys / 2], e[kKeys / 2], o[kHeadDim / 2];  ///< S, P in fp32, O
  std::uint32_t p[kKeys / 4];
  float row_max[2], m[2], m_before[2], alpha[2], sum[2], l[2];
  std::uint32_t before = 0;  ///< key blocks of all earlier tiles: iteration i is number before + i
  int blocks = 0, row = 0;   ///< of the tile at work; row = this warpgroup's first

  /// The barrier on which warpgroup `w` waits for its turn.
  static __device__ __forceinline__ int turn_barrier(int w) { return 1 + w; }

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x % 32); }
  /// 0 to 3, of the warpgroup's four.
  static __device__ __forceinline__ int warp() { return static_cast<int>(threadIdx.x % 128 / 32); }
  __device__ __forceinline__ std::uint32_t q_tile() const {
    return shared + static_cast<std::uint32_t>(group) * F::kTile.q_bytes;
  }

  __device__ __forceinline__ std::uint32_t o_tile() const {
    return shared + F::kO + static_cast<std::uint32_t>(group) * F::kTile.q_bytes;
  }

  /// The last product that reads this tile's Q has ended, for this warp.
  __device__ __forceinline__ void free_queries() {
    if constexpr (F::kOwnOutput) barrier_arrive_if(lane() == 0, shared + F::kQFree + 8 * group);
  }

  /// `kBranch`: around the arrivals, for a release with a product in flight. ptxas fills the clocks
  /// between the issues of a product (97 each, as it counts) with all arithmetic that the code up
  /// to the next branch has: without one behind QK, exponentials held up the issue of PV, and the
  /// tensor core with it.
  template <bool kBranch>
  __device__ __forceinline__ void free_buffer(BarrierAddress barrier) {
    // Alone in its cluster, a block is itself the other: its address is computed all the same.
    const auto other = static_cast<std::uint32_t>(rank ^ (g.blocks - 1));
    if constexpr (kBranch) {
      if (lane() != 0) return;
      barrier_arrive(barrier);
      if (g.blocks > 1) barrier_arrive_remote(barrier, other);
    } else {
      barrier_arrive_if(lane() == 0, barrier);
      barrier_arrive_remote_if(lane() == 0 && g.blocks > 1, barrier, other);
    }
  }

  /// Where K and V of an iteration are in their rings.
  __device__ __forceinline__ RingPosition<F::kRing> ring(int iteration) const {
    return {before + static_cast<std::uint32_t>(iteration)};
  }

  /// Until the tensor core is this warpgroup's, to issue `kOp`. ptxas moves a named barrier up over
  /// arithmetic: before PV it stood in front of the softmax and let the warpgroup wait for a turn
  /// that it did not need yet. So the barrier's number there is one of which ptxas knows only that
  /// it takes the last of P: no cluster has 256 blocks, what is added is 0.
  template <Op kOp>
  __device__ __forceinline__ void take_turn() {
    int barrier = turn_barrier(kSlot);
    if constexpr (kOp == Op::pv)
      barrier += static_cast<int>(p[kKeys / 4 - 1] & static_cast<std::uint32_t>(g.blocks >> 8));
    named_sync(barrier, 128 * F::kConsumers);
  }

  __device__ __forceinline__ void issue_qk(int iteration) {
    const std::uint64_t a = tile_descriptor(q_tile(), 16, 1024);
    const std::uint64_t b =
        tile_descriptor(shared + F::kKRing + ring(iteration).index() * F::kTile.kv_bytes, 16, 1024);
    forget(s);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
      const int panel = step / 4, within = step % 4 * 2;  // 16 elements = 32 bytes of the panel
      Qk::template ss<0, 0>(s, a + panel * (kWarpgroupRows * 128 / 16) + within,
                            b + panel * (kKeys * 128 / 16) + within, step != 0);
    }
    wgmma_commit();
    pin(s);
  }

  __device__ __forceinline__ void issue_pv(int iteration) {
    const std::uint64_t b = tile_descriptor(
        shared + F::kVRing + ring(iteration).index() * F::kTile.kv_bytes, kKeys * 128, 1024);
    pin(o);
    pin(p);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step)
      Pv::template rs<1>(o, p + 4 * step, b + step * (16 * 128 / 16), 1);
    wgmma_commit();
    pin(o);
    pin(p);
  }

  /// Keys beyond the end or, causal, beyond the row's own: -inf. `iteration` counts from the last
  /// key block.
  __device__ __forceinline__ void mask(int iteration) {
    const int first_key = (blocks - 1 - iteration) * kKeys;
    if (first_key + kKeys <= keys_seen(g, row)) return;  // no key of it is masked in any row
    const int lane_key = first_key + 2 * (lane() & 3);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int limit = keys_seen(g, row + warp() * 16 + h * 8 + lane() / 4) - lane_key;
#pragma unroll
      for (int j = 0; j < kKeys / 8; ++j)
#pragma unroll
        for (int c = 0; c < 2; ++c)
          if (8 * j + c >= limit) s[4 * j + 2 * h + c] = -INFINITY;
    }
  }

  /// The maximum as the subtrahend: a row that has seen no key yet subtracts 0, so that its
  /// -inf scores give 0 and not NaN.
  static __device__ __forceinline__ float subtrahend(float maximum) {
    return maximum == -INFINITY ? 0.f : maximum;
  }

  template <Op kOp>
  __device__ __forceinline__ void compute() {
    if constexpr (kOp == Op::row_max) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float a = s[2 * h], b = s[2 * h + 1];  // two chains
#pragma unroll
        for (int j = 1; j < kKeys / 8; ++j) {
          a = fmaxf(a, s[4 * j + 2 * h]);
          b = fmaxf(b, s[4 * j + 2 * h + 1]);
        }
        a = fmaxf(a, b);
        a = fmaxf(a, __shfl_xor_sync(~0u, a, 1));
        row_max[h] = fmaxf(a, __shfl_xor_sync(~0u, a, 2));
      }
    } else if constexpr (kOp == Op::sub_s) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float minus = -subtrahend(m[h]);
#pragma unroll
        for (int j = 0; j < kKeys / 8; ++j)
#pragma unroll
          for (int c = 0; c < 2; ++c)
            e[4 * j + 2 * h + c] = fmaf(s[4 * j + 2 * h + c], g.scale_log2, minus);
      }
    } else if constexpr (kOp == Op::exp_p) {
#pragma unroll
      for (int i = 0; i < kKeys / 2; ++i) e[i] = exp2_approx(e[i]);
    } else if constexpr (kOp == Op::trunc_p) {
#pragma unroll
      for (int i = 0; i < kKeys / 4; ++i) p[i] = pack<F::kElement>(e[2 * i], e[2 * i + 1]);
    } else if constexpr (kOp == Op::mul_acc) {
#pragma unroll
      for (int i = 0; i < kHeadDim / 2; ++i) o[i] *= alpha[(i >> 1) & 1];
    } else if constexpr (kOp == Op::row_sum) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float a = e[2 * h], b = e[2 * h + 1];
#pragma unroll
        for (int j = 1; j < kKeys / 8; ++j) {
          a += e[4 * j + 2 * h];
          b += e[4 * j + 2 * h + 1];
        }
        sum[h] = a + b;
      }
    } else {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        if constexpr (kOp == Op::mul_m) row_max[h] *= g.scale_log2;
        if constexpr (kOp == Op::max_m) {
          m_before[h] = m[h];
          m[h] = fmaxf(m[h], row_max[h]);
        }
        if constexpr (kOp == Op::sub_m) alpha[h] = m_before[h] - subtrahend(m[h]);
        if constexpr (kOp == Op::exp_a) alpha[h] = exp2_approx(alpha[h]);
        if constexpr (kOp == Op::mul_l) l[h] *= alpha[h];
        if constexpr (kOp == Op::add_l) l[h] += sum[h];
      }
    }
  }

  /// One statement at macro-iteration t.
  template <Action kAction>
  __device__ __forceinline__ void run(int t) {
    constexpr Do what = kAction.what;
    const int iteration = t - kAction.lag;
    if constexpr (what == Do::wait_k) {
      const auto at = ring(iteration);
      barrier_wait(shared + F::kKFull + 8 * at.index(), at.parity());
    } else if constexpr (what == Do::wait_v) {
      const auto at = ring(iteration);
      barrier_wait(shared + F::kVFull + 8 * at.index(), at.parity());
    } else if constexpr (what == Do::take_turn) {
      if constexpr (kTurns) take_turn<kAction.op>();
    } else if constexpr (what == Do::give_turn) {
      if constexpr (kTurns) named_arrive(turn_barrier(1 - kSlot), 128 * F::kConsumers);
    } else if constexpr (what == Do::issue_qk) {
      issue_qk(iteration);
    } else if constexpr (what == Do::issue_pv) {
      issue_pv(iteration);
    } else if constexpr (what == Do::wait_groups) {
      wgmma_wait<kAction.pending>();
    } else if constexpr (what == Do::end_qk) {
      pin(s);
      free_buffer<false>(shared + F::kKFree + 8 * ring(iteration).index());
    } else if constexpr (what == Do::end_pv) {
      pin(o);
      pin(p);
      // In the first macro-iterations there is none yet to end; from lag 1 on t >= 1 says enough.
      if (kAction.lag < 2 || iteration >= 0)
        free_buffer<(kAction.lag > 1)>(shared + F::kVFree + 8 * ring(iteration).index());
    } else if constexpr (what == Do::mask) {
      mask(iteration);
    } else {
      compute<kAction.op>();
    }
  }

  template <Phase kPhase, int kFrom, std::size_t... kIndex>
  __device__ __forceinline__ void run_all([[maybe_unused]] int t, std::index_sequence<kIndex...>) {
    (run<F::template kProgram<kSlot, kPhase>.action[kFrom + kIndex]>(t), ...);
  }
  /// Statements [kFrom, kTo) of a phase.
  template <Phase kPhase, int kFrom = 0, int kTo = F::template kProgram<kSlot, kPhase>.count>
  __device__ __forceinline__ void phase(int t) {
    run_all<kPhase, kFrom>(t, std::make_index_sequence<kTo - kFrom>());
  }

  /// The loop over the key blocks of one tile. Its back edge lies where no wgmma group is in
  /// flight, and no two paths meet where one is: a register moved there would be an accumulator in
  /// use, for which ptxas serialises wgmma.
  __device__ __forceinline__ void attend() {
#pragma unroll
    for (int i = 0; i < kHeadDim / 2; ++i) o[i] = 0.f;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      m[h] = m_before[h] = -INFINITY;
      l[h] = alpha[h] = 0.f;
    }
    constexpr int cut = F::template kProgram<kSlot, Phase::steady>.cut;
    phase<Phase::prologue>(0);
    if (blocks == 1) {
      free_queries();
      phase<Phase::epilogue>(1);
    } else {
      phase<Phase::steady, 0, cut>(1);
#pragma unroll 1
      for (int t = 1; t + 1 < blocks; ++t) {
        phase<Phase::steady, cut>(t);
        phase<Phase::steady, 0, cut>(t + 1);
      }
      free_queries();
      phase<Phase::steady, cut>(blocks - 1);
      phase<Phase::epilogue>(blocks);
    }
  }

  /// O / l in 16 bits to this warpgroup's O or Q tile, from there by TMA; the log-sum-exp.
  __device__ __forceinline__ void store(const QueryTile& tile) {
    const int local = 3 + group;  // named barrier of the warpgroup's own 128 threads
    float inverse[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float total = l[h];
      total += __shfl_xor_sync(~0u, total, 1);
      total += __shfl_xor_sync(~0u, total, 2);
      inverse[h] = total > 0.f ? 1.f / total : total == 0.f ? 0.f : total;  // NaN stays NaN
      const int own = row + warp() * 16 + h * 8 + lane() / 4;
      if (g.lse && (lane() & 3) == 0 && own < g.query_length)
        g.lse[static_cast<std::size_t>(tile.head) * g.query_length + own] =
            total == 0.f ? -INFINITY : (m[h] + log2f(total)) * 0.693147180559945309f;
    }
    // The tile before has been stored, or no warp of the group reads Q any more.
    if (F::kOwnOutput && threadIdx.x % 128 == 0) bulk_wait_read();
    named_sync(local, 128);
    store_accumulator<F::kElement, kHeadDim>(o_tile(), o, inverse);
    fence_async_shared();
    named_sync(local, 128);
    if (threadIdx.x % 128 == 0) {
      if (row < g.query_length) {
        tma_store_start(&g.o, o_tile(), row, 0, tile.query_head, tile.batch);
        if constexpr (!F::kOwnOutput) bulk_wait_read();
      }
      if constexpr (!F::kOwnOutput) barrier_arrive(shared + F::kQFree + 8 * group);
    }
  }

  __device__ __forceinline__ void work() {
    std::uint32_t q_parity = 0;
    const int first = blockIdx.x / g.blocks, step = gridDim.x / g.blocks;
    if (kTurns && kSlot != F::kFirstTurn)
      named_arrive(turn_barrier(1 - kSlot), 128 * F::kConsumers);
    for (int unit = first_unit(g, first); unit < g.units; unit = next_unit(g, unit, step)) {
      const QueryTile tile = query_tile(g, unit, rank, kKeys);
      blocks = tile.blocks;
      row = tile.row + group * kWarpgroupRows;
      barrier_wait(shared + F::kQFull + 8 * group, q_parity);
      q_parity ^= 1;
      attend();
      before += static_cast<std::uint32_t>(blocks);
      // The tile again, behind the compiler's back: kept over the loop, it would spill.
      int again = unit;
      asm volatile("" : "+r"(again));
      store(query_tile(g, again, rank, kKeys));
    }
    if (F::kOwnOutput && threadIdx.x % 128 == 0) bulk_wait_read();  // the block's memory is in use
    // The turn that is left over at the end is the first one's.
    if (kTurns && kSlot == F::kFirstTurn) named_sync(turn_barrier(kSlot), 128 * F::kConsumers);
  }
};

}  // namespace twill::gpu
