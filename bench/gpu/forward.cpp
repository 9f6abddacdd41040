// TFLOPS of attention forward: every schedule of Twill, and a cuBLAS GEMM of the same number of
// operations as the ceiling. Batch 4, 32 heads (Figure 7 of Soi et al., 2025), random data, warm;
// median of many launches with the quartiles. Needs nothing but the CUDA Toolkit.
//   gpu_bench_forward [--length N] [--head-dim N] [--type f16|bf16] [--runs N]
// Ends with 77 where there is no Hopper GPU.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "bench/gpu/measure.hpp"
#include "gpu/twill_gpu.h"

namespace {

using namespace twill::gpu::bench;

void attention(const Options& options, int head_dim, bool causal, int length) {
  const auto heads = static_cast<std::int64_t>(kBatch) * kHeads;
  const auto count = static_cast<std::size_t>(heads) * static_cast<std::size_t>(length) *
                     static_cast<std::size_t>(head_dim);
  // Two GEMMs of 2 S^2 D a head; half of it below the diagonal.
  const double operations = 4.0 * static_cast<double>(length) * length * head_dim *
                            static_cast<double>(heads) * (causal ? 0.5 : 1.0);
  const Elements q(count, options.bf16), k(count, options.bf16), v(count, options.bf16),
      o(count, options.bf16);
  twill_fmha_forward_arguments a{};
  a.type = options.bf16 ? TWILL_GPU_BF16 : TWILL_GPU_F16;
  a.batch = kBatch;
  a.query_heads = a.key_heads = kHeads;
  a.query_length = a.key_length = length;
  a.head_dim = head_dim;
  a.mask = causal ? TWILL_GPU_MASK_CAUSAL_TOP_LEFT : TWILL_GPU_MASK_NONE;
  const auto tensor = [&](const Elements& e) {
    const std::int64_t row = std::int64_t{kHeads} * head_dim;
    return twill_gpu_tensor{e.data(), row * length, row, head_dim};
  };
  a.q = tensor(q), a.k = tensor(k), a.v = tensor(v), a.o = tensor(o);
  static const char* const names[] = {"CUDA-Default", "Twill-SWP", "Twill", "Twill-Overlap"};
  for (int schedule = 0; schedule < 4; ++schedule) {
    a.schedule = static_cast<twill_gpu_schedule>(schedule);
    row(names[schedule], head_dim, causal, length, operations,
        times(options.runs, [&](cudaStream_t stream) {
          if (twill_fmha_forward(&a, nullptr, 0, stream) == TWILL_GPU_OK) return;
          std::fprintf(stderr, "%s\n", twill_gpu_error_text());
          std::exit(1);
        }));
  }
  if (!causal) ceiling(options, head_dim, length, operations);
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark(argc, argv, {64, 128, 256}, attention);
}
