// What the measurements of costs share (costs.cu, costs_together.cu): clocks and values in a
// kernel, tile operations of a warpgroup, and the host's part.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/gpu/measure.hpp"

namespace twill::gpu::bench {

inline constexpr int kThreads = 128;  // a warpgroup
inline constexpr int kWarmUp = 5, kRepetitions = 40;
inline constexpr int kSteps = 32;
inline constexpr int kValues = 64;  // of a thread: a tile of 64 x 128

__device__ __forceinline__ long long now() {
  long long t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
  return t;
}

/// Values that nobody but the memory knows: they stay in registers, and are not computed again.
/// (The memory holds what it holds; instructions take as long for any number.)
template <int kCount>
__device__ __forceinline__ void fill(float (&x)[kCount], const long long* from) {
  static_assert((kCount + 7) * sizeof(float) <= kRepetitions * sizeof(long long));
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    x[i] = reinterpret_cast<const volatile float*>(from)[i + threadIdx.x % 8];
}

/// Uses the values, after the clock was read: what nobody uses, the assembler leaves out.
template <int kCount>
__device__ __forceinline__ void use(const float (&x)[kCount], long long* out) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    sum += x[i];  // (an index: else 128 of them were in local memory)
  if (sum == 0.12345f) out[kRepetitions] = 1;
}

/// Calls `step` in steps, timed by thread 0 between two barriers of the block.
template <int kCount, class Step>
__device__ void timed(long long* out, const Step& step) {
  for (int r = 0; r < kWarmUp + kRepetitions; ++r) {
    __syncthreads();
    const long long begin = now();
#pragma unroll 1
    for (int s = 0; s < kCount; ++s) step();
    __syncthreads();
    const long long end = now();
    if (threadIdx.x == 0 && r >= kWarmUp) out[r - kWarmUp] = end - begin;
  }
}

enum class Arithmetic { exp2, add, sub, mul, fma, max };

template <Arithmetic kOp>
__device__ __forceinline__ void apply(float& x, float a) {
  // volatile: none is moved, merged or left out by the compiler. The assembler keeps what is used.
  if constexpr (kOp == Arithmetic::exp2) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
  if constexpr (kOp == Arithmetic::add) asm volatile("add.f32 %0, %0, %1;" : "+f"(x) : "f"(a));
  if constexpr (kOp == Arithmetic::sub) asm volatile("sub.f32 %0, %0, %1;" : "+f"(x) : "f"(a));
  if constexpr (kOp == Arithmetic::mul) asm volatile("mul.f32 %0, %0, %1;" : "+f"(x) : "f"(a));
  if constexpr (kOp == Arithmetic::fma)
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(a));
  if constexpr (kOp == Arithmetic::max) asm volatile("max.f32 %0, %0, %1;" : "+f"(x) : "f"(a));
}

/// The bits of both numbers in 16 each, in the place of the first.
__device__ __forceinline__ void convert_pair(float& first, float second) {
  asm volatile(
      "{ .reg .b32 pair;\n"
      "  cvt.rn.f16x2.f32 pair, %0, %1;\n"
      "  mov.b32 %0, pair; }"
      : "+f"(first)
      : "f"(second));
}

/// Of the two rows of a thread, in the accumulator layout of wgmma, whose quads share them: into
/// part[row][0]. Four partial results a row, so that no instruction waits for the one before.
template <Arithmetic kOp, int kCount>
__device__ __forceinline__ void reduce_rows(const float (&x)[kCount], float (&part)[2][4]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) apply<kOp>(part[i % 2][i / 2 % 4], x[i]);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
#pragma unroll
    for (int k = 1; k < 4; ++k) apply<kOp>(part[h][0], part[h][k]);
#pragma unroll
    for (int lane = 1; lane <= 2; lane *= 2)
      apply<kOp>(part[h][0], __shfl_xor_sync(0xffffffffu, part[h][0], lane));
  }
}

inline constexpr int kSharedBytes = 200 * 1024;

/// Runs kernels and fetches what they counted.
class Device {
 public:
  Device() { cuda(cudaMalloc(&out_, (kRepetitions + 1) * sizeof(long long)), "cudaMalloc"); }
  ~Device() { cudaFree(out_); }
  /// Blocks of the launches from now on.
  Device& blocks(int count) {
    blocks_ = count;
    return *this;
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Cycles of a step, less `overhead` of the whole.
  template <class... Parameters, class... Arguments>
  std::vector<double> run(void (*kernel)(long long*, Parameters...), int threads, int steps,
                          double overhead, Arguments... arguments) {
    cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
         "shared memory");
    kernel<<<blocks_, threads, kSharedBytes>>>(out_, arguments...);
    cuda(cudaGetLastError(), "launch");
    std::vector<long long> counted(kRepetitions);
    cuda(cudaMemcpy(counted.data(), out_, kRepetitions * sizeof(long long), cudaMemcpyDeviceToHost),
         "measurement");
    std::vector<double> cycles;
    for (const long long c : counted) cycles.push_back((static_cast<double>(c) - overhead) / steps);
    return cycles;
  }

 private:
  long long* out_ = nullptr;
  int blocks_ = 1;
};

inline double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

/// A cost that no rule of a machine has, at once.
inline void remark(const std::string& what, const std::vector<double>& cycles) {
  std::string text = "{\"measured\": {\"cost\": \"" + what + "\", \"cycles\": [";
  for (std::size_t i = 0; i < cycles.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(cycles[i]);
  std::fprintf(stderr, "%s]}}\n", text.c_str());
}

/// Clocks of a step of each of two warpgroups at once, and of each alone, as remarks.
void together_costs(Device& device);

}  // namespace twill::gpu::bench
