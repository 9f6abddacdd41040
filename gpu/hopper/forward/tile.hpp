// Tile sizes, shared memory and register split of the Hopper forward kernel, by head dimension.
// Plain C++: the host sizes its launch and its tensor maps with them.
#pragma once

namespace twill::gpu {

/// Query rows of one consumer warpgroup (wgmma's M); the consumer warpgroups of most kernels.
inline constexpr int kWarpgroupRows = 64;
inline constexpr int kConsumers = 2;

/// setmaxnreg: (24 + 2 * 240) * 128 registers of the 65,536, with three consumers (24 + 3 * 160) *
/// 128. FlashAttention-3's splits.
inline constexpr int kLoaderRegisters = 24;
inline constexpr int kConsumerRegisters = 240;
constexpr int consumer_registers(int consumers) {
  return consumers == kConsumers ? kConsumerRegisters : 160;
}

/// Elements of a panel: 128 bytes, the span of the swizzle.
inline constexpr int kPanel = 64;

struct ForwardTile {
  int head_dim;
  int keys;      ///< rows of a K or V block
  int panels;    ///< head_dim / 64
  int q_bytes;   ///< of one warpgroup's Q (and O) tile
  int kv_bytes;  ///< of one K or V block
};

/// Registers per thread of a consumer: O head_dim / 2, S and P in fp32 keys / 2 each, P in 16 bits
/// keys / 4. Head dimension 256 leaves room for 64 keys.
constexpr ForwardTile forward_tile(int head_dim) {
  const int keys = head_dim == 256 ? 64 : 128;
  return {head_dim, keys, head_dim / kPanel, kWarpgroupRows * head_dim * 2, keys * head_dim * 2};
}

/// O leaves through buffers of its own where there is room, so that the next Q tile can be loaded
/// as soon as the last product has read this one; else through the Q tiles.
constexpr bool own_output(int head_dim) {
  return head_dim <= 128;
}

/// Dynamic shared memory: Q tiles, K ring, V ring, O tiles, barriers, and what alignment may cost.
constexpr int forward_shared_bytes(int head_dim, int ring, int consumers) {
  const ForwardTile tile = forward_tile(head_dim);
  return consumers * tile.q_bytes * (own_output(head_dim) ? 2 : 1) + 2 * ring * tile.kv_bytes +
         256 + 1024;
}

}  // namespace twill::gpu
