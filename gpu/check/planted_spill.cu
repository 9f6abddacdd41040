// 128 values alive at once on 32 registers: check/ptxas.cmake must refuse it.
__global__ void __launch_bounds__(1024, 2) spill(float* x) {
  float v[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) v[i] = x[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 128; ++i) x[(127 - i) * 1024 + threadIdx.x] = v[i] * v[(i * 37 + 11) % 128];
}
