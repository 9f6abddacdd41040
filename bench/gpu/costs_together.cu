// What two warpgroups cost each other: products of one while the other multiplies or computes. Of
// gpu_bench_costs (costs.cu).
#include <cstdint>
#include <string>

#include "bench/gpu/costs.cuh"
#include "gpu/hopper/ptx.cuh"
#include "gpu/hopper/wgmma.cuh"

namespace twill::gpu::bench {

namespace {

/// What a warpgroup does in a step, of a tile of 64 x 128.
enum class Work {
  nothing,
  scores,  ///< 64 x 128 x 128 from shared memory, waited for
  output,  ///< the same with A in registers
  both,    ///< scores, then output
  queued,  ///< four of scores, one in flight while the next is issued
  exp2,    ///< from here to max an instruction for each of 64 values a thread
  add,
  mul,
  fma,
  max,
  trunc,          ///< a conversion of two values
  sum_of_rows,    ///< with the shuffles of a quad
  max_of_rows,    ///< likewise
  shared_store,   ///< 16-byte stores of the tile in 16 bits
  attention,      ///< scores, 64 exp2 and 192 fma, output: a round of attention without its sums
  late_attention  ///< the same, but the arithmetic runs under output
};

/// One warpgroup's part of a step.

template <Work kWork>
__device__ __forceinline__ void work(float (&s)[64], float (&o)[64], std::uint64_t at_a,
                                     std::uint64_t at_b, std::uint32_t store_to, float a) {
  using Product = Wgmma<Element::f16, 128>;
  const auto step = [](int k) { return static_cast<std::uint64_t>(k % 64 * 2 / 16); };
  const auto scores = [&] {
    wgmma_fence();
    pin(s);
#pragma unroll
    for (int k = 0; k < 128; k += 16) Product::ss<0, 0>(s, at_a + step(k), at_b + step(k), 1);
    wgmma_commit();
  };
  std::uint32_t p[32];
  const auto converted = [&] {
#pragma unroll
    for (int k = 0; k < 32; ++k)
      asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(p[k]) : "f"(s[2 * k + 1]), "f"(s[2 * k]));
  };
  const auto output = [&] {
    pin(p);
    wgmma_fence();
    pin(o);
#pragma unroll
    for (int k = 0; k < 8; ++k) Product::rs<0>(o, p + 4 * k, at_b + step(16 * k), 1);
    wgmma_commit();
  };
  const auto each = [&](auto one) {
#pragma unroll
    for (float& x : s) one(x);
  };
  const auto exp2 = [&](float& x) { apply<Arithmetic::exp2>(x, a); };
  const auto fma = [&](float& x) { apply<Arithmetic::fma>(x, a); };
  const auto arithmetic = [&] {
    each(fma);
    each(exp2);
    each(fma);
    each(fma);
  };
  const auto done = [&] {
    wgmma_wait<0>();
    pin(s);
    pin(o);
    pin(p);
  };
  if constexpr (kWork == Work::scores || kWork == Work::both || kWork == Work::attention) {
    scores();
    wgmma_wait<0>();
    pin(s);
  }
  if constexpr (kWork == Work::queued) {
    scores();
#pragma unroll
    for (int k = 1; k < 4; ++k) {
      scores();
      wgmma_wait<1>();
    }
    wgmma_wait<0>();
    pin(s);
  }
  if constexpr (kWork == Work::attention) arithmetic();
  if constexpr (kWork == Work::output || kWork == Work::both || kWork == Work::attention) {
    converted();
    output();
    done();
  }
  if constexpr (kWork == Work::late_attention) {
    scores();
    wgmma_wait<0>();
    pin(s);
    converted();
    output();
    arithmetic();
    done();
  }
  if constexpr (kWork == Work::exp2) each(exp2);
  if constexpr (kWork == Work::add) each([&](float& x) { apply<Arithmetic::add>(x, a); });
  if constexpr (kWork == Work::mul) each([&](float& x) { apply<Arithmetic::mul>(x, a); });
  if constexpr (kWork == Work::fma) each(fma);
  if constexpr (kWork == Work::max) each([&](float& x) { apply<Arithmetic::max>(x, a); });
  if constexpr (kWork == Work::trunc)
#pragma unroll
    for (int i = 0; i < 64; i += 2) convert_pair(s[i], s[i + 1]);
  if constexpr (kWork == Work::sum_of_rows || kWork == Work::max_of_rows) {
    float part[2][4] = {{a, a, a, a}, {a, a, a, a}};
    reduce_rows<kWork == Work::max_of_rows ? Arithmetic::max : Arithmetic::add>(s, part);
    s[0] = part[0][0], s[1] = part[1][0];  // used in the next step
  }
  if constexpr (kWork == Work::shared_store) {
    const std::uint32_t to = store_to + 16 * (threadIdx.x % kThreads);
#pragma unroll
    for (int k = 0; k < 8; ++k)
      store_shared_4(to + static_cast<std::uint32_t>(k * 16 * kThreads), s[4 * k], s[4 * k + 1],
                     s[4 * k + 2], s[4 * k + 3]);
  }
}

/// Two warpgroups, each with its work: the clocks of a step of the first (kTimed 0) or the second,
/// while the other goes on with its own until the first has ended.
template <Work kFirst, Work kSecond, int kTimed>
__global__ void __launch_bounds__(2 * kThreads) together(long long* out, float a) {
  extern __shared__ char raw[];
  __shared__ volatile int ended;
  const std::uint32_t at = aligned_shared_1024(raw);
  const std::uint64_t at_a = tile_descriptor(at, 0, 1024),
                      at_b = tile_descriptor(at + 64 * 128, 0, 1024);
  float s[64], o[64];
  fill(s, out);
  fill(o, out);
  fence_async_shared();
  const int warpgroup = static_cast<int>(threadIdx.x) / kThreads;
  for (int r = 0; r < kWarmUp + kRepetitions; ++r) {
    if (threadIdx.x == 0) ended = 0;
    __syncthreads();
    const long long begin = now();
    const auto run = [&](auto one) {
      if (warpgroup == kTimed) {
#pragma unroll 1
        for (int k = 0; k < kSteps; ++k) one();
      } else {
#pragma unroll 1
        while (ended == 0) one();
      }
      wgmma_wait<0>();
      pin(s);
    };
    if (warpgroup == 0)
      run([&] { work<kFirst>(s, o, at_a, at_b, at + 128 * 1024, a); });
    else
      run([&] { work<kSecond>(s, o, at_a, at_b, at + 128 * 1024, a); });
    named_sync(1 + warpgroup, kThreads);
    const long long end = now();
    if (threadIdx.x == kTimed * kThreads) {
      ended = 1;
      if (r >= kWarmUp) out[r - kWarmUp] = end - begin;
    }
    __syncthreads();  // the other has seen it
  }
  use(s, out);
  use(o, out);
}

/// 64 x 256 x 64 a step, of each warpgroup of the block.
__global__ void __launch_bounds__(2 * kThreads) wide_products(long long* out, float a) {
  extern __shared__ char raw[];
  const std::uint32_t at = aligned_shared_1024(raw);
  const std::uint64_t at_a = tile_descriptor(at, 0, 1024),
                      at_b = tile_descriptor(at + 64 * 128, 0, 1024);
  float d[128];
#pragma unroll
  for (float& x : d) x = a;
  fence_async_shared();
  timed<kSteps>(out, [&] {
    wgmma_fence();
    pin(d);
#pragma unroll
    for (int k = 0; k < 4; ++k)
      Wgmma<Element::f16, 256>::ss<0, 0>(d, at_a + static_cast<std::uint64_t>(2 * k),
                                         at_b + static_cast<std::uint64_t>(2 * k), 1);
    wgmma_commit();
    wgmma_wait<0>();
    pin(d);
  });
  use(d, out);
}

}  // namespace

void together_costs(Device& device) {
  const auto said = [&](const std::string& what, auto kernel) {
    remark(what, device.run(kernel, 2 * kThreads, kSteps, 0, 1.0001f));
  };
  remark("a warpgroup alone: 64 x 256 x 64 from shared memory",
         device.run(wide_products, kThreads, kSteps, 0, 1.0001f));
  remark("two warpgroups: 64 x 256 x 64 from shared memory",
         device.run(wide_products, 2 * kThreads, kSteps, 0, 1.0001f));
  using enum Work;
  said("a warpgroup alone: product from shared memory", together<scores, nothing, 0>);
  said("two warpgroups: product from shared memory", together<scores, scores, 0>);
  said("a warpgroup alone: product from shared memory, one in flight",
       together<queued, nothing, 0>);
  said("two warpgroups: product from shared memory, one in flight", together<queued, queued, 0>);
  said("a warpgroup alone: product from registers", together<output, nothing, 0>);
  said("two warpgroups: product from registers", together<output, output, 0>);
  said("a warpgroup alone: both products", together<both, nothing, 0>);
  said("two warpgroups: both products", together<both, both, 0>);
  said("product from shared memory, the other warpgroup's from registers",
       together<scores, output, 0>);
  const auto arithmetic = [&](const std::string& name, auto alone, auto twice, auto under,
                              auto under_registers, auto product) {
    said(name + ", alone", alone);
    said(name + ", both warpgroups", twice);
    said(name + ", the other's products from shared memory", under);
    said(name + ", the other's products from registers", under_registers);
    said("four products from shared memory, the other's " + name, product);
  };
#define TWILL_BOTH(NAME, WORK)                                                         \
  arithmetic(NAME " of 64 x 128", together<WORK, nothing, 0>, together<WORK, WORK, 0>, \
             together<queued, WORK, 1>, together<output, WORK, 1>, together<queued, WORK, 0>)
  TWILL_BOTH("exp2", exp2);
  TWILL_BOTH("add", add);
  TWILL_BOTH("mul", mul);
  TWILL_BOTH("fma", fma);
  TWILL_BOTH("max", max);
  TWILL_BOTH("trunc", trunc);
  TWILL_BOTH("sum of rows", sum_of_rows);
  TWILL_BOTH("maximum of rows", max_of_rows);
  TWILL_BOTH("store of 16 bits", shared_store);
#undef TWILL_BOTH
  said("a warpgroup alone: round of attention", together<attention, nothing, 0>);
  said("two warpgroups: round of attention", together<attention, attention, 0>);
  said("a warpgroup alone: round of attention, arithmetic under the product",
       together<late_attention, nothing, 0>);
  said("two warpgroups: round of attention, arithmetic under the product",
       together<late_attention, late_attention, 0>);
}

}  // namespace twill::gpu::bench
