#include "gpu/api/backward_check.hpp"

#include <cstdint>
#include <string>

#include "gpu/api/check.hpp"
#include "gpu/api/error.hpp"
#include "gpu/hopper/backward/tile.hpp"

namespace twill::gpu {

void check_backward_arguments(const twill_fmha_backward_arguments* arguments, bool pointers) {
  if (!arguments) refuse(TWILL_GPU_BAD_ARGUMENT, "arguments is null");
  const auto& a = *arguments;
  const AttentionShape shape{a.batch, a.query_heads, a.key_heads, a.query_length, a.key_length};
  check_choices(a.type, a.mask, a.schedule, TWILL_GPU_BACKWARD_TWILL80,
                "twill_gpu_backward_schedule");
  check_shape(shape);
  if (a.head_dim != 64 && a.head_dim != 128)
    refuse(TWILL_GPU_BAD_SHAPE,
           "head_dim = " + std::to_string(a.head_dim) + " is neither 64 nor 128");
  check_tiles(shape, 64);
  const std::int64_t key_tiles = (std::int64_t{a.key_length} + kKeyRows - 1) / kKeyRows;
  if (key_tiles * a.batch * a.key_heads > std::int64_t{1} << 30)
    refuse(TWILL_GPU_BAD_SHAPE, "batch * key_heads * key_length / 128 is more than 2^30");
  // A block's query tiles, of all heads of its group, are counted in 32 bits too: of them there are
  // fewer than of all heads.
  check_scale(a.softmax_scale);
  check_tensor("q", a.q, a.batch, a.query_length, a.query_heads, pointers);
  check_tensor("k", a.k, a.batch, a.key_length, a.key_heads, pointers);
  check_tensor("v", a.v, a.batch, a.key_length, a.key_heads, pointers);
  check_tensor("o", a.o, a.batch, a.query_length, a.query_heads, pointers);
  check_tensor("d_o", a.d_o, a.batch, a.query_length, a.query_heads, pointers);
  check_tensor("dq", a.dq, a.batch, a.query_length, a.query_heads, pointers);
  check_tensor("dk", a.dk, a.batch, a.key_length, a.key_heads, pointers);
  check_tensor("dv", a.dv, a.batch, a.key_length, a.key_heads, pointers);
  if (!pointers) return;
  if (!a.lse) refuse(TWILL_GPU_BAD_ARGUMENT, "lse is null");
  if (reinterpret_cast<std::uintptr_t>(a.lse) % 4 != 0)
    refuse(TWILL_GPU_BAD_ALIGNMENT, "lse is not a multiple of 4 bytes");
}

}  // namespace twill::gpu
