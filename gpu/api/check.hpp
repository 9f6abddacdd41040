// Rules that the forward and the backward pass share. Each throws Refusal with what is wrong.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/twill_gpu.h"

namespace twill::gpu {

struct AttentionShape {
  std::int32_t batch, query_heads, key_heads, query_length, key_length;
};

/// A type, a mask, and a schedule of 0 .. last_schedule; `schedules` names their enumeration.
void check_choices(int type, int mask, int schedule, int last_schedule, const char* schedules);

/// All at least 1 and at most 2^30, and query heads a multiple of key heads.
void check_shape(const AttentionShape& shape);

/// Tiles of `rows` query rows and batch * heads are counted in 32 bits.
void check_tiles(const AttentionShape& shape, int rows);

/// Finite and >= 0.
void check_scale(float scale);

/// Strides that TMA can read and, `pointers`, an address.
void check_tensor(const std::string& name, const twill_gpu_tensor& tensor, int batch, int length,
                  int heads, bool pointers);

}  // namespace twill::gpu
