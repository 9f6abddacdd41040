// What the tests on a GPU share: 16-bit values, tensors on host and device, adversarial inputs.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <algorithm>
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

/// The command line of a test on a GPU: --small, --list, --cases N,N-N,..., --repeats N.
struct TestOptions {
  bool small = false;              ///< only the small cases
  bool list = false;               ///< the cases' names, a line each; no GPU is needed
  int repeats = 0;                 ///< > 0: this many launches instead of the cases
  std::vector<std::size_t> cases;  ///< numbers in the list, from 0; empty: all
};

/// Exits with 2 where the command line is no such.
inline TestOptions test_options(int argc, char** argv) {
  TestOptions o;
  const auto refuse = [](const std::string& what) {
    std::fprintf(stderr, "bad option or value: %s\n", what.c_str());
    std::exit(2);
  };
  const auto number = [&](const std::string& text) {
    if (text.empty() || text.size() > 8 || text.find_first_not_of("0123456789") != text.npos)
      refuse(text);
    return std::stoul(text);
  };
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i], text = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--small") {
      o.small = true;
    } else if (name == "--list") {
      o.list = true;
    } else if (name == "--repeats") {
      o.repeats = static_cast<int>(number(text));
      ++i;
    } else if (name == "--cases") {
      for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string part = text.substr(at, end - at);
        const std::size_t dash = part.find('-');
        const std::size_t first = number(part.substr(0, dash));
        const std::size_t last = dash == part.npos ? first : number(part.substr(dash + 1));
        for (std::size_t n = first; n <= last; ++n) o.cases.push_back(n);
        at = end + 1;
      }
      ++i;
    } else {
      refuse(name);
    }
  }
  return o;
}

/// Runs the chosen ones of `cases` with `test`, which says what is wrong; the test's exit status.
template <typename Case, typename Name, typename Test>
int run_cases(const TestOptions& options, const std::vector<Case>& cases, const Name& name,
              const Test& test) {
  if (options.list) {
    for (const Case& c : cases) std::printf("%s\n", name(c).c_str());
    return 0;
  }
  std::vector<std::size_t> chosen = options.cases;
  if (chosen.empty())
    for (std::size_t n = 0; n < cases.size(); ++n) chosen.push_back(n);
  int failed = 0;
  for (const std::size_t n : chosen) {
    if (n >= cases.size()) {
      std::fprintf(stderr, "there is no case %zu: there are %zu\n", n, cases.size());
      return 2;
    }
    const std::string wrong = test(cases[n]);
    if (!wrong.empty()) std::printf("FAILED: %s: %s\n", name(cases[n]).c_str(), wrong.c_str());
    failed += !wrong.empty();
    std::fflush(stdout);
  }
  std::printf("%d of %zu cases failed\n", failed, chosen.size());
  return failed != 0;
}

enum class Input { normal, large_logits, denormal, zero, spikes, mild_spikes };
enum class Layout { bshd, bhsd, padded };

/// What a case of a test is, for a reader: "f16 B1 H2/2 S128/128 D128 full BSHD normal".
template <typename Case>
std::string text_of(const Case& c) {
  static const char* const masks[] = {"full", "causal top left", "causal bottom right"};
  static const char* const layouts[] = {"BSHD", "BHSD", "padded"};
  static const char* const inputs[] = {"normal", "large logits", "denormal",
                                       "zero",   "spikes",       "mild spikes"};
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
    if (input == Input::mild_spikes) x = one_in(random) == 0 ? 20.f * x : 0.1f * x;
    t.elements[i] = bits(x, type);
    t.values[i] = value(t.elements[i], type);
  }
}

}  // namespace twill::gpu::tests
