#include "gpu/api/forward_plan.hpp"

#include <algorithm>
#include <cstdint>

#include "gpu/hopper/forward/schedule.hpp"

namespace twill::gpu {

namespace {
/// Bytes of K and V that stay in the L2 cache while the tiles of their heads are worked on.
constexpr std::int64_t kCached = std::int64_t{32} << 20;
}  // namespace

ForwardWork forward_work(const twill_fmha_forward_arguments& a) {
  ForwardWork w{};
  const Schedule& schedule = *kForwardSchedules[a.schedule];
  w.tile_rows = forward_consumers(schedule, a.head_dim) * kWarpgroupRows;
  const int tiles = (a.query_length + w.tile_rows - 1) / w.tile_rows;
  w.query_length = a.query_length;
  w.key_length = a.key_length;
  w.query_heads = a.query_heads;
  w.group = a.query_heads / a.key_heads;
  w.heads = a.batch * a.query_heads;
  w.causal = a.mask != TWILL_GPU_MASK_NONE;
  w.diagonal = a.mask == TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT ? a.key_length - a.query_length : 0;
  // Two blocks share K and V only if they read the same blocks of it (not causal) and there is more
  // than one panel to share; with an odd number of tiles one block in the last pair would idle.
  const bool share =
      !a.no_multicast && !w.causal && forward_tile(a.head_dim).panels >= 2 && tiles % 2 == 0;
  w.blocks = share ? 2 : 1;
  w.rows = tiles / w.blocks;
  w.units = w.rows * w.heads;
  // Causal tiles differ in length. As many heads as the cache holds are interleaved, longest tiles
  // first, so that the short ones fill the gaps at the end.
  const std::int64_t head_bytes = std::int64_t{4} * a.key_length * a.head_dim;
  w.section =
      w.causal
          ? static_cast<int>(std::clamp<std::int64_t>(kCached / head_bytes * w.group, 1, w.heads))
          : 1;
  return w;
}

int forward_clusters(const ForwardWork& w, int processors) {
  return std::min(w.units, std::max(1, processors / w.blocks));
}

std::int64_t longest_share(const ForwardWork& w, int keys, int clusters) {
  std::int64_t longest = 0;
  for (int cluster = 0; cluster < clusters; ++cluster) {
    std::int64_t share = 0;
    for (int unit = first_unit(w, cluster); unit < w.units; unit = next_unit(w, unit, clusters))
      share += query_tile(w, unit, 0, keys).blocks + 1;
    longest = std::max(longest, share);
  }
  return longest;
}

void balance(ForwardWork& w, int keys, int clusters) {
  if (!w.causal || w.heads % 2 != 0) return;
  ForwardWork paired = w;
  paired.paired = true;
  // Beyond so many units a block has so many pairs that one more or less does not count.
  constexpr int kCounted = 1 << 16;
  if (w.units > kCounted ||
      longest_share(paired, keys, clusters) < longest_share(w, keys, clusters))
    w = paired;
}

}  // namespace twill::gpu
