// What one instance of the Hopper backward kernel is made of: schedule, statements, tile, shared
// memory.
#pragma once

#include "gpu/hopper/backward/program.hpp"
#include "gpu/hopper/backward/tile.hpp"
#include "gpu/hopper/ring.hpp"
#include "gpu/hopper/wgmma.cuh"

namespace twill::gpu {

template <int kSchedule_, Element kElement_, int kHeadDim_>
struct Backward {
  static constexpr BackwardSchedule kSchedule = *executed_schedules(kHeadDim_)[kSchedule_];
  static constexpr Element kElement = kElement_;
  static constexpr int kHeadDim = kHeadDim_;
  static constexpr int kRows = kSchedule.rows;
  static constexpr BackwardTile kTile = backward_tile(kHeadDim, kRows);
  static constexpr int kRingQ = kSchedule.ring_q, kRingDo = kSchedule.ring_do;
  static constexpr int kSharedBytes = backward_shared_bytes(kHeadDim, kRows, kRingQ, kRingDo);

  /// The statements of a phase. (A variable, because device code calls no host function, a
  /// constexpr one neither.)
  template <Phase kPhase>
  static constexpr BackwardProgram kProgram = backward_phases(kSchedule).phase(kPhase);
  static constexpr bool kSound = backward_phases(kSchedule).sound;
  static_assert(kSound);

  /// Offsets in shared memory. dK and dV leave through the K and V tiles.
  static constexpr std::uint32_t kK = 0, kV = kTile.kv_bytes;
  static constexpr std::uint32_t kQ = 2 * kTile.kv_bytes, kDo = kQ + kRingQ * kTile.q_bytes;
  static constexpr std::uint32_t kDs = kDo + kRingDo * kTile.q_bytes;
  static constexpr std::uint32_t kStaging = kDs + 2 * kTile.ds_bytes;
  static constexpr std::uint32_t kLse = kStaging + kConsumers * kTile.dq_values * 4;
  static constexpr std::uint32_t kDelta = kLse + kRingQ * kTile.row_bytes;
  static constexpr std::uint32_t kBarriers = kDelta + kRingDo * kTile.row_bytes;
  static constexpr std::uint32_t kKFull = kBarriers, kVFull = kKFull + 8;
  static constexpr std::uint32_t kQFull = kVFull + 8, kQFree = kQFull + 8 * kRingQ;
  static constexpr std::uint32_t kDoFull = kQFree + 8 * kRingQ, kDoFree = kDoFull + 8 * kRingDo;
  /// The members of the block's KeyTile, 4 bytes each.
  static constexpr std::uint32_t kTileNumber = kDoFree + 8 * kRingDo, kTileFirst = kTileNumber + 4;
  static constexpr std::uint32_t kTileIterations = kTileFirst + 4;
  static constexpr std::uint32_t kTileBatch = kTileIterations + 4, kTileHead = kTileBatch + 4;
  /// For the mask: keys of the block, from its first, that there are (kKeysLeft) and that the first
  /// row of each query tile in the ring of Q sees if there are so many (kSeen).
  static constexpr std::uint32_t kKeysLeft = kTileHead + 4, kSeen = kKeysLeft + 4;
  static_assert(kTile.q_bytes % 1024 == 0 && kTile.ds_bytes % 2048 == 0);
  static_assert(kTile.row_bytes % 16 == 0 && kBarriers % 8 == 0);
  static_assert(kSeen + 4 * kRingQ <= kBarriers + kBackwardBarrierBytes && kSharedBytes <= 232448);
};

/// Named barriers. All but the first and the last are shared with the warp that adds dQ.
inline constexpr int kJoinBarrier = 1;  ///< both consumers
inline constexpr int kStagingThreads = 128 + 32;
TWILL_GPU_BOTH constexpr int staging_free_barrier(int warpgroup) {
  return 2 + warpgroup;
}
TWILL_GPU_BOTH constexpr int staging_full_barrier(int warpgroup) {
  return 4 + warpgroup;
}
/// One consumer's own.
TWILL_GPU_BOTH constexpr int own_barrier(int warpgroup) {
  return 6 + warpgroup;
}

}  // namespace twill::gpu
