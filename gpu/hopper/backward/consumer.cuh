// A consumer warpgroup of the Hopper backward kernel: the statements of the schedule's program
// (backward/program.hpp), and what each does.
#pragma once

#include "gpu/hopper/backward/arguments.hpp"
#include "gpu/hopper/backward/traits.cuh"
#include "gpu/hopper/ptx.cuh"
#include "gpu/hopper/store.cuh"

#include <climits>
#include <utility>

namespace twill::gpu {

/// One consumer warpgroup's state: 64 of the block's 128 keys. Scores are transposed, a row a key,
/// so that P^T and dS^T are A operands in registers. All arrays are in registers; those of a query
/// tile there are once for each tile of an iteration.
template <class F>
struct BackwardConsumer {
  static constexpr int kRows = F::kRows, kHeadDim = F::kHeadDim;
  /// Query rows of a warpgroup's part of dQ^T, see dq_place.
  static constexpr int kDqRows = kHeadDim == 64 ? kRows / 2 : kRows;
  using Scores = Wgmma<F::kElement, kRows>;
  using Sums = Wgmma<F::kElement, kHeadDim>;
  using Dq = Wgmma<F::kElement, kDqRows>;

  const BackwardArguments& g;
  const std::uint32_t shared;  ///< address of the K tile; the rest at F's offsets
  const int group;             ///< this warpgroup, 0 or 1
  const int iterations;

  float s[kRows / 2], e[kRows / 2], dp[kRows / 2];  ///< S; P; dP, then dS
  std::uint32_t p[kRows / 4], ds[kRows / 4];
  float dq[kDqRows / 2], dk[kHeadDim / 2], dv[kHeadDim / 2];

  // Accumulators leave some 12 registers for all else: what can be computed anew is not kept.
  static __device__ __forceinline__ int thread() {
    return static_cast<int>(fresh(threadIdx.x) % 128);
  }
  __device__ __forceinline__ std::uint32_t base() const { return fresh(shared); }
  __device__ __forceinline__ std::uint32_t own() const {
    return static_cast<std::uint32_t>(fresh(group));
  }

  static __device__ __forceinline__ RingPosition<F::kRingQ> ring_q(int number) {
    return {static_cast<std::uint32_t>(number)};
  }
  static __device__ __forceinline__ RingPosition<F::kRingDo> ring_do(int number) {
    return {static_cast<std::uint32_t>(number)};
  }
  // ptxas moves shared loads up and keeps what it computed once, past pin() and fresh(), which bind
  // the front end only. With 80 rows there is no register for either; these two bind ptxas (and
  // touch_shared in exp_p).

  /// The number, of which ptxas knows nothing.
  static __device__ __forceinline__ int anew(int number) {
    return kRows > 64 ? __shfl_sync(~0u, number, 0) : number;
  }
  /// Between the loads of a row of pairs: no load moves up over more than four.
  static __device__ __forceinline__ void cut_loads(int j) {
    if (kRows > 64 && j % 4 == 3) __syncwarp();
  }

  /// A coordinate that lies in shared memory: over the loop it would take a register, and computing
  /// it anew takes integer divisions.
  __device__ __forceinline__ int kept(std::uint32_t at) const {
    return static_cast<int>(load_shared(base() + at));
  }
  __device__ __forceinline__ std::uint32_t q_tile(int number) const {
    return base() + F::kQ + ring_q(number).index() * F::kTile.q_bytes;
  }
  __device__ __forceinline__ std::uint32_t do_tile(int number) const {
    return base() + F::kDo + ring_do(number).index() * F::kTile.q_bytes;
  }
  __device__ __forceinline__ std::uint32_t ds_tile(int number) const {
    return base() + F::kDs + static_cast<std::uint32_t>(number & 1) * F::kTile.ds_bytes;
  }
  __device__ __forceinline__ std::uint32_t staging() const {
    return base() + F::kStaging + own() * F::kTile.dq_values * 4;
  }

  /// Every lane's reads of the buffer lie before the warp's last wgmma.wait_group, which joins
  /// them.
  static __device__ __forceinline__ void free_buffer(BarrierAddress barrier) {
    if (thread() % 32 == 0) barrier_arrive(barrier);
  }

  /// d = (64 rows of K or V) (query tile)^T: both K-major, depth head_dim.
  __device__ __forceinline__ void issue_scores(float (&d)[kRows / 2], std::uint32_t keys,
                                               std::uint32_t queries) {
    const std::uint64_t a = tile_descriptor(keys + own() * (kWarpgroupRows * 128), 16, 1024);
    const std::uint64_t b = tile_descriptor(queries, 16, 1024);
    forget(d);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
      const int panel = step / 4, within = step % 4 * 2;  // 16 elements = 32 bytes of the panel
      Scores::template ss<0, 0>(d, a + panel * (kKeyRows * 128 / 16) + within,
                                b + panel * (kRows * 128 / 16) + within, step != 0);
    }
    wgmma_commit();
    pin(d);
  }

  /// d += (a, 64 keys x kRows, in registers) (query tile), MN-major, depth kRows.
  __device__ __forceinline__ void issue_sum(float (&d)[kHeadDim / 2], std::uint32_t (&a)[kRows / 4],
                                            std::uint32_t queries) {
    const std::uint64_t b = tile_descriptor(queries, kRows * 128, 1024);
    pin(a);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kRows / 16; ++step)
      Sums::template rs<1>(d, a + 4 * step, b + step * (16 * 128 / 16), 1);
    wgmma_commit();
    pin(d);
    pin(a);
  }

  /// dQ^T = (64 rows of K^T, MN-major) (dS^T, K-major), depth 128 keys.
  __device__ __forceinline__ void issue_dq(int number) {
    std::uint32_t keys = base() + F::kK, scores = ds_tile(number);
    if (kHeadDim == 64)
      scores += own() * (kDqRows * 128);
    else
      keys += own() * (kKeyRows * 128);
    const std::uint64_t a = tile_descriptor(keys, kKeyRows * 128, 1024);
    const std::uint64_t b = tile_descriptor(scores, 16, 1024);
    forget(dq);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < kKeyRows / 16; ++step)
      Dq::template ss<1, 0>(dq, a + step * (16 * 128 / 16),
                            b + step / 4 * (kRows * 128 / 16) + step % 4 * 2, step != 0);
    wgmma_commit();
    pin(dq);
  }

  /// Keys beyond the end or, causal, beyond the query row's own: -inf.
  __device__ __forceinline__ void mask(float (&scores)[kRows / 2], int number) {
    const int seen = kept(F::kSeen + 4 * ring_q(number).index()), left = kept(F::kKeysLeft);
    const int own_keys = static_cast<int>(own()) * kWarpgroupRows;
    if (own_keys + kWarpgroupRows <= smaller(seen, left)) return;  // all are seen
    const int lane = thread() % 32, first = own_keys + thread() / 32 * 16 + lane / 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int key = first + h * 8;
      // Query rows up to this one, counted from the lane's first, do not see the key.
      const int blind = key < left ? key - seen - 2 * (lane & 3) : INT_MAX;
#pragma unroll
      for (int j = 0; j < kRows / 8; ++j)
#pragma unroll
        for (int c = 0; c < 2; ++c)
          if (8 * j + c <= blind) scores[4 * j + 2 * h + c] = -INFINITY;
    }
  }

  __device__ __forceinline__ void convert_p() {
#pragma unroll
    for (int i = 0; i < kRows / 4; ++i) p[i] = pack<F::kElement>(e[2 * i], e[2 * i + 1]);
  }

  template <BackwardOp kOp>
  __device__ __forceinline__ void compute(int number) {
    if constexpr (kOp == BackwardOp::sub_s) {
      const std::uint32_t at = base() + F::kLse + ring_q(number).index() * F::kTile.row_bytes +
                               static_cast<std::uint32_t>(thread() % 4) * 8;
#pragma unroll
      for (int j = 0; j < kRows / 8; ++j) {
        cut_loads(j);
        const float2 m = load_shared_2(at + 32 * j);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          e[4 * j + 2 * h] = fmaf(s[4 * j + 2 * h], g.scale_log2, -m.x);
          e[4 * j + 2 * h + 1] = fmaf(s[4 * j + 2 * h + 1], g.scale_log2, -m.y);
        }
      }
    } else if constexpr (kOp == BackwardOp::exp_p) {
#pragma unroll
      for (int i = 0; i < kRows / 2; ++i) e[i] = exp2_approx(e[i]);
      if constexpr (kRows > 64) {
        // ptxas puts half of the exponentials behind the wait for dP: they must be there before a
        // load that takes all of P for its address. No tile has 65,536 rows: what is added is 0.
        convert_p();
        std::uint32_t all = 0;
#pragma unroll
        for (int i = 0; i < kRows / 4; ++i) all |= p[i];
        touch_shared(base() + F::kKeysLeft + (all & static_cast<std::uint32_t>(g.rows >> 16)));
      }
    } else if constexpr (kOp == BackwardOp::trunc_p) {
      if constexpr (kRows <= 64) convert_p();  // else exp_p has
    } else if constexpr (kOp == BackwardOp::sub_dp) {
      const std::uint32_t at = base() + F::kDelta + ring_do(number).index() * F::kTile.row_bytes +
                               static_cast<std::uint32_t>(thread() % 4) * 8;
#pragma unroll
      for (int j = 0; j < kRows / 8; ++j) {
        cut_loads(j);
        const float2 delta = load_shared_2(at + 32 * j);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          dp[4 * j + 2 * h] -= delta.x;
          dp[4 * j + 2 * h + 1] -= delta.y;
        }
      }
    } else if constexpr (kOp == BackwardOp::mul_ds) {
#pragma unroll
      for (int i = 0; i < kRows / 2; ++i) dp[i] *= e[i];
    } else if constexpr (kOp == BackwardOp::trunc_ds) {
#pragma unroll
      for (int i = 0; i < kRows / 4; ++i) ds[i] = pack<F::kElement>(dp[2 * i], dp[2 * i + 1]);
    } else if constexpr (kOp == BackwardOp::st_ds) {
      // Transposed: [query row][key], this warpgroup's 64 keys are its panel.
      const int lane = thread() % 32, chunk = thread() / 32 * 2 + (lane >> 3 & 1);
      const std::uint32_t to = ds_tile(number) + own() * (F::kTile.ds_bytes / 2) +
                               swizzled((lane & 7) + 8 * (lane >> 4), chunk);
#pragma unroll
      for (int t = 0; t < kRows / 16; ++t)  // 16 rows further on the swizzle is the same
        store_matrix_x4_transposed(to + 16 * 128 * t, ds[4 * t], ds[4 * t + 1], ds[4 * t + 2],
                                   ds[4 * t + 3]);
      fence_async_shared();
    } else if constexpr (kOp == BackwardOp::st_dq) {
      const std::uint32_t to = staging() + static_cast<std::uint32_t>(thread()) * 16;
#pragma unroll
      for (int j = 0; j < kDqRows / 8; ++j)
        store_shared_4(to + 128 * 16 * j, dq[4 * j], dq[4 * j + 1], dq[4 * j + 2], dq[4 * j + 3]);
      fence_async_shared();
    }  // mul_s, bc_m, bc_d: part of sub_s and sub_dp
  }

  /// One statement at macro-iteration t.
  template <BackwardAction kAction>
  __device__ __forceinline__ void run(int t) {
    constexpr BackwardDo what = kAction.what;
    constexpr BackwardOp op = kAction.op;
    const int number = t - kAction.lag;
    if constexpr (what == BackwardDo::wait_q) {
      const auto at = ring_q(number);
      barrier_wait(base() + F::kQFull + 8 * at.index(), at.parity());
    } else if constexpr (what == BackwardDo::wait_do) {
      const auto at = ring_do(anew(number));
      barrier_wait(base() + F::kDoFull + 8 * at.index(), at.parity());
    } else if constexpr (what == BackwardDo::join_ds) {
      named_sync(kJoinBarrier, 128 * kConsumers);
    } else if constexpr (what == BackwardDo::wait_staging) {
      named_sync(staging_free_barrier(static_cast<int>(own())), kStagingThreads);
    } else if constexpr (what == BackwardDo::hand_over) {
      named_arrive(staging_full_barrier(static_cast<int>(own())), kStagingThreads);
    } else if constexpr (what == BackwardDo::issue) {
      if constexpr (op == BackwardOp::qk) issue_scores(s, base() + F::kK, q_tile(number));
      if constexpr (op == BackwardOp::dp) issue_scores(dp, base() + F::kV, do_tile(number));
      if constexpr (op == BackwardOp::dv) issue_sum(dv, p, do_tile(number));
      if constexpr (op == BackwardOp::dk) issue_sum(dk, ds, q_tile(number));
      if constexpr (op == BackwardOp::dq) issue_dq(number);
    } else if constexpr (what == BackwardDo::wait_groups) {
      wgmma_wait<kAction.pending>();
    } else if constexpr (what == BackwardDo::end) {
      if constexpr (op == BackwardOp::qk) pin(s);
      if constexpr (op == BackwardOp::dp) pin(dp);
      if constexpr (op == BackwardOp::dq) pin(dq);
      if constexpr (op == BackwardOp::dv) {
        pin(dv);
        pin(p);
        free_buffer(base() + F::kDoFree + 8 * ring_do(anew(number)).index());
      }
      if constexpr (op == BackwardOp::dk) {
        pin(dk);
        pin(ds);
        free_buffer(base() + F::kQFree + 8 * ring_q(anew(number)).index());
      }
    } else if constexpr (what == BackwardDo::mask) {
      mask(s, number);
    } else {
      compute<op>(number);
    }
  }

  template <Phase kPhase, int kFrom, std::size_t... kIndex>
  __device__ __forceinline__ void run_all([[maybe_unused]] int t, std::index_sequence<kIndex...>) {
    (run<F::template kProgram<kPhase>.action[kFrom + kIndex]>(t), ...);
  }
  /// Statements [kFrom, kTo) of a phase.
  template <Phase kPhase, int kFrom = 0, int kTo = F::template kProgram<kPhase>.count>
  __device__ __forceinline__ void phase(int t) {
    run_all<kPhase, kFrom>(t, std::make_index_sequence<kTo - kFrom>());
  }

  /// The loop over the query tiles. Its back edge lies where no wgmma group is in flight, as in the
  /// forward kernel.
  __device__ __forceinline__ void attend() {
    constexpr int cut = F::template kProgram<Phase::steady>.cut;
    barrier_wait(shared + F::kKFull, 0);
    barrier_wait(shared + F::kVFull, 0);
    phase<Phase::prologue>(0);
    if (iterations == 1) {
      phase<Phase::epilogue>(1);
    } else {
      phase<Phase::steady, 0, cut>(1);
#pragma unroll 1
      for (int t = 1; t + 1 < iterations; ++t) {
        phase<Phase::steady, cut>(t);
        phase<Phase::steady, 0, cut>(t + 1);
      }
      phase<Phase::steady, cut>(iterations - 1);
      phase<Phase::epilogue>(iterations);
    }
    named_sync(kJoinBarrier, 128 * kConsumers);  // neither warpgroup reads K any more
  }

  /// dK and dV in 16 bits to where K and V were, from there by TMA.
  __device__ __forceinline__ void store() {
    const int first = kept(F::kTileNumber) * kKeyRows + group * kWarpgroupRows;
    const auto at = static_cast<std::uint32_t>(group) * (F::kTile.kv_bytes / 2);
    const float scale[2] = {g.scale, g.scale}, one[2] = {1.f, 1.f};
    store_accumulator<F::kElement, kHeadDim>(shared + F::kK + at, dk, scale);
    store_accumulator<F::kElement, kHeadDim>(shared + F::kV + at, dv, one);
    fence_async_shared();
    named_sync(own_barrier(group), 128);
    if (threadIdx.x % 128 == 0 && first < g.key_length) {
      const int key_head = kept(F::kTileHead), batch = kept(F::kTileBatch);
      tma_store_start(&g.dk, shared + F::kK + at, first, 0, key_head, batch);
      tma_store_start(&g.dv, shared + F::kV + at, first, 0, key_head, batch);
      bulk_wait_read();
    }
  }

  __device__ __forceinline__ void work() {
#pragma unroll
    for (int i = 0; i < kHeadDim / 2; ++i) dk[i] = dv[i] = 0.f;
    if (iterations > 0) attend();
    store();
  }
};

}  // namespace twill::gpu
