// What the tests on a GPU share: 16-bit values, tensors on host and device, adversarial inputs.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "gpu/twill_gpu.h"

namespace twill::gpu::tests {

inline void cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("FAILED: %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

inline bool has_hopper() {
  int devices = 0, major = 0, minor = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return false;
  cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "device");
  cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0), "device");
  return major == 9 && minor == 0;
}

inline float round_f16(float x) {
  return __half2float(__float2half_rn(x));
}
inline float round_bf16(float x) {
  return __bfloat162float(__float2bfloat16_rn(x));
}

inline std::uint16_t bits(float x, twill_gpu_type type) {
  return type == TWILL_GPU_F16 ? __half_as_ushort(__float2half_rn(x))
                               : __bfloat16_as_ushort(__float2bfloat16_rn(x));
}
inline float value(std::uint16_t b, twill_gpu_type type) {
  return type == TWILL_GPU_F16 ? __half2float(__ushort_as_half(b))
                               : __bfloat162float(__ushort_as_bfloat16(b));
}

enum class Input { normal, large_logits, denormal, zero, spikes };
enum class Layout { bshd, bhsd, padded };

/// What a case of a test is, for a reader: "f16 B1 H2/2 S128/128 D128 full BSHD normal".
template <typename Case>
std::string text_of(const Case& c) {
  static const char* const masks[] = {"full", "causal top left", "causal bottom right"};
  static const char* const layouts[] = {"BSHD", "BHSD", "padded"};
  static const char* const inputs[] = {"normal", "large logits", "denormal", "zero", "spikes"};
  char text[200];
  std::snprintf(text, sizeof text, "%s B%d H%d/%d S%d/%d D%d %s %s %s",
                c.type == TWILL_GPU_F16 ? "f16" : "bf16", c.batch, c.query_heads, c.key_heads,
                c.query_length, c.key_length, c.head_dim, masks[c.mask],
                layouts[static_cast<int>(c.layout)], inputs[static_cast<int>(c.input)]);
  return text;
}

/// One tensor on host and device.
struct Tensor {
  std::vector<float> values;  ///< exactly those of the 16-bit elements
  std::vector<std::uint16_t> elements;
  twill_gpu_tensor device{};
  int head_dim;

  Tensor(int batch, int length, int heads, int dim, Layout layout) : head_dim(dim) {
    if (layout == Layout::bhsd) {
      device.sequence_stride = dim;
      device.head_stride = std::int64_t{dim} * length;
      device.batch_stride = device.head_stride * heads;
    } else {
      device.head_stride = dim;
      device.sequence_stride = std::int64_t{dim} * heads + (layout == Layout::padded ? 64 : 0);
      device.batch_stride = device.sequence_stride * length;
    }
    elements.resize(static_cast<std::size_t>(device.batch_stride) *
                    static_cast<std::size_t>(batch));
    values.resize(elements.size());
    cuda(cudaMalloc(&device.data, elements.size() * 2), "cudaMalloc");
  }
  ~Tensor() { cudaFree(device.data); }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  std::size_t at(int b, int s, int h) const {
    return static_cast<std::size_t>(b * device.batch_stride + s * device.sequence_stride +
                                    h * device.head_stride);
  }
  void upload() const {
    cuda(cudaMemcpy(device.data, elements.data(), elements.size() * 2, cudaMemcpyHostToDevice),
         "upload");
  }
  void download() {
    cuda(cudaMemcpy(elements.data(), device.data, elements.size() * 2, cudaMemcpyDeviceToHost),
         "download");
  }
};

inline void fill(Tensor& t, twill_gpu_type type, Input input, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> one_in(0, 63);
  for (std::size_t i = 0; i < t.values.size(); ++i) {
    float x = normal(random);
    if (input == Input::large_logits) x *= 12.f;
    if (input == Input::denormal) x *= type == TWILL_GPU_F16 ? 1e-6f : 1e-39f;
    if (input == Input::zero) x = 0.f;
    if (input == Input::spikes) x = one_in(random) == 0 ? 200.f * x : 0.01f * x;
    t.elements[i] = bits(x, type);
    t.values[i] = value(t.elements[i], type);
  }
}

}  // namespace twill::gpu::tests
