#include "gpu/api/forward_check.hpp"

#include <cmath>
#include <cstdint>
#include <string>

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

}  // namespace

void check_forward_arguments(const twill_fmha_forward_arguments* arguments, bool pointers) {
  if (!arguments) refuse(TWILL_GPU_BAD_ARGUMENT, "arguments is null");
  const auto& a = *arguments;
  const int type = a.type, mask = a.mask, schedule = a.schedule;
  if (type != TWILL_GPU_F16 && type != TWILL_GPU_BF16)
    refuse(TWILL_GPU_BAD_TYPE,
           "type = " + std::to_string(type) + " is neither TWILL_GPU_F16 nor TWILL_GPU_BF16");
  if (mask < 0 || mask > TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT)
    refuse(TWILL_GPU_BAD_ARGUMENT, "mask = " + std::to_string(mask) + " is no twill_gpu_mask");
  if (schedule < 0 || schedule > TWILL_GPU_SCHEDULE_TWILL)
    refuse(TWILL_GPU_BAD_ARGUMENT,
           "schedule = " + std::to_string(schedule) + " is no twill_gpu_schedule");
  at_least_one("batch", a.batch);
  at_least_one("query_heads", a.query_heads);
  at_least_one("key_heads", a.key_heads);
  at_least_one("query_length", a.query_length);
  at_least_one("key_length", a.key_length);
  if (a.query_heads % a.key_heads != 0)
    refuse(TWILL_GPU_BAD_SHAPE,
           "query_heads = " + std::to_string(a.query_heads) +
               " is not a multiple of key_heads = " + std::to_string(a.key_heads));
  if (a.head_dim != 64 && a.head_dim != 128 && a.head_dim != 256)
    refuse(TWILL_GPU_BAD_SHAPE,
           "head_dim = " + std::to_string(a.head_dim) + " is none of 64, 128, 256");
  // Tiles are of 128 rows, counted in 32 bits; so are batch * heads.
  const std::int64_t heads = std::int64_t{a.batch} * a.query_heads;
  const std::int64_t tiles = (std::int64_t{a.query_length} + 127) / 128;
  if (heads > kMostRows || heads * tiles > kMostRows)
    refuse(TWILL_GPU_BAD_SHAPE, "batch * query_heads * query_length / 128 is more than 2^30");
  if (!std::isfinite(a.softmax_scale) || a.softmax_scale < 0)
    refuse(TWILL_GPU_BAD_ARGUMENT,
           "softmax_scale = " + std::to_string(a.softmax_scale) + " is not finite and >= 0");
  check_tensor("q", a.q, a.batch, a.query_length, a.query_heads, pointers);
  check_tensor("k", a.k, a.batch, a.key_length, a.key_heads, pointers);
  check_tensor("v", a.v, a.batch, a.key_length, a.key_heads, pointers);
  check_tensor("o", a.o, a.batch, a.query_length, a.query_heads, pointers);
  if (pointers && reinterpret_cast<std::uintptr_t>(a.lse) % 4 != 0)
    refuse(TWILL_GPU_BAD_ALIGNMENT, "lse is not a multiple of 4 bytes");
}

}  // namespace twill::gpu
