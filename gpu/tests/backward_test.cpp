// The backward kernel on a GPU against double precision: every schedule, type, head dimension and
// mask, ragged and adversarial inputs. O and the log-sum-exp come from the forward kernel,
// gradients are filled with NaN first.
//   gpu_backward               all cases
//   gpu_backward --small       the small ones, for compute-sanitizer
//   gpu_backward --list        their names (with --small, of the small ones); needs no GPU
//   gpu_backward --cases 3,7-9 those of the list, from 0
//   gpu_backward --repeats N   N deterministic launches of each schedule, bitwise equal results
// Ends with 77 where there is no Hopper GPU, 1 if a case fails.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "gpu/tests/backward_reference.hpp"
#include "gpu/tests/device.hpp"
#include "gpu/twill_gpu.h"

namespace {

using namespace twill::gpu::tests;

struct Case {
  twill_gpu_backward_schedule schedule = TWILL_GPU_BACKWARD_TWILL;
  twill_gpu_type type = TWILL_GPU_F16;
  int batch = 1, query_heads = 2, key_heads = 2, query_length = 128, key_length = 128;
  int head_dim = 128;
  twill_gpu_mask mask = TWILL_GPU_MASK_NONE;
  Layout layout = Layout::bshd;
  Input input = Input::normal;
  bool deterministic = false;
};

std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

struct Run {
  Case c;
  Tensor q, k, v, o, d_o, dq, dk, dv;
  float* lse = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  twill_fmha_backward_arguments arguments{};

  explicit Run(const Case& which)
      : c(which),
        q(c.batch, c.query_length, c.query_heads, c.head_dim, c.layout),
        k(c.batch, c.key_length, c.key_heads, c.head_dim, c.layout),
        v(c.batch, c.key_length, c.key_heads, c.head_dim, c.layout),
        o(c.batch, c.query_length, c.query_heads, c.head_dim, c.layout),
        d_o(c.batch, c.query_length, c.query_heads, c.head_dim, c.layout),
        dq(c.batch, c.query_length, c.query_heads, c.head_dim, c.layout),
        dk(c.batch, c.key_length, c.key_heads, c.head_dim, c.layout),
        dv(c.batch, c.key_length, c.key_heads, c.head_dim, c.layout) {
    std::mt19937 random(static_cast<unsigned>(c.query_length * 31 + c.key_length));
    fill(q, c.type, c.input, random);
    fill(k, c.type, c.input, random);
    const Input values = c.input == Input::large_logits ? Input::normal : c.input;
    fill(v, c.type, values, random);
    fill(d_o, c.type, values, random);
    q.upload(), k.upload(), v.upload(), d_o.upload();
    void* memory = nullptr;
    cuda(cudaMalloc(&memory, size(c.batch) * size(c.query_heads) * size(c.query_length) * 4),
         "cudaMalloc");
    lse = static_cast<float*>(memory);
    auto& a = arguments;
    a.type = c.type;
    a.batch = c.batch;
    a.query_heads = c.query_heads;
    a.key_heads = c.key_heads;
    a.query_length = c.query_length;
    a.key_length = c.key_length;
    a.head_dim = c.head_dim;
    a.mask = c.mask;
    a.q = q.device, a.k = k.device, a.v = v.device, a.o = o.device, a.d_o = d_o.device;
    a.lse = lse;
    a.dq = dq.device, a.dk = dk.device, a.dv = dv.device;
    a.schedule = c.schedule;
    a.deterministic = c.deterministic;
    check(twill_fmha_backward_workspace(&a, &workspace_bytes));
    cuda(cudaMalloc(&workspace, workspace_bytes), "cudaMalloc");
    forward();
  }
  ~Run() {
    cudaFree(lse);
    cudaFree(workspace);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  static void check(twill_gpu_status status) {
    if (status == TWILL_GPU_OK) return;
    std::printf("FAILED: %s\n", twill_gpu_error_text());
    std::exit(1);
  }

  void forward() const {
    twill_fmha_forward_arguments f{};
    f.type = c.type;
    f.batch = c.batch;
    f.query_heads = c.query_heads;
    f.key_heads = c.key_heads;
    f.query_length = c.query_length;
    f.key_length = c.key_length;
    f.head_dim = c.head_dim;
    f.mask = c.mask;
    f.q = q.device, f.k = k.device, f.v = v.device, f.o = o.device;
    f.lse = lse;
    f.schedule = TWILL_GPU_SCHEDULE_TWILL;
    check(twill_fmha_forward(&f, nullptr, 0, nullptr));
  }

  void launch() {
    for (const Tensor* t : {&dq, &dk, &dv})
      cuda(cudaMemset(t->device.data, 0xFF, t->elements.size() * 2), "memset");  // NaN
    cuda(cudaMemset(workspace, 0xFF, workspace_bytes), "memset");
    check(twill_fmha_backward(&arguments, workspace, workspace_bytes, nullptr));
    cuda(cudaDeviceSynchronize(), "the kernels");
    dq.download(), dk.download(), dv.download();
  }

  HeadInput head(int b, int h) const {
    HeadInput in{c.query_length,
                 c.key_length,
                 c.head_dim,
                 1 / std::sqrt(static_cast<double>(c.head_dim)),
                 {},
                 {},
                 {},
                 {},
                 {}};
    const auto rows = [&](std::vector<double>& to, const Tensor& from, int length, int which) {
      for (int r = 0; r < length; ++r)
        for (int d = 0; d < c.head_dim; ++d)
          to.push_back(static_cast<double>(from.values[from.at(b, r, which) + size(d)]));
    };
    const int key_head = h / (c.query_heads / c.key_heads);
    rows(in.q, q, c.query_length, h), rows(in.d_o, d_o, c.query_length, h);
    rows(in.k, k, c.key_length, key_head), rows(in.v, v, c.key_length, key_head);
    const int diagonal =
        c.mask == TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT ? c.key_length - c.query_length : 0;
    for (int r = 0; r < c.query_length; ++r)
      in.seen.push_back(c.mask == TWILL_GPU_MASK_NONE
                            ? c.key_length
                            : std::clamp(r + diagonal + 1, 0, c.key_length));
    return in;
  }

  std::string compare(const char* what, const Tensor& got, int b, int h,
                      const std::vector<double>& right, const std::vector<double>& baseline) const {
    double error = 0, allowed = 0, largest = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
      const int r = static_cast<int>(i) / c.head_dim;
      const std::size_t at = got.at(b, r, h) + i % size(c.head_dim);
      const auto x = static_cast<double>(value(got.elements[at], c.type));
      if (!(std::fabs(x) < 1e30))
        return std::string(what) + " is not a number in row " + std::to_string(r);
      error = std::max(error, std::fabs(x - right[i]));
      const double of_baseline = std::fabs(baseline[i] - right[i]);
      if (!std::isfinite(of_baseline))
        return "the baseline of " + std::string(what) + " has no bound in row " + std::to_string(r);
      allowed = std::max(allowed, of_baseline);
      largest = std::max(largest, std::fabs(right[i]));
    }
    // The kernel rounds P, dS and the results; the baseline also the scores and dP.
    const double unit = largest * (c.type == TWILL_GPU_F16 ? 1.0 / 1024 : 1.0 / 128) + 1e-6;
    if (error <= allowed + unit) return "";
    return "error of " + std::string(what) + " " + std::to_string(error) + ", of the baseline " +
           std::to_string(allowed);
  }

  /// Compares the first and the last key head, and their query heads. Returns what is wrong.
  std::string compare() const {
    const auto round = c.type == TWILL_GPU_F16 ? round_f16 : round_bf16;
    const int group = c.query_heads / c.key_heads;
    for (const auto& [b, kh] : {std::pair{0, 0}, std::pair{c.batch - 1, c.key_heads - 1}}) {
      HeadGradients sum, sum_baseline;
      for (int n = 0; n < group; ++n) {
        const HeadInput in = head(b, kh * group + n);
        const HeadGradients right = reference_gradients(in);
        const HeadGradients baseline = reference_gradients(in, round);
        std::string wrong = compare("dQ", dq, b, kh * group + n, right.dq, baseline.dq);
        if (!wrong.empty()) return wrong;
        for (HeadGradients* to : {&sum, &sum_baseline})
          to->dk.resize(right.dk.size()), to->dv.resize(right.dv.size());
        for (std::size_t i = 0; i < right.dk.size(); ++i) {
          sum.dk[i] += right.dk[i], sum.dv[i] += right.dv[i];
          sum_baseline.dk[i] += baseline.dk[i], sum_baseline.dv[i] += baseline.dv[i];
        }
      }
      std::string wrong = compare("dK", dk, b, kh, sum.dk, sum_baseline.dk);
      if (wrong.empty()) wrong = compare("dV", dv, b, kh, sum.dv, sum_baseline.dv);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }
};

std::string name(const Case& c) {
  static const char* const schedules[] = {"CUDA-Default", "Twill", "Twill-80"};
  return std::string(schedules[c.schedule]) + " " + text_of(c) +
         (c.deterministic ? " deterministic" : "");
}

std::vector<Case> cases(bool small) {
  std::vector<Case> all;
  for (const auto schedule :
       {TWILL_GPU_BACKWARD_DEFAULT, TWILL_GPU_BACKWARD_TWILL, TWILL_GPU_BACKWARD_TWILL80})
    for (const int head_dim : {64, 128}) {
      Case c;
      c.schedule = schedule;
      c.head_dim = head_dim;
      const auto add = [&](auto change) {
        Case changed = c;
        change(changed);
        all.push_back(changed);
      };
      const auto lengths = [&](int q, int k, twill_gpu_mask mask) {
        add([&](Case& x) { x.query_length = q, x.key_length = k, x.mask = mask; });
      };
      for (const auto mask : {TWILL_GPU_MASK_NONE, TWILL_GPU_MASK_CAUSAL_TOP_LEFT,
                              TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT}) {
        lengths(1, 1, mask), lengths(128, 128, mask), lengths(257, 383, mask);
        lengths(300, 65, mask);  // bottom right: rows that see no key
        lengths(65, 300, mask);  // top left: keys that no row sees
      }
      add([](Case& x) { x.type = TWILL_GPU_BF16, x.query_length = 200, x.key_length = 300; });
      add([](Case& x) { x.query_heads = 4, x.key_heads = 1, x.layout = Layout::bhsd; });
      add([](Case& x) { x.layout = Layout::padded, x.query_length = 130, x.batch = 2; });
      add([](Case& x) { x.deterministic = true, x.query_length = 320, x.key_length = 520; });
      if (small) continue;
      for (const int length : {2, 63, 64, 65, 79, 80, 81, 127, 129, 255, 256, 511, 1023, 1025})
        for (const auto mask : {TWILL_GPU_MASK_NONE, TWILL_GPU_MASK_CAUSAL_TOP_LEFT})
          lengths(length, length, mask);
      for (const auto input : {Input::large_logits, Input::denormal, Input::zero, Input::spikes})
        for (const auto type : {TWILL_GPU_F16, TWILL_GPU_BF16})
          add([&](Case& x) {
            // Of gradients of spikes of 200 some are beyond the numbers of f16.
            const bool mild = input == Input::spikes && type == TWILL_GPU_F16;
            x.input = mild ? Input::mild_spikes : input, x.type = type;
            x.query_length = 384, x.key_length = 640;
            x.mask = TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT;
          });
      for (const bool deterministic : {false, true})
        add([&](Case& x) {
          x.batch = 4, x.query_heads = 32, x.key_heads = 8;
          x.query_length = x.key_length = 1024;
          x.mask = TWILL_GPU_MASK_CAUSAL_TOP_LEFT;
          x.deterministic = deterministic;
        });
      lengths(4096, 4096, TWILL_GPU_MASK_NONE);
      lengths(4095, 4097, TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT);
    }
  return all;
}

int repeats(int count) {
  int failed = 0;
  for (const auto schedule :
       {TWILL_GPU_BACKWARD_DEFAULT, TWILL_GPU_BACKWARD_TWILL, TWILL_GPU_BACKWARD_TWILL80})
    for (const bool causal : {false, true}) {
      Case c;
      c.schedule = schedule;
      c.batch = 2, c.query_heads = c.key_heads = 4;
      c.query_length = 512, c.key_length = 640;
      c.deterministic = true;
      if (causal) c.mask = TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT;
      Run run(c);
      run.launch();
      const auto dq = run.dq.elements, dk = run.dk.elements, dv = run.dv.elements;
      int different = 0;
      for (int n = 1; n < count; ++n) {
        run.launch();
        different += dq != run.dq.elements || dk != run.dk.elements || dv != run.dv.elements;
      }
      std::printf("%s: %d of %d repeats differ\n", name(c).c_str(), different, count);
      failed += different > 0;
    }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  const TestOptions options = test_options(argc, argv);
  if (!options.list && !has_hopper()) {
    std::puts("no GPU of compute capability 9.0: skipped");
    return 77;
  }
  if (options.repeats > 0) return repeats(options.repeats) != 0;
  return run_cases(options, cases(options.small), name, [](const Case& c) {
    Run run(c);
    run.launch();
    return run.compare();
  });
}
