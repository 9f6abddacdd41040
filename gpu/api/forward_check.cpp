#include "gpu/api/forward_check.hpp"

#include <cstdint>
#include <string>

#include "gpu/api/check.hpp"
#include "gpu/api/error.hpp"

namespace twill::gpu {

void check_forward_arguments(const twill_fmha_forward_arguments* arguments, bool pointers) {
  if (!arguments) refuse(TWILL_GPU_BAD_ARGUMENT, "arguments is null");
  const auto& a = *arguments;
  check_choices(a.type, a.mask, a.schedule, TWILL_GPU_SCHEDULE_OVERLAP, "twill_gpu_schedule");
  check_shape({a.batch, a.query_heads, a.key_heads, a.query_length, a.key_length});
  if (a.head_dim != 64 && a.head_dim != 128 && a.head_dim != 256)
    refuse(TWILL_GPU_BAD_SHAPE,
           "head_dim = " + std::to_string(a.head_dim) + " is none of 64, 128, 256");
  check_tiles({a.batch, a.query_heads, a.key_heads, a.query_length, a.key_length}, 128);
  check_scale(a.softmax_scale);
  check_tensor("q", a.q, a.batch, a.query_length, a.query_heads, pointers);
  check_tensor("k", a.k, a.batch, a.key_length, a.key_heads, pointers);
  check_tensor("v", a.v, a.batch, a.key_length, a.key_heads, pointers);
  check_tensor("o", a.o, a.batch, a.query_length, a.query_heads, pointers);
  if (pointers && reinterpret_cast<std::uintptr_t>(a.lse) % 4 != 0)
    refuse(TWILL_GPU_BAD_ALIGNMENT, "lse is not a multiple of 4 bytes");
}

}  // namespace twill::gpu
