// The kernels' source on the emulated multiprocessor (gpu/emulator) against double precision: every
// schedule, head dimension and mask, ragged lengths, grouped heads, clusters, work as early and as
// late as may be. Then wrong arguments, which must be found. No GPU is needed.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "gpu/api/backward_plan.hpp"
#include "gpu/api/device.hpp"
#include "gpu/api/forward_plan.hpp"
#include "gpu/hopper/backward/fmha_backward.cuh"
#include "gpu/hopper/backward/rows.cuh"
#include "gpu/hopper/forward/fmha_forward.cuh"
#include "gpu/hopper/tensor_map.hpp"
#include "gpu/tests/backward_reference.hpp"

using namespace twill::gpu;
using namespace twill::gpu::tests;
using emulator::When;

namespace {

std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

struct Case {
  int schedule = 1, head_dim = 128;
  int query_length = 128, key_length = 128;
  int query_heads = 1, key_heads = 1, batch = 1;
  int mask = TWILL_GPU_MASK_NONE;
  bool bf16 = false, deterministic = false, bhsd = false;
  bool paired = false;  ///< ForwardWork::paired: causal, an even number of heads
  When when = When::late;
  unsigned seed = 1;
  float spread = 1;
  float offset = 0;  ///< of all of Q, and less that of all of K: scores far below 0

  Element element() const { return bf16 ? Element::bf16 : Element::f16; }
  std::string text() const {
    return "schedule " + std::to_string(schedule) + (bf16 ? " bf16" : " f16") + " D" +
           std::to_string(head_dim) + " B" + std::to_string(batch) + " H" +
           std::to_string(query_heads) + "/" + std::to_string(key_heads) + " S" +
           std::to_string(query_length) + "/" + std::to_string(key_length) + " mask " +
           std::to_string(mask) + (deterministic ? " deterministic" : "") +
           (paired ? " paired" : "") + (when == When::late ? " late" : " at once");
  }
};

struct Tensor {
  std::vector<std::uint16_t> elements;
  twill_gpu_tensor at{};
  twill_gpu_type type;
  int batch, length, heads, head_dim;

  Tensor(const Case& c, int rows, int count)
      : type(c.bf16 ? TWILL_GPU_BF16 : TWILL_GPU_F16),
        batch(c.batch),
        length(rows),
        heads(count),
        head_dim(c.head_dim) {
    elements.assign(size(batch) * size(length) * size(heads) * size(head_dim), 0xFFFF);  // NaN
    at = {elements.data(), std::int64_t{length} * heads * head_dim,
          c.bhsd ? head_dim : heads * head_dim, c.bhsd ? length * head_dim : head_dim};
  }
  std::uint16_t* row(int b, int h, int r) {
    return elements.data() + b * at.batch_stride + h * at.head_stride + r * at.sequence_stride;
  }
  CUtensorMap map(int box_rows, int box_panels) const {
    return tensor_map(at, {batch, length, heads, head_dim}, type, box_rows, box_panels);
  }
};

void fill(Tensor& t, const Case& c, float spread, std::mt19937& random, float offset = 0) {
  std::normal_distribution<float> normal;
  for (auto& x : t.elements)
    x = emulator::from_float(offset + spread * normal(random), c.element());
}

float round_f16(float x) {
  return emulator::to_float(emulator::from_float(x, Element::f16), Element::f16);
}
float round_bf16(float x) {
  return emulator::to_float(emulator::from_float(x, Element::bf16), Element::bf16);
}

HeadInput head_input(const Case& c, Tensor& q, Tensor& k, Tensor& v, Tensor& d_o, int b, int h) {
  HeadInput in{
      c.query_length, c.key_length, c.head_dim, softmax_scale(0, c.head_dim), {}, {}, {}, {}, {}};
  const auto rows = [&](std::vector<double>& to, Tensor& from, int head) {
    for (int r = 0; r < from.length; ++r)
      for (int d = 0; d < c.head_dim; ++d)
        to.push_back(static_cast<double>(emulator::to_float(from.row(b, head, r)[d], c.element())));
  };
  const int key_head = h / (c.query_heads / c.key_heads);
  rows(in.q, q, h), rows(in.d_o, d_o, h), rows(in.k, k, key_head), rows(in.v, v, key_head);
  const int diagonal =
      c.mask == TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT ? c.key_length - c.query_length : 0;
  for (int r = 0; r < c.query_length; ++r)
    in.seen.push_back(c.mask == TWILL_GPU_MASK_NONE
                          ? c.key_length
                          : std::min(c.key_length, std::max(0, r + diagonal + 1)));
  return in;
}

/// The largest error of one head's rows, beyond the baseline's: "" if none.
std::string compare(const char* what, Tensor& got, int b, int h, const std::vector<double>& right,
                    const std::vector<double>& baseline, const Case& c) {
  double error = 0, allowed = 0, largest = 0;
  for (int r = 0; r < got.length; ++r)
    for (int d = 0; d < c.head_dim; ++d) {
      const std::size_t i = size(r) * size(c.head_dim) + size(d);
      const auto value = static_cast<double>(emulator::to_float(got.row(b, h, r)[d], c.element()));
      if (!(std::fabs(value) < 1e30))
        return std::string(what) + " is not a number in row " + std::to_string(r) + ", column " +
               std::to_string(d);
      error = std::max(error, std::fabs(value - right[i]));
      allowed = std::max(allowed, std::fabs(baseline[i] - right[i]));
      largest = std::max(largest, std::fabs(right[i]));
    }
  const double unit = largest * (c.bf16 ? 1.0 / 128 : 1.0 / 1024) + 1e-6;
  if (error <= allowed + unit) return "";
  return "error of " + std::string(what) + " " + std::to_string(error) + ", of the baseline " +
         std::to_string(allowed) + ", largest " + std::to_string(largest);
}

/// Where dynamic shared memory begins, anywhere a multiple of 16: a kernel that forgets it
/// somewhere is found, and one that has no room for its alignment.
std::uint32_t next_raw() {
  static std::size_t count = 0;
  constexpr std::uint32_t kRaw[] = {16, 1024, 1008, 2064, 0, 1536};
  return kRaw[count++ % std::size(kRaw)];
}

/// Planted: a kernel whose tiles lie so many bytes beside, and one with so many bytes too few.
std::uint32_t beside = 0;
int too_few = 0;

template <Element kElement, int kHeadDim, int kSchedule = 0>
void backward_launch(int schedule, const BackwardArguments& g, emulator::Launch launch) {
  if constexpr (kSchedule < kBackwardScheduleCount) {
    if (schedule != kSchedule)
      return backward_launch<kElement, kHeadDim, kSchedule + 1>(schedule, g, launch);
    using F = Backward<kSchedule, kElement, kHeadDim>;
    const std::uint32_t raw = next_raw();
    launch.shared_bytes = static_cast<int>(raw) + F::kSharedBytes - too_few;
    emulator::run(launch, [&] { backward_block<F>(g, aligned_1024(raw) + beside); });
  }
}

std::string backward(const Case& c, const std::function<void(BackwardArguments&)>& change = {}) {
  std::mt19937 random(c.seed);
  Tensor q(c, c.query_length, c.query_heads), o(c, c.query_length, c.query_heads),
      d_o(c, c.query_length, c.query_heads), dq(c, c.query_length, c.query_heads);
  Tensor k(c, c.key_length, c.key_heads), v(c, c.key_length, c.key_heads),
      dk(c, c.key_length, c.key_heads), dv(c, c.key_length, c.key_heads);
  fill(q, c, c.spread, random, c.offset), fill(k, c, c.spread, random, -c.offset);
  fill(v, c, 1, random), fill(d_o, c, 1, random);
  std::vector<float> lse(size(c.batch) * size(c.query_heads) * size(c.query_length));
  const auto round = c.bf16 ? round_bf16 : round_f16;
  std::vector<HeadGradients> right, baseline;
  for (int b = 0; b < c.batch; ++b)
    for (int h = 0; h < c.query_heads; ++h) {
      const HeadInput in = head_input(c, q, k, v, d_o, b, h);
      const HeadOutput out = reference_head(in);
      for (int r = 0; r < c.query_length; ++r) {
        lse[size(b * c.query_heads + h) * size(c.query_length) + size(r)] =
            static_cast<float>(out.lse[size(r)]);
        for (int d = 0; d < c.head_dim; ++d)
          o.row(b, h, r)[d] = emulator::from_float(
              static_cast<float>(out.o[size(r) * size(c.head_dim) + size(d)]), c.element());
      }
      right.push_back(reference_gradients(in));
      baseline.push_back(reference_gradients(in, round));
    }
  twill_fmha_backward_arguments a{};
  a.type = c.bf16 ? TWILL_GPU_BF16 : TWILL_GPU_F16;
  a.batch = c.batch;
  a.query_heads = c.query_heads;
  a.key_heads = c.key_heads;
  a.query_length = c.query_length;
  a.key_length = c.key_length;
  a.head_dim = c.head_dim;
  a.mask = c.mask;
  a.q = q.at, a.k = k.at, a.v = v.at, a.o = o.at, a.d_o = d_o.at;
  a.lse = lse.data();
  a.dq = dq.at, a.dk = dk.at, a.dv = dv.at;
  a.schedule = c.schedule;
  a.deterministic = c.deterministic;
  std::vector<float4> workspace(backward_space(a).bytes / sizeof(float4) + 1,
                                float4{NAN, NAN, NAN, NAN});
  BackwardArguments g{};
  static_cast<BackwardWork&>(g) = backward_work(a);
  static_cast<BackwardSums&>(g) = backward_sums(a, workspace.data());
  const int panels = c.head_dim / 64;
  g.q = q.map(g.rows, panels), g.d_o = d_o.map(g.rows, panels);
  g.k = k.map(kKeyRows, panels), g.v = v.map(kKeyRows, panels);
  g.dk = dk.map(kWarpgroupRows, panels), g.dv = dv.map(kWarpgroupRows, panels);
  g.scale = static_cast<float>(softmax_scale(0, c.head_dim));
  g.scale_log2 = static_cast<float>(softmax_scale(0, c.head_dim) * kLog2E);

  const DeltaArguments before = delta_arguments(a, workspace.data());
  const ConvertArguments after = convert_arguments(a, workspace.data());
  emulator::Launch rows;
  rows.blocks = c.batch * c.query_heads * g.tiles;
  rows.threads = kRowThreads;
  emulator::run(rows, [&] {
    if (c.head_dim == 64)
      c.bf16 ? delta_block<Element::bf16, 64>(before) : delta_block<Element::f16, 64>(before);
    else
      c.bf16 ? delta_block<Element::bf16, 128>(before) : delta_block<Element::f16, 128>(before);
  });
  if (change) change(g);
  emulator::Launch main;
  main.blocks = g.units;
  main.threads = kBackwardThreads;
  main.when = c.when;
  main.seed = c.seed;
  main.at_once = 3;
  main.ordered_sums = c.deterministic;
  if (c.head_dim == 64)
    c.bf16 ? backward_launch<Element::bf16, 64>(c.schedule, g, main)
           : backward_launch<Element::f16, 64>(c.schedule, g, main);
  else
    c.bf16 ? backward_launch<Element::bf16, 128>(c.schedule, g, main)
           : backward_launch<Element::f16, 128>(c.schedule, g, main);
  alignas(16) static std::uint16_t staging[80 * kRowPitch<128>];
  emulator::run(rows, [&] {
    if (c.head_dim == 64)
      c.bf16 ? convert_block<Element::bf16, 64>(after, staging)
             : convert_block<Element::f16, 64>(after, staging);
    else
      c.bf16 ? convert_block<Element::bf16, 128>(after, staging)
             : convert_block<Element::f16, 128>(after, staging);
  });

  for (int b = 0; b < c.batch; ++b) {
    for (int h = 0; h < c.query_heads; ++h) {
      const std::size_t head = size(b * c.query_heads + h);
      std::string wrong = compare("dQ", dq, b, h, right[head].dq, baseline[head].dq, c);
      if (!wrong.empty()) return wrong;
    }
    const int group = c.query_heads / c.key_heads;
    for (int kh = 0; kh < c.key_heads; ++kh) {
      HeadGradients sum = right[size(b * c.query_heads + kh * group)];
      HeadGradients sum_baseline = baseline[size(b * c.query_heads + kh * group)];
      for (int n = 1; n < group; ++n) {
        const std::size_t head = size(b * c.query_heads + kh * group + n);
        for (std::size_t i = 0; i < sum.dk.size(); ++i) {
          sum.dk[i] += right[head].dk[i], sum.dv[i] += right[head].dv[i];
          sum_baseline.dk[i] += baseline[head].dk[i], sum_baseline.dv[i] += baseline[head].dv[i];
        }
      }
      for (const auto& [name, tensor, r, base] :
           {std::tuple{"dK", &dk, &sum.dk, &sum_baseline.dk},
            std::tuple{"dV", &dv, &sum.dv, &sum_baseline.dv}}) {
        std::string wrong = compare(name, *tensor, b, kh, *r, *base, c);
        if (!wrong.empty()) return wrong;
      }
    }
  }
  return "";
}

template <Element kElement, int kHeadDim, int kSchedule = 0>
void forward_launch(int schedule, const ForwardArguments& g, emulator::Launch launch) {
  if constexpr (kSchedule < kForwardScheduleCount) {
    if (schedule != kSchedule)
      return forward_launch<kElement, kHeadDim, kSchedule + 1>(schedule, g, launch);
    using F = Forward<kSchedule, kElement, kHeadDim>;
    const std::uint32_t raw = next_raw();
    launch.shared_bytes = static_cast<int>(raw) + F::kSharedBytes - too_few;
    launch.threads = F::kThreads;
    emulator::run(launch, [&] { forward_block<F>(g, aligned_1024(raw) + beside); });
  }
}

std::string forward(const Case& c, int most_blocks) {
  std::mt19937 random(c.seed);
  Tensor q(c, c.query_length, c.query_heads), o(c, c.query_length, c.query_heads);
  Tensor k(c, c.key_length, c.key_heads), v(c, c.key_length, c.key_heads);
  fill(q, c, c.spread, random), fill(k, c, c.spread, random), fill(v, c, 1, random);
  std::vector<float> lse(size(c.batch) * size(c.query_heads) * size(c.query_length), NAN);
  twill_fmha_forward_arguments a{};
  a.type = TWILL_GPU_F16;
  a.batch = c.batch;
  a.query_heads = c.query_heads;
  a.key_heads = c.key_heads;
  a.query_length = c.query_length;
  a.key_length = c.key_length;
  a.head_dim = c.head_dim;
  a.mask = c.mask;
  a.schedule = c.schedule;
  ForwardArguments g{};
  static_cast<ForwardWork&>(g) = forward_work(a);
  const ForwardTile tile = forward_tile(c.head_dim);
  g.paired = c.paired;
  g.q = q.map(kWarpgroupRows, tile.panels), g.o = o.map(kWarpgroupRows, tile.panels);
  g.k = k.map(tile.keys, tile.panels / g.blocks), g.v = v.map(tile.keys, tile.panels / g.blocks);
  g.lse = lse.data();
  g.scale_log2 = static_cast<float>(softmax_scale(0, c.head_dim) * kLog2E);
  emulator::Launch launch;
  launch.blocks = std::min(g.units, most_blocks) * g.blocks;
  launch.cluster = g.blocks;
  launch.when = c.when;
  launch.seed = c.seed;
  launch.at_once = 2;
  if (c.head_dim == 64) forward_launch<Element::f16, 64>(c.schedule, g, launch);
  if (c.head_dim == 128) forward_launch<Element::f16, 128>(c.schedule, g, launch);
  if (c.head_dim == 256) forward_launch<Element::f16, 256>(c.schedule, g, launch);
  for (int b = 0; b < c.batch; ++b)
    for (int h = 0; h < c.query_heads; ++h) {
      const HeadOutput right = reference_head(head_input(c, q, k, v, o, b, h));
      std::vector<double> rounded;
      for (const double x : right.o)
        rounded.push_back(static_cast<double>(round_f16(static_cast<float>(x))));
      std::string wrong = compare("O", o, b, h, right.o, rounded, c);
      if (!wrong.empty()) return wrong;
      for (int r = 0; r < c.query_length; ++r) {
        const auto got =
            static_cast<double>(lse[size(b * c.query_heads + h) * size(c.query_length) + size(r)]);
        const double expected = right.lse[size(r)];
        if (!(got == expected || std::fabs(got - expected) < 1e-4 * (1 + std::fabs(expected))))
          return "LSE of row " + std::to_string(r) + " is " + std::to_string(got) + ", not " +
                 std::to_string(expected);
      }
    }
  return "";
}

int failed = 0, ran = 0;

void report(const char* what, const Case& c, const std::function<std::string()>& test) {
  std::string wrong;
  try {
    wrong = test();
  } catch (const emulator::Error& error) {
    wrong = error.what();
  }
  ++ran;
  if (wrong.empty()) return;
  std::printf("FAILED: %s %s: %s\n", what, c.text().c_str(), wrong.c_str());
  ++failed;
}

/// Tiles that do not begin at a multiple of 1024, and shared memory without the room for that, are
/// found, wherever dynamic shared memory begins (next_raw).
void planted_bases() {
  const auto refusals = [](bool forward_pass) {
    int refused = 0;
    for (int k = 0; k < 6; ++k) {
      Case c;
      try {
        static_cast<void>(forward_pass ? forward(c, 1) : backward(c));
      } catch (const emulator::Error&) {
        ++refused;
      }
    }
    return refused;
  };
  for (const bool forward_pass : {false, true}) {
    const auto expect = [&](const char* what, int least, int most) {
      const int refused = refusals(forward_pass);
      ++ran;
      if (refused >= least && refused <= most) return;
      std::printf("FAILED: %s %s: refused for %d of 6 bases\n",
                  forward_pass ? "forward" : "backward", what, refused);
      ++failed;
    };
    expect("as it is", 0, 0);
    beside = 16;
    expect("tiles 16 bytes beside", 6, 6);
    beside = 512;
    expect("tiles 512 bytes beside", 6, 6);
    beside = 0;
    too_few = 1024;  // enough where the base is a multiple of 1024, or 16 bytes before one
    expect("no room for the alignment", 3, 3);
    too_few = 0;
  }
}

/// Wrong arguments give wrong gradients.
void planted_errors() {
  const auto noticed = [](const char* what, const std::function<void(BackwardArguments&)>& change,
                          Case c = {}) {
    c.query_length = 150, c.key_length = 140;
    c.mask = TWILL_GPU_MASK_CAUSAL_TOP_LEFT;
    ++ran;
    try {
      if (!backward(c, change).empty()) return;
    } catch (const emulator::Error&) {
      return;
    }
    std::printf("FAILED: not noticed: %s\n", what);
    ++failed;
  };
  noticed("a key too many is seen", [](BackwardArguments& g) { ++g.diagonal; });
  noticed("a key too few is seen", [](BackwardArguments& g) { --g.diagonal; });
  // With scores far below 0 a key that does not exist, of score 0, would weigh infinitely much.
  Case far;
  far.spread = 0.1F, far.offset = 6;
  noticed(
      "keys beyond the end are seen", [](BackwardArguments& g) { g.key_length += 2; }, far);
  noticed("the scale of the scores", [](BackwardArguments& g) { g.scale_log2 *= 1.02F; });
  noticed("the scale of dK", [](BackwardArguments& g) { g.scale *= 1.02F; });
  noticed("delta", [](BackwardArguments& g) { g.delta[3] += 0.5F; });
  noticed("the log-sum-exp", [](BackwardArguments& g) { g.lse[100] += 0.2F; });
  Case in_turn;
  in_turn.deterministic = true;
  noticed(
      "additions to dQ in any order", [](BackwardArguments& g) { g.added = nullptr; }, in_turn);
  noticed("dQ is not zeroed", [](BackwardArguments& g) { g.dq[17] += 0.2F; });
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::string(argv[1]) == "--quick";
  const auto backward_case = [](const Case& c) {
    report("backward", c, [&] { return backward(c); });
  };
  for (int schedule = 0; schedule < kBackwardScheduleCount; ++schedule)
    for (const int head_dim : {64, 128}) {
      Case c;
      c.schedule = schedule;
      c.head_dim = head_dim;
      const auto with = [&](auto change) {
        Case changed = c;
        change(changed);
        backward_case(changed);
      };
      with([](Case& x) { x.query_length = 200, x.key_length = 150; });
      if (quick) continue;
      with([](Case& x) { x.query_length = 1, x.key_length = 1, x.when = When::at_once; });
      with([](Case& x) {
        x.query_length = 385, x.key_length = 257, x.mask = TWILL_GPU_MASK_CAUSAL_TOP_LEFT;
      });
      with([](Case& x) { x.query_length = 90, x.key_length = 129, x.spread = 0.1F, x.offset = 6; });
      with([](Case& x) {  // rows that see no key, and the first key tile is not the longest
        x.query_length = 300, x.key_length = 140, x.mask = TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT;
        x.deterministic = true;
      });
      with([](Case& x) {  // keys that no row sees
        x.query_length = 70, x.key_length = 300, x.mask = TWILL_GPU_MASK_CAUSAL_TOP_LEFT;
        x.when = When::at_once;
      });
      with([](Case& x) {
        x.query_heads = 4, x.key_heads = 2, x.batch = 2, x.bhsd = true, x.deterministic = true;
        x.query_length = 100, x.key_length = 130;
      });
      with([](Case& x) {
        x.bf16 = true, x.query_length = 160, x.key_length = 129, x.spread = 3;
        x.mask = TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT;
      });
    }
  for (int schedule = 0; schedule < kForwardScheduleCount; ++schedule)
    for (const int head_dim : {64, 128, 256}) {
      Case c;
      c.schedule = schedule;
      c.head_dim = head_dim;
      const auto with = [&](int queries, int keys, int mask, int most_blocks, auto change) {
        Case x = c;
        x.query_length = queries, x.key_length = keys, x.mask = mask;
        change(x);
        report("forward", x, [&] { return forward(x, most_blocks); });
      };
      const auto same = [](Case&) {};
      with(200, 300, TWILL_GPU_MASK_NONE, 4, same);  // two tiles: a cluster from 128 on
      if (quick) continue;
      with(1, 1, TWILL_GPU_MASK_NONE, 1, same);
      with(257, 383, TWILL_GPU_MASK_CAUSAL_TOP_LEFT, 2, same);
      with(300, 65, TWILL_GPU_MASK_CAUSAL_BOTTOM_RIGHT, 1, same);
      with(257, 383, TWILL_GPU_MASK_CAUSAL_TOP_LEFT, 2,
           [](Case& x) { x.query_heads = 2, x.paired = true; });
      with(130, 200, TWILL_GPU_MASK_NONE, 1, [](Case& x) {
        x.query_heads = 4, x.key_heads = 2, x.when = When::at_once, x.spread = 3;
      });
    }
  planted_errors();
  planted_bases();
  std::printf("%d of %d emulated launches failed\n", failed, ran);
  return failed != 0;
}
