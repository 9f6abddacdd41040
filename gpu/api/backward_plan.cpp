#include "gpu/api/backward_plan.hpp"

#include <algorithm>
#include <cstdint>

#include "gpu/api/device.hpp"
#include "gpu/hopper/backward/schedule.hpp"

namespace twill::gpu {

namespace {

/// Bytes of Q and dO that stay in the L2 cache while the key tiles of their heads are worked on.
constexpr std::int64_t kCachedQueryBytes = std::int64_t{32} << 20;

Element element_of(const twill_fmha_backward_arguments& a) {
  return a.type == TWILL_GPU_F16 ? Element::f16 : Element::bf16;
}

DeviceTensor device(const twill_gpu_tensor& t) {
  return {static_cast<std::uint16_t*>(t.data), t.batch_stride, t.sequence_stride, t.head_stride};
}

}  // namespace

BackwardWork backward_work(const twill_fmha_backward_arguments& a) {
  BackwardWork w{};
  w.query_length = a.query_length;
  w.key_length = a.key_length;
  w.query_heads = a.query_heads;
  w.key_heads = a.key_heads;
  w.group = a.query_heads / a.key_heads;
  w.rows = kBackwardSchedules[a.schedule]->rows;
  w.tiles = (a.query_length + w.rows - 1) / w.rows;
  w.key_tiles = (a.key_length + kKeyRows - 1) / kKeyRows;
  w.units = w.key_tiles * a.batch * a.key_heads;
  w.causal = a.mask != TWILL_GPU_MASK_NONE;
  w.diagonal = a.mask == TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT ? a.key_length - a.query_length : 0;
  // Causal tiles differ in length: as in forward_work.
  const std::int64_t head_bytes = std::int64_t{4} * a.query_length * a.head_dim * w.group;
  w.section = w.causal
                  ? static_cast<int>(std::clamp<std::int64_t>(kCachedQueryBytes / head_bytes, 1,
                                                              std::int64_t{a.batch} * a.key_heads))
                  : 1;
  return w;
}

BackwardSpace backward_space(const twill_fmha_backward_arguments& a) {
  const BackwardWork w = backward_work(a);
  const std::size_t tiles = static_cast<std::size_t>(a.batch) *
                            static_cast<std::size_t>(a.query_heads) *
                            static_cast<std::size_t>(w.tiles);
  const std::size_t rows = tiles * static_cast<std::size_t>(w.rows);
  BackwardSpace space{};
  const auto take = [&](std::size_t bytes) {
    const std::size_t at = space.bytes;
    space.bytes += (bytes + 255) / 256 * 256;
    return at;
  };
  space.lse = take(rows * 4);
  space.delta = take(rows * 4);
  space.dq = take(rows * static_cast<std::size_t>(a.head_dim) * 4);
  space.added = take(a.deterministic ? tiles * 4 : 0);
  space.next_unit = take(a.deterministic ? 4 : 0);
  return space;
}

BackwardSums backward_sums(const twill_fmha_backward_arguments& a, void* workspace) {
  const BackwardSpace space = backward_space(a);
  auto* const bytes = static_cast<unsigned char*>(workspace);
  BackwardSums sums{};
  sums.lse = reinterpret_cast<float*>(bytes + space.lse);
  sums.delta = reinterpret_cast<float*>(bytes + space.delta);
  sums.dq = reinterpret_cast<float*>(bytes + space.dq);
  if (a.deterministic) {
    sums.added = reinterpret_cast<unsigned*>(bytes + space.added);
    sums.next_unit = reinterpret_cast<unsigned*>(bytes + space.next_unit);
  }
  return sums;
}

DeltaArguments delta_arguments(const twill_fmha_backward_arguments& a, void* workspace) {
  const BackwardWork w = backward_work(a);
  DeltaArguments g{};
  static_cast<BackwardSums&>(g) = backward_sums(a, workspace);
  g.o = device(a.o);
  g.d_o = device(a.d_o);
  g.lse_natural = a.lse;
  g.batch = a.batch;
  g.query_heads = a.query_heads;
  g.query_length = a.query_length;
  g.head_dim = a.head_dim;
  g.rows = w.rows;
  g.tiles = w.tiles;
  g.element = element_of(a);
  return g;
}

ConvertArguments convert_arguments(const twill_fmha_backward_arguments& a, void* workspace) {
  const BackwardWork w = backward_work(a);
  ConvertArguments g{};
  static_cast<BackwardSums&>(g) = backward_sums(a, workspace);
  g.d_q = device(a.dq);
  g.batch = a.batch;
  g.query_heads = a.query_heads;
  g.query_length = a.query_length;
  g.head_dim = a.head_dim;
  g.rows = w.rows;
  g.tiles = w.tiles;
  g.element = element_of(a);
  g.scale = static_cast<float>(softmax_scale(a.softmax_scale, a.head_dim));
  return g;
}

}  // namespace twill::gpu
