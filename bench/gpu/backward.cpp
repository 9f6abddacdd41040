// TFLOPS of attention backward: every schedule of Twill, and a cuBLAS GEMM of the same number of
// operations as the ceiling. Batch 4, 32 heads (Figure 10 of Soi et al., 2025), random data, warm;
// median of many launches with the quartiles. Needs nothing but the CUDA Toolkit.
//   gpu_bench_backward [--length N] [--head-dim N] [--type f16|bf16] [--runs N]
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
  // Five GEMMs of 2 S^2 D a head; half of it below the diagonal.
  const double operations = 10.0 * static_cast<double>(length) * length * head_dim *
                            static_cast<double>(heads) * (causal ? 0.5 : 1.0);
  const Elements q(count, options.bf16), k(count, options.bf16), v(count, options.bf16),
      o(count, options.bf16), d_o(count, options.bf16), dq(count, options.bf16),
      dk(count, options.bf16), dv(count, options.bf16);
  const auto tensor = [&](const Elements& e) {
    const std::int64_t row = std::int64_t{kHeads} * head_dim;
    return twill_gpu_tensor{e.data(), row * length, row, head_dim};
  };
  const auto check = [](twill_gpu_status status) {
    if (status == TWILL_GPU_OK) return;
    std::fprintf(stderr, "%s\n", twill_gpu_error_text());
    std::exit(1);
  };
  const Bytes lse(static_cast<std::size_t>(heads) * static_cast<std::size_t>(length) * 4);
  twill_fmha_forward_arguments f{};
  f.type = options.bf16 ? TWILL_GPU_BF16 : TWILL_GPU_F16;
  f.batch = kBatch;
  f.query_heads = f.key_heads = kHeads;
  f.query_length = f.key_length = length;
  f.head_dim = head_dim;
  f.mask = causal ? TWILL_GPU_MASK_CAUSAL_TOP_LEFT : TWILL_GPU_MASK_NONE;
  f.q = tensor(q), f.k = tensor(k), f.v = tensor(v), f.o = tensor(o);
  f.lse = static_cast<float*>(lse.data());
  f.schedule = TWILL_GPU_SCHEDULE_TWILL;
  check(twill_fmha_forward(&f, nullptr, 0, nullptr));
  twill_fmha_backward_arguments a{};
  a.type = f.type;
  a.batch = f.batch;
  a.query_heads = a.key_heads = kHeads;
  a.query_length = a.key_length = length;
  a.head_dim = head_dim;
  a.mask = f.mask;
  a.q = f.q, a.k = f.k, a.v = f.v, a.o = f.o, a.d_o = tensor(d_o);
  a.lse = f.lse;
  a.dq = tensor(dq), a.dk = tensor(dk), a.dv = tensor(dv);
  static const char* const names[] = {"CUDA-Default", "Twill", "Twill-80"};
  for (int schedule = 0; schedule < 3; ++schedule) {
    a.schedule = schedule;
    std::size_t bytes = 0;
    check(twill_fmha_backward_workspace(&a, &bytes));
    const Bytes workspace(bytes);
    row(names[schedule], head_dim, causal, length, operations,
        times(options.runs, [&](cudaStream_t stream) {
          check(twill_fmha_backward(&a, workspace.data(), bytes, stream));
        }));
  }
  if (!causal) ceiling(options, head_dim, length, operations);
}

}  // namespace

int main(int argc, char** argv) {
  return benchmark(argc, argv, {64, 128}, attention);
}
