// The forward kernel on a GPU against double precision: every schedule, type, head dimension and
// mask, ragged and adversarial inputs. Outputs are filled with NaN first, and what lies between the
// rows of a padded output must stay as it was.
//   gpu_forward               all cases
//   gpu_forward --small       the small ones, for compute-sanitizer
//   gpu_forward --list        their names (with --small, of the small ones); needs no GPU
//   gpu_forward --cases 3,7-9 those of the list, from 0
//   gpu_forward --repeats N   N launches of each schedule, bitwise equal results
// Ends with 77 where there is no Hopper GPU, 1 if a case fails.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gpu/tests/device.hpp"
#include "gpu/tests/forward_reference.hpp"
#include "gpu/twill_gpu.h"

namespace {

using namespace twill::gpu::tests;

struct Case {
  twill_gpu_schedule schedule = TWILL_GPU_SCHEDULE_TWILL;
  twill_gpu_type type = TWILL_GPU_F16;
  int batch = 1, query_heads = 2, key_heads = 2, query_length = 128, key_length = 128;
  int head_dim = 128;
  twill_gpu_mask mask = TWILL_GPU_MASK_NONE;
  Layout layout = Layout::bshd;
  Input input = Input::normal;
  bool multicast = true;
};

struct Run {
  Case c;
  Tensor q, k, v, o;
  float* lse = nullptr;
  std::vector<float> lse_values;
  twill_fmha_forward_arguments arguments{};

  explicit Run(const Case& which)
      : c(which),
        q(c.batch, c.query_length, c.query_heads, c.head_dim, c.layout),
        k(c.batch, c.key_length, c.key_heads, c.head_dim, c.layout),
        v(c.batch, c.key_length, c.key_heads, c.head_dim, c.layout),
        o(c.batch, c.query_length, c.query_heads, c.head_dim, c.layout) {
    std::mt19937 random(static_cast<unsigned>(c.query_length * 31 + c.key_length));
    fill(q, c.type, c.input, random);
    fill(k, c.type, c.input, random);
    fill(v, c.type, c.input == Input::large_logits ? Input::normal : c.input, random);
    q.upload(), k.upload(), v.upload();
    lse_values.resize(static_cast<std::size_t>(c.batch) * static_cast<std::size_t>(c.query_heads) *
                      static_cast<std::size_t>(c.query_length));
    void* memory = nullptr;
    cuda(cudaMalloc(&memory, lse_values.size() * 4), "cudaMalloc");
    lse = static_cast<float*>(memory);
    arguments.type = c.type;
    arguments.batch = c.batch;
    arguments.query_heads = c.query_heads;
    arguments.key_heads = c.key_heads;
    arguments.query_length = c.query_length;
    arguments.key_length = c.key_length;
    arguments.head_dim = c.head_dim;
    arguments.mask = c.mask;
    arguments.q = q.device, arguments.k = k.device;
    arguments.v = v.device, arguments.o = o.device;
    arguments.lse = lse;
    arguments.schedule = c.schedule;
    arguments.no_multicast = !c.multicast;
  }
  ~Run() { cudaFree(lse); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void launch() {
    cuda(cudaMemset(o.device.data, 0xFF, o.elements.size() * 2), "memset");  // NaN
    cuda(cudaMemset(lse, 0xFF, lse_values.size() * 4), "memset");
    if (twill_fmha_forward(&arguments, nullptr, 0, nullptr) != TWILL_GPU_OK) {
      std::printf("FAILED: %s\n", twill_gpu_error_text());
      std::exit(1);
    }
    cuda(cudaDeviceSynchronize(), "the kernel");
    o.download();
    cuda(cudaMemcpy(lse_values.data(), lse, lse_values.size() * 4, cudaMemcpyDeviceToHost),
         "download");
  }

  /// Compares up to `rows` rows of every head, the first and last always. Returns what is wrong.
  std::string compare(int rows) const {
    const auto round = c.type == TWILL_GPU_F16 ? round_f16 : round_bf16;
    const double scale = 1 / std::sqrt(static_cast<double>(c.head_dim));
    const int diagonal =
        c.mask == TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT ? c.key_length - c.query_length : 0;
    double error = 0, baseline = 0, lse_error = 0, largest = 0;
    for (int b = 0; b < c.batch; ++b)
      for (int h = 0; h < c.query_heads; ++h)
        for (int n = 0; n < std::min(rows, c.query_length); ++n) {
          const int r = c.query_length <= rows
                            ? n
                            : static_cast<int>(std::int64_t{n} * (c.query_length - 1) / (rows - 1));
          RowInput row{&q.values[q.at(b, r, h)], {}, {}, c.head_dim, scale};
          const int seen = c.mask == TWILL_GPU_MASK_NONE
                               ? c.key_length
                               : std::clamp(r + diagonal + 1, 0, c.key_length);
          for (int j = 0; j < seen; ++j) {
            const int kh = h / (c.query_heads / c.key_heads);
            row.k.push_back(&k.values[k.at(b, j, kh)]);
            row.v.push_back(&v.values[v.at(b, j, kh)]);
          }
          const RowOutput right = reference_row(row, round);
          for (int d = 0; d < c.head_dim; ++d) {
            const auto i = static_cast<std::size_t>(d);
            const double got = static_cast<double>(value(o.elements[o.at(b, r, h) + i], c.type));
            if (!(std::fabs(got) < 1e30)) return "O is not a number in row " + std::to_string(r);
            error = std::max(error, std::fabs(got - right.o[i]));
            baseline = std::max(baseline, std::fabs(right.baseline[i] - right.o[i]));
            largest = std::max(largest, std::fabs(right.o[i]));
          }
          const double got = static_cast<double>(
              lse_values[(static_cast<std::size_t>(b) * static_cast<std::size_t>(c.query_heads) +
                          static_cast<std::size_t>(h)) *
                             static_cast<std::size_t>(c.query_length) +
                         static_cast<std::size_t>(r)]);
          if (std::isinf(right.lse)) {
            if (got != right.lse) return "LSE is not -infinity in row " + std::to_string(r);
          } else {
            lse_error = std::max(lse_error,
                                 std::fabs(got - right.lse) / std::max(1.0, std::fabs(right.lse)));
            if (std::isnan(got)) return "LSE is not a number in row " + std::to_string(r);
          }
        }
    // The kernel rounds P and O; the baseline also the scores. One unit in the last place of O is
    // for rows where the baseline is exact by luck.
    const double unit = largest * (c.type == TWILL_GPU_F16 ? 1.0 / 1024 : 1.0 / 128) + 1e-7;
    if (error > baseline + unit)
      return "error of O " + std::to_string(error) + ", of the baseline " +
             std::to_string(baseline);
    if (lse_error > 1e-4) return "relative error of LSE " + std::to_string(lse_error);
    if (c.layout == Layout::padded)
      for (int b = 0; b < c.batch; ++b)
        for (int r = 0; r < c.query_length; ++r)
          for (std::size_t d = 0; d < 64; ++d)
            if (o.elements[o.at(b, r, c.query_heads) + d] != 0xFFFF)
              return "written between the rows of O";
    return "";
  }
};

std::string name(const Case& c) {
  static const char* const schedules[] = {"CUDA-Default", "Twill-SWP", "Twill", "Twill-Overlap"};
  return std::string(schedules[c.schedule]) + " " + text_of(c) +
         (c.multicast ? "" : " no multicast");
}

std::vector<Case> cases(bool small) {
  std::vector<Case> all;
  for (const auto schedule : {TWILL_GPU_SCHEDULE_DEFAULT, TWILL_GPU_SCHEDULE_SWP,
                              TWILL_GPU_SCHEDULE_TWILL, TWILL_GPU_SCHEDULE_OVERLAP})
    for (const int head_dim : {64, 128, 256}) {
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
      }
      add([](Case& x) { x.type = TWILL_GPU_BF16, x.query_length = 200, x.key_length = 300; });
      add([](Case& x) { x.query_heads = 4, x.key_heads = 1, x.layout = Layout::bhsd; });
      add([](Case& x) { x.layout = Layout::padded, x.query_length = 130, x.batch = 2; });
      add([](Case& x) { x.query_length = x.key_length = 512; });  // multicast
      if (small) continue;
      for (const int length : {2, 63, 64, 65, 127, 129, 255, 256, 511, 1023, 1025, 2049})
        for (const auto mask : {TWILL_GPU_MASK_NONE, TWILL_GPU_MASK_CAUSAL_TOP_LEFT})
          lengths(length, length, mask);
      for (const auto input : {Input::large_logits, Input::denormal, Input::zero, Input::spikes})
        for (const auto type : {TWILL_GPU_F16, TWILL_GPU_BF16})
          add([&](Case& x) {
            x.input = input, x.type = type;
            x.query_length = 384, x.key_length = 640;
            x.mask = TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT;
          });
      add([](Case& x) { x.query_length = x.key_length = 512, x.multicast = false; });
      add([](Case& x) {
        x.batch = 4, x.query_heads = 32, x.key_heads = 8;
        x.query_length = x.key_length = 1024;
      });
      add([](Case& x) {
        x.batch = 4, x.query_heads = 32, x.key_heads = 32;
        x.query_length = x.key_length = 1000, x.layout = Layout::bhsd;
        x.mask = TWILL_GPU_MASK_CAUSAL_TOP_LEFT;
      });
      lengths(16384, 16384, TWILL_GPU_MASK_NONE);
      lengths(16383, 16385, TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT);
    }
  return all;
}

int repeats(int count) {
  int failed = 0;
  for (const auto schedule : {TWILL_GPU_SCHEDULE_DEFAULT, TWILL_GPU_SCHEDULE_SWP,
                              TWILL_GPU_SCHEDULE_TWILL, TWILL_GPU_SCHEDULE_OVERLAP})
    for (const bool causal : {false, true}) {
      Case c;
      c.schedule = schedule;
      c.batch = 2, c.query_heads = c.key_heads = 4;
      c.query_length = 512, c.key_length = 640;
      if (causal) c.mask = TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT;
      Run run(c);
      run.launch();
      const auto o = run.o.elements;
      const auto lse = run.lse_values;
      int different = 0;
      for (int n = 1; n < count; ++n) {
        run.launch();
        different += o != run.o.elements ||
                     std::memcmp(lse.data(), run.lse_values.data(), lse.size() * 4) != 0;
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
    return run.compare(c.batch * c.query_heads > 16 ? 6 : 40);
  });
}
