// An accumulator is read while its multiplication is in flight: check/ptxas.cmake must refuse it.
#include "gpu/hopper/wgmma.cuh"

using namespace twill::gpu;

__global__ void __launch_bounds__(128) serialised(float* x, std::uint64_t a, std::uint64_t b) {
  float d[32] = {}, early = 0.f;
  wgmma_fence();
  Wgmma<Element::f16, 64>::ss<0, 0>(d, a, b, 0);
  wgmma_commit();
#pragma unroll
  for (int i = 0; i < 32; ++i) early += d[i];
  Wgmma<Element::f16, 64>::ss<0, 0>(d, a, b, 1);
  wgmma_commit();
  wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < 32; ++i) x[i * 128 + threadIdx.x] = d[i] + early;
}
