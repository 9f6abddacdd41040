// What one instance of the Hopper forward kernel is made of: schedule, statements, tile, shared
// memory.
#pragma once

#include "gpu/hopper/forward/program.hpp"
#include "gpu/hopper/forward/tile.hpp"
#include "gpu/hopper/ring.hpp"
#include "gpu/hopper/wgmma.cuh"

namespace twill::gpu {

template <int kSchedule_, Element kElement_, int kHeadDim>
struct Forward {
  static constexpr Schedule kSchedule = *kForwardSchedules[kSchedule_];
  static constexpr Element kElement = kElement_;
  static constexpr ForwardTile kTile = forward_tile(kHeadDim);
  static constexpr int kRing = kSchedule.ring;
  static constexpr int kKeys = kTile.keys;
  static constexpr int kConsumers = forward_consumers(kSchedule, kHeadDim);
  static constexpr int kRegisters = consumer_registers(kConsumers);
  static constexpr int kThreads = 128 * (kConsumers + 1);
  static constexpr int kSharedBytes = forward_shared_bytes(kHeadDim, kRing, kConsumers);
  static_assert(kSchedule.slots == 1 || kConsumers == 2, "turns are of two warpgroups");

  /// The statements of a slot in a phase. (Variables, because device code calls no host function,
  /// a constexpr one neither.)
  template <int kSlot, Phase kPhase>
  static constexpr Program kProgram = slot_program(kSchedule, kSlot).phase(kPhase);
  static constexpr bool kSound =
      slot_program(kSchedule, 0).sound && slot_program(kSchedule, kSchedule.slots - 1).sound;
  static_assert(kSound);
  static constexpr int kFirstTurn = first_turn(kSchedule);

  static constexpr bool kOwnOutput = own_output(kHeadDim);
  /// Arrivals that free a Q tile: every warp's that has read it, or the thread's that stored O.
  static constexpr int kQueryArrivals = kOwnOutput ? 4 : 1;

  /// Offsets in shared memory, from the Q tiles on: Q tiles, K ring, V ring, O tiles, barriers.
  static constexpr std::uint32_t kKRing = kConsumers * kTile.q_bytes;
  static constexpr std::uint32_t kVRing = kKRing + kRing * kTile.kv_bytes;
  static constexpr std::uint32_t kBehindRings = kVRing + kRing * kTile.kv_bytes;
  static constexpr std::uint32_t kO = kOwnOutput ? kBehindRings : 0;
  static constexpr std::uint32_t kBarriers =
      kBehindRings + (kOwnOutput ? kConsumers * kTile.q_bytes : 0);
  static constexpr std::uint32_t kQFull = kBarriers, kQFree = kQFull + 8 * kConsumers;
  static constexpr std::uint32_t kKFull = kQFree + 8 * kConsumers, kKFree = kKFull + 8 * kRing;
  static constexpr std::uint32_t kVFull = kKFree + 8 * kRing, kVFree = kVFull + 8 * kRing;
  static_assert(kVFree + 8 * kRing <= kBarriers + 256 && kSharedBytes <= 232448);
};

}  // namespace twill::gpu
