#include "gpu/api/check.hpp"

#include <cmath>

#include "gpu/api/error.hpp"

namespace twill::gpu {

namespace {

// TMA: 40 bits of stride in bytes.
constexpr std::int64_t kMostStride = (std::int64_t{1} << 39) - 8;
// Tiles and rows are counted in 32 bits.
constexpr std::int64_t kMostRows = std::int64_t{1} << 30;

void at_least_one(const char* name, std::int64_t value) {
  if (value < 1 || value > kMostRows)
    refuse(TWILL_GPU_BAD_SHAPE,
           std::string(name) + " = " + std::to_string(value) + " is not in 1 .. 2^30");
}

void check_stride(const std::string& name, std::int64_t stride, int length) {
  if (length == 1) return;
  if (stride < 1 || stride > kMostStride)
    refuse(TWILL_GPU_BAD_SHAPE,
           name + " = " + std::to_string(stride) + " is not in 1 .. 2^39 elements");
  if (stride % 8 != 0)
    refuse(TWILL_GPU_BAD_ALIGNMENT,
           name + " = " + std::to_string(stride) + " elements is not a multiple of 8 (16 bytes)");
}

}  // namespace

void check_choices(int type, int mask, int schedule, int last_schedule, const char* schedules) {
  if (type != TWILL_GPU_F16 && type != TWILL_GPU_BF16)
    refuse(TWILL_GPU_BAD_TYPE,
           "type = " + std::to_string(type) + " is neither TWILL_GPU_F16 nor TWILL_GPU_BF16");
  if (mask < 0 || mask > TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT)
    refuse(TWILL_GPU_BAD_ARGUMENT, "mask = " + std::to_string(mask) + " is no twill_gpu_mask");
  if (schedule < 0 || schedule > last_schedule)
    refuse(TWILL_GPU_BAD_ARGUMENT,
           "schedule = " + std::to_string(schedule) + " is no " + schedules);
}

void check_shape(const AttentionShape& a) {
  at_least_one("batch", a.batch);
  at_least_one("query_heads", a.query_heads);
  at_least_one("key_heads", a.key_heads);
  at_least_one("query_length", a.query_length);
  at_least_one("key_length", a.key_length);
  if (a.query_heads % a.key_heads != 0)
    refuse(TWILL_GPU_BAD_SHAPE,
           "query_heads = " + std::to_string(a.query_heads) +
               " is not a multiple of key_heads = " + std::to_string(a.key_heads));
}

void check_tiles(const AttentionShape& a, int rows) {
  const std::int64_t heads = std::int64_t{a.batch} * a.query_heads;
  const std::int64_t tiles = (std::int64_t{a.query_length} + rows - 1) / rows;
  if (heads > kMostRows || heads * tiles > kMostRows)
    refuse(TWILL_GPU_BAD_SHAPE,
           "batch * query_heads * query_length / " + std::to_string(rows) + " is more than 2^30");
}

void check_scale(float scale) {
  if (!std::isfinite(scale) || scale < 0)
    refuse(TWILL_GPU_BAD_ARGUMENT,
           "softmax_scale = " + std::to_string(scale) + " is not finite and >= 0");
}

void check_tensor(const std::string& name, const twill_gpu_tensor& tensor, int batch, int length,
                  int heads, bool pointers) {
  check_stride(name + ".batch_stride", tensor.batch_stride, batch);
  check_stride(name + ".sequence_stride", tensor.sequence_stride, length);
  check_stride(name + ".head_stride", tensor.head_stride, heads);
  if (!pointers) return;
  if (!tensor.data) refuse(TWILL_GPU_BAD_ARGUMENT, name + ".data is null");
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % 16 != 0)
    refuse(TWILL_GPU_BAD_ALIGNMENT, name + ".data is not a multiple of 16 bytes");
}

}  // namespace twill::gpu
