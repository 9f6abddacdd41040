// What the benchmarks of the GPU kernels share: device memory of random elements, times, the
// ceiling, options and rows of the table.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#ifdef TWILL_HAS_CUBLAS
#include <cublas_v2.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <random>
#include <string_view>
#include <vector>

namespace twill::gpu::bench {

inline constexpr int kBatch = 4, kHeads = 32;

inline void cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

struct Options {
  int length = 0, head_dim = 0, runs = 50;  // 0 = all
  bool bf16 = false;
};

/// Device memory of random 16-bit elements, uniform in the bits that give [-2, 2).
class Elements {
 public:
  Elements(std::size_t count, bool bf16) {
    std::vector<std::uint16_t> host(std::min<std::size_t>(count, std::size_t{1} << 22));
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (auto& x : host)
      x = bf16 ? __bfloat16_as_ushort(__float2bfloat16_rn(normal(random)))
               : __half_as_ushort(__float2half_rn(normal(random)));
    cuda(cudaMalloc(&data_, count * 2), "cudaMalloc");
    for (std::size_t at = 0; at < count; at += host.size())
      cuda(cudaMemcpy(static_cast<std::uint16_t*>(data_) + at, host.data(),
                      std::min(host.size(), count - at) * 2, cudaMemcpyHostToDevice),
           "upload");
  }
  ~Elements() { cudaFree(data_); }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

/// Device memory.
class Bytes {
 public:
  explicit Bytes(std::size_t count) { cuda(cudaMalloc(&data_, count), "cudaMalloc"); }
  ~Bytes() { cudaFree(data_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

/// What a stream does, once recorded and replayed as often as wanted: what the host does for a
/// launch (tensor maps, checks, attributes) is not in its time.
class Recorded {
 public:
  explicit Recorded(const std::function<void(cudaStream_t)>& launch) {
    cuda(cudaStreamCreate(&stream_), "stream");
    launch(stream_);  // modules are loaded and workspaces made outside of the recording
    cuda(cudaStreamSynchronize(stream_), "launch");
    cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "recording");
    launch(stream_);
    cudaGraph_t graph = nullptr;
    cuda(cudaStreamEndCapture(stream_, &graph), "recording");
    cuda(cudaGraphInstantiate(&graph_, graph, 0), "recording");
    cudaGraphDestroy(graph);
  }
  ~Recorded() {
    cudaGraphExecDestroy(graph_);
    cudaStreamDestroy(stream_);
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  void launch() const { cuda(cudaGraphLaunch(graph_, stream_), "launch"); }
  cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

/// Milliseconds of a launch, sorted, from `runs` samples of so many launches one behind the other
/// that a sample takes about a millisecond; some more before to warm up. The host waits only at the
/// end.
inline std::vector<float> times(int runs, const std::function<void(cudaStream_t)>& launch) {
  const Recorded recorded(launch);
  std::vector<cudaEvent_t> marks(static_cast<std::size_t>(runs) + 1);
  for (cudaEvent_t& mark : marks) cuda(cudaEventCreate(&mark), "event");
  const auto between = [&](std::size_t from, std::size_t to) {
    float ms = 0;
    cuda(cudaEventSynchronize(marks[to]), "launch");
    cuda(cudaEventElapsedTime(&ms, marks[from], marks[to]), "event");
    return ms;
  };
  const auto mark = [&](std::size_t i) {
    cuda(cudaEventRecord(marks[i], recorded.stream()), "event");
  };
  for (int i = 0; i < 3; ++i) recorded.launch();
  mark(0);
  for (int i = 0; i < 2; ++i) recorded.launch();
  mark(1);
  const int each = std::clamp(static_cast<int>(2 / std::max(between(0, 1), 1e-3F)), 1, 100);
  mark(0);
  for (std::size_t i = 1; i < marks.size(); ++i) {
    for (int n = 0; n < each; ++n) recorded.launch();
    mark(i);
  }
  std::vector<float> all;
  for (std::size_t i = 1; i < marks.size(); ++i)
    all.push_back(between(i - 1, i) / static_cast<float>(each));
  for (const cudaEvent_t event : marks) cudaEventDestroy(event);
  std::sort(all.begin(), all.end());
  return all;
}

inline void row(const char* name, int head_dim, bool causal, int length, double operations,
                const std::vector<float>& sorted) {
  const auto at = [&](double q) {
    const auto i = static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1));
    return operations / (static_cast<double>(sorted[i]) * 1e9);
  };
  std::printf("%-14s %4d %-6s %6d %8.1f %8.1f %8.1f\n", name, head_dim, causal ? "causal" : "full",
              length, at(0.5), at(0.75), at(0.25));
  // For programs: a result a line, as bench/gpu/device.py collects them.
  std::printf(
      "{\"measured\": {\"program\": \"%s\", \"head_dim\": %d, \"causal\": %s, "
      "\"length\": %d, \"tflops\": %.2f, \"q25\": %.2f, \"q75\": %.2f}}\n",
      name, head_dim, causal ? "true" : "false", length, at(0.5), at(0.75), at(0.25));
  std::fflush(stdout);
}

/// A cuBLAS GEMM of about as many operations, where the Toolkit has cuBLAS.
inline void ceiling(const Options& options, int head_dim, int length, double operations) {
#ifdef TWILL_HAS_CUBLAS
  const int m = 8192;
  const int depth = std::max(64, static_cast<int>(operations / (2.0 * m * m)) / 64 * 64);
  const auto side = static_cast<std::size_t>(m), inner = static_cast<std::size_t>(depth);
  const Elements x(side * inner, options.bf16), y(side * inner, options.bf16),
      z(side * side, options.bf16);
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) {
    std::fprintf(stderr, "cuBLAS could not be set up\n");
    std::exit(1);
  }
  const float one = 1, zero = 0;
  const cudaDataType_t type = options.bf16 ? CUDA_R_16BF : CUDA_R_16F;
  row("cuBLAS GEMM", head_dim, false, length, 2.0 * m * m * depth,
      times(options.runs, [&](cudaStream_t stream) {
        cublasSetStream(handle, stream);
        if (cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, m, depth, &one, x.data(), type, depth,
                         y.data(), type, depth, &zero, z.data(), type, m, CUBLAS_COMPUTE_32F,
                         CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS)
          return;
        std::fprintf(stderr, "cuBLAS failed\n");
        std::exit(1);
      }));
  cublasDestroy(handle);
#else
  (void)options, (void)head_dim, (void)length, (void)operations;
#endif
}

/// Reads the options, and runs `attention` for every length, head dimension of `dims` and mask that
/// they leave. The program's exit status: 2 bad usage, 77 no Hopper GPU.
inline int benchmark(
    int argc, char** argv, std::initializer_list<int> dims,
    const std::function<void(const Options&, int head_dim, bool causal, int length)>& attention) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i], text = argv[i + 1];
    if (name == "--length")
      options.length = std::atoi(argv[i + 1]);
    else if (name == "--head-dim")
      options.head_dim = std::atoi(argv[i + 1]);
    else if (name == "--runs")
      options.runs = std::max(1, std::atoi(argv[i + 1]));
    else if (name == "--type" && (text == "f16" || text == "bf16"))
      options.bf16 = text == "bf16";
    else {
      std::fprintf(stderr, "unknown option %s %s\n", argv[i], argv[i + 1]);
      return 2;
    }
  }
  int devices = 0;
  cudaDeviceProp device{};
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0 ||
      cudaGetDeviceProperties(&device, 0) != cudaSuccess || device.major != 9) {
    std::puts("no GPU of compute capability 9.0: skipped");
    return 77;
  }
  std::printf("%s, %d SMs, %s, batch %d, %d heads, median and quartiles of %d\n", device.name,
              device.multiProcessorCount, options.bf16 ? "bf16" : "f16", kBatch, kHeads,
              options.runs);
  std::printf("%-14s %4s %-6s %6s %8s %8s %8s\n", "TFLOPS", "D", "mask", "S", "median", "q25",
              "q75");
  for (const int head_dim : dims)
    for (const bool causal : {false, true})
      for (const int length : {1024, 2048, 4096, 8192, 16384})
        if ((options.length == 0 || options.length == length) &&
            (options.head_dim == 0 || options.head_dim == head_dim))
          attention(options, head_dim, causal, length);
  return 0;
}

}  // namespace twill::gpu::bench
