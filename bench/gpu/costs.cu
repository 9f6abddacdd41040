// What the rules of a machine cost on the device: microbenchmarks by clock64, as a file of
// measurements on standard output (bench/gpu/measurements.hpp) for
//   gpu_bench_costs > h200.json
//   twill machines --fit h200.json --base hopper -o h200-machine.json
//   gpu_bench_costs --only arithmetic|gemm|together|copies|barriers    a part, as a file of its own
// What no rule of a machine has (products from registers and of other widths, two warpgroups at
// once, tensor copies by box, bulk additions, arrivals at another block, named barriers) goes to
// standard error, a JSON line each (bench/gpu/results.py makes a table). Ends with 77 where there
// is no Hopper GPU.
//
// One block on one SM, so nothing else is in the way. A repetition is the mean of kSteps steps
// where throughput is meant, and one step where latency is; the cycles that reading the clock takes
// are measured apart and taken off the latter. Arithmetic runs on one warpgroup, one warp on each
// of the four partitions, with so many values in registers that no step waits for the one before.
//
// Each number stands for what its rule says of it, no more:
//   exp2, add, sub, mul, fma, max, trunc, reduce_*: a tile in registers, values spread over the
//     warpgroup; reductions with their two shuffles over the quad that shares a row;
//   gemm: wgmma with both operands in shared memory, accumulator in registers;
//   tma_load: a bulk copy (cp.async.bulk) from memory that lies in L2, without a tensor map;
//     latency is issue to a passed wait, cycles is what one more copy in flight adds;
//   SMEM: 16-byte loads without bank conflicts; L2: what the copies above bring;
//   hand-over: registers to shared memory, an mbarrier, and back to the registers of another
//     warpgroup; the signal is half of a round trip between two warpgroups.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "bench/gpu/costs.cuh"
#include "bench/gpu/measurements.hpp"
#include "gpu/api/error.hpp"
#include "gpu/hopper/ptx.cuh"
#include "gpu/hopper/tensor_map.hpp"
#include "gpu/hopper/wgmma.cuh"

namespace {

using namespace twill::gpu;
using namespace twill::gpu::bench;

// --- arithmetic on tiles in registers ------------------------------------------------------------

template <Arithmetic kOp, int kCount>
__global__ void __launch_bounds__(kThreads) arithmetic(long long* out, float a) {
  float x[kCount];
  fill(x, out);
  timed<kSteps>(out, [&] {
#pragma unroll
    for (int i = 0; i < kCount; ++i) apply<kOp>(x[i], a);
  });
  use(x, out);
}

template <int kCount>
__global__ void __launch_bounds__(kThreads) conversion(long long* out) {
  float x[kCount];
  fill(x, out);
  timed<kSteps>(out, [&] {
#pragma unroll
    for (int i = 0; i < kCount; i += 2) convert_pair(x[i], x[i + 1]);
  });
  use(x, out);
}

template <bool kMax, int kCount>
__global__ void __launch_bounds__(kThreads) reduction(long long* out, float a) {
  // What was reduced goes on in the next step, so that no step can be left out.
  float x[kCount], part[2][4] = {{a, a, a, a}, {a, a, a, a}};
  fill(x, out);
  timed<kSteps>(out, [&] { reduce_rows<kMax ? Arithmetic::max : Arithmetic::add>(x, part); });
  const float row[2] = {part[0][0], part[1][0]};
  use(row, out);
}

// --- wgmma ---------------------------------------------------------------------------------------

/// [64, kN, kDepth]: kDepth / 16 instructions a step. A step ends when its products have, so that
/// what a kernel waits for the last of them is in its cycles. What they read does not matter to the
/// time.
template <Element kElement, int kN, int kDepth>
__global__ void __launch_bounds__(kThreads) product(long long* out) {
  extern __shared__ char raw[];
  const std::uint32_t a = aligned_shared_1024(raw), b = a + 64 * 128;
  const std::uint64_t at_a = tile_descriptor(a, 0, 1024), at_b = tile_descriptor(b, 0, 1024);
  float d[kN / 2];
#pragma unroll
  for (float& x : d) x = 0;
  fence_async_shared();
  timed<kSteps>(out, [&] {
    wgmma_fence();
    pin(d);
#pragma unroll
    for (int k = 0; k < kDepth; k += 16)
      Wgmma<kElement, kN>::template ss<0, 0>(d, at_a + static_cast<std::uint64_t>(k % 64 * 2 / 16),
                                             at_b + static_cast<std::uint64_t>(k % 64 * 2 / 16), 1);
    wgmma_commit();
    wgmma_wait<0>();
    pin(d);
  });
  use(d, out);
}

/// The same with A in registers, of two or more accumulators' width a warpgroup.
template <Element kElement, int kN, int kDepth>
__global__ void __launch_bounds__(kThreads) product_from_registers(long long* out) {
  extern __shared__ char raw[];
  const std::uint64_t at_b = tile_descriptor(aligned_shared_1024(raw), 0, 1024);
  float d[kN / 2];
#pragma unroll
  for (float& x : d) x = 0;
  std::uint32_t a[4] = {threadIdx.x, 0, 0, 0};
  fence_async_shared();
  timed<kSteps>(out, [&] {
    pin(a);
    wgmma_fence();
    pin(d);
#pragma unroll
    for (int k = 0; k < kDepth; k += 16)
      Wgmma<kElement, kN>::template rs<0>(d, a, at_b + static_cast<std::uint64_t>(k % 64 * 2 / 16),
                                          1);
    wgmma_commit();
    wgmma_wait<0>();
    pin(d);
    pin(a);
  });
  use(d, out);
}

// --- copies --------------------------------------------------------------------------------------

/// `count` copies of `bytes` each at once, from the issue of the first until the last has arrived.
__global__ void copies(long long* out, const char* from, std::uint32_t bytes, int count) {
  extern __shared__ char raw[];
  __shared__ alignas(8) std::uint64_t barriers[1];
  const BarrierAddress barrier = shared_address(barriers);
  const std::uint32_t to = aligned_shared_1024(raw);
  if (threadIdx.x != 0) return;
  barrier_init(barrier, 1);
  barrier_init_fence();
  for (int r = 0; r < kWarmUp + kRepetitions; ++r) {
    const long long begin = now();
    barrier_expect(barrier, bytes * static_cast<std::uint32_t>(count));
    for (int k = 0; k < count; ++k)
      bulk_load(to + static_cast<std::uint32_t>(k) * bytes,
                from + static_cast<std::size_t>(k) * bytes, bytes, barrier);
    barrier_wait(barrier, static_cast<std::uint32_t>(r % 2));
    const long long end = now();
    if (r >= kWarmUp) out[r - kWarmUp] = end - begin;
  }
}

/// `count` boxes of a tensor at once, [panels][rows][64 elements] each.
__global__ void boxes(long long* out, const __grid_constant__ CUtensorMap map, std::uint32_t bytes,
                      int rows, int count) {
  extern __shared__ char raw[];
  __shared__ alignas(8) std::uint64_t barriers[1];
  const BarrierAddress barrier = shared_address(barriers);
  const std::uint32_t to = aligned_shared_1024(raw);
  if (threadIdx.x != 0) return;
  barrier_init(barrier, 1);
  barrier_init_fence();
  for (int r = 0; r < kWarmUp + kRepetitions; ++r) {
    const long long begin = now();
    barrier_expect(barrier, bytes * static_cast<std::uint32_t>(count));
    for (int k = 0; k < count; ++k)
      tma_load(to + static_cast<std::uint32_t>(k) * bytes, &map, k * rows, 0, 0, 0, barrier);
    barrier_wait(barrier, static_cast<std::uint32_t>(r % 2));
    const long long end = now();
    if (r >= kWarmUp) out[r - kWarmUp] = end - begin;
  }
}

/// `count` additions of `bytes` of fp32 each to global memory: until they may be overwritten, or
/// (kDone) until they have taken effect.
template <bool kDone>
__global__ void additions(long long* out, float* to, std::uint32_t bytes, int count) {
  extern __shared__ char raw[];
  const std::uint32_t from = aligned_shared_1024(raw);
  if (threadIdx.x != 0) return;
  for (std::uint32_t i = 0; i < bytes; i += 16) store_shared_4(from + i, 0, 0, 0, 0);
  fence_async_shared();
  for (int r = 0; r < kWarmUp + kRepetitions; ++r) {
    const long long begin = now();
    for (int k = 0; k < count; ++k)
      bulk_add(to + static_cast<std::size_t>(k) * bytes / 4, from, bytes);
    kDone ? bulk_wait_done() : bulk_wait_read();
    const long long end = now();
    bulk_wait_done();
    if (r >= kWarmUp) out[r - kWarmUp] = end - begin;
  }
}

__global__ void __launch_bounds__(4 * kThreads) shared_loads(long long* out) {
  extern __shared__ char raw[];
  const std::uint32_t at = aligned_shared_1024(raw) + 16 * threadIdx.x;
  timed<kSteps>(out, [&] {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      [[maybe_unused]] std::uint32_t x[4];
      asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                   : "r"(at)
                   : "memory");
    }
  });
}

// --- hand-overs ----------------------------------------------------------------------------------

/// The second warpgroup writes kRegisters of each thread, the first reads them.
template <int kRegisters>
__global__ void __launch_bounds__(2 * kThreads) handover(long long* out, float a) {
  extern __shared__ char raw[];
  __shared__ alignas(8) std::uint64_t barriers[1];
  __shared__ long long begun;
  const BarrierAddress barrier = shared_address(barriers);
  const std::uint32_t at = aligned_shared_1024(raw) + 16 * (threadIdx.x % kThreads);
  if (threadIdx.x == 0) {
    barrier_init(barrier, kThreads);
    barrier_init_fence();
  }
  for (int r = 0; r < kWarmUp + kRepetitions; ++r) {
    __syncthreads();
    if (threadIdx.x >= kThreads) {
      if (threadIdx.x == kThreads) begun = now();
#pragma unroll
      for (int i = 0; i < kRegisters; i += 4)
        store_shared_4(at + static_cast<std::uint32_t>(i / 4 * 16 * kThreads), a, a, a, a);
      barrier_arrive(barrier);
    } else {
      float x[kRegisters];
      barrier_wait(barrier, static_cast<std::uint32_t>(r % 2));
#pragma unroll
      for (int i = 0; i < kRegisters; i += 4)
        asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(x[i]), "=f"(x[i + 1]), "=f"(x[i + 2]), "=f"(x[i + 3])
                     : "r"(at + static_cast<std::uint32_t>(i / 4 * 16 * kThreads))
                     : "memory");
      float sum = 0;
#pragma unroll
      for (const float one : x) sum += one;
      // The barrier's count hangs on the values, so they have arrived before the clock is read.
      named_sync(1, sum == 0.12345f ? kThreads / 2 : kThreads);
      const long long end = now();
      if (threadIdx.x == 0 && r >= kWarmUp) out[r - kWarmUp] = end - begun;
    }
  }
}

/// To another warpgroup and back, by mbarriers or by named barriers.
template <bool kNamed>
__global__ void __launch_bounds__(2 * kThreads) round_trip(long long* out) {
  __shared__ alignas(8) std::uint64_t barriers[2];
  const BarrierAddress there = shared_address(barriers), back = shared_address(barriers + 1);
  if (threadIdx.x == 0) {
    barrier_init(there, kThreads);
    barrier_init(back, kThreads);
    barrier_init_fence();
  }
  for (int r = 0; r < kWarmUp + kRepetitions; ++r) {
    __syncthreads();
    const auto parity = static_cast<std::uint32_t>(r % 2);
    if (threadIdx.x < kThreads) {
      const long long begin = now();
      if constexpr (kNamed) {
        named_arrive(1, 2 * kThreads);
        named_sync(2, 2 * kThreads);
      } else {
        barrier_arrive(there);
        barrier_wait(back, parity);
      }
      const long long end = now();
      if (threadIdx.x == 0 && r >= kWarmUp) out[r - kWarmUp] = end - begin;
    } else if constexpr (kNamed) {
      named_sync(1, 2 * kThreads);
      named_arrive(2, 2 * kThreads);
    } else {
      barrier_wait(there, parity);
      barrier_arrive(back);
    }
  }
}

/// To the other block of a cluster and back, by arrivals at its mbarrier.
__global__ void __cluster_dims__(2, 1, 1) remote_round_trip(long long* out) {
  __shared__ alignas(8) std::uint64_t barriers[1];
  const BarrierAddress barrier = shared_address(barriers);
  const std::uint32_t rank = blockIdx.x & 1;
  if (threadIdx.x == 0) {
    barrier_init(barrier, 1);
    barrier_init_fence();
  }
  __syncthreads();
  cluster_sync();
  if (threadIdx.x == 0)
    for (int r = 0; r < kWarmUp + kRepetitions; ++r) {
      const auto parity = static_cast<std::uint32_t>(r % 2);
      const long long begin = now();
      if (rank == 0) barrier_arrive_remote(barrier, 1);
      barrier_wait(barrier, parity);
      if (rank == 1) barrier_arrive_remote(barrier, 0);
      const long long end = now();
      if (rank == 0 && r >= kWarmUp) out[r - kWarmUp] = end - begin;
    }
  cluster_sync();
}

__global__ void empty(long long* out) {
  for (int r = 0; r < kWarmUp + kRepetitions; ++r) {
    const long long begin = now();
    const long long end = now();
    if (r >= kWarmUp) out[r - kWarmUp] = end - begin;
  }
}

// --- the host ------------------------------------------------------------------------------------

template <Arithmetic kOp>
void add_arithmetic(Device& device, bench::MeasurementFile& file, const char* rule) {
  file.rule(rule, "cycles", "64, 128", "f32",
            device.run(arithmetic<kOp, kValues>, kThreads, kSteps, 0, 1.0001f));
  file.rule(rule, "cycles", "64, 64", "f32",
            device.run(arithmetic<kOp, kValues / 2>, kThreads, kSteps, 0, 1.0001f));
}

template <Element kElement>
void add_products(Device& device, bench::MeasurementFile& file, const char* type) {
  const auto add = [&](auto kernel, const char* shape) {
    file.rule("gemm", "cycles", shape, "f32", device.run(kernel, kThreads, kSteps, 0), type);
  };
  add(product<kElement, 64, 256>, "64, 64, 256");
  add(product<kElement, 128, 256>, "64, 128, 256");
  add(product<kElement, 128, 512>, "64, 128, 512");
  const auto more = [&](auto kernel, const char* shape) {
    remark(std::string("wgmma ") + type + " " + shape, device.run(kernel, kThreads, kSteps, 0));
  };
  more(product<kElement, 80, 256>, "64 x 80 x 256, shared memory");
  more(product<kElement, 256, 256>, "64 x 256 x 256, shared memory");
  more(product_from_registers<kElement, 64, 256>, "64 x 64 x 256, A in registers");
  more(product_from_registers<kElement, 128, 256>, "64 x 128 x 256, A in registers");
  more(product_from_registers<kElement, 256, 256>, "64 x 256 x 256, A in registers");
}

void arithmetic_costs(Device& device, bench::MeasurementFile& file) {
  add_arithmetic<Arithmetic::exp2>(device, file, "exp2");
  add_arithmetic<Arithmetic::add>(device, file, "add");
  add_arithmetic<Arithmetic::sub>(device, file, "sub");
  add_arithmetic<Arithmetic::mul>(device, file, "mul");
  add_arithmetic<Arithmetic::fma>(device, file, "fma");
  add_arithmetic<Arithmetic::max>(device, file, "max");
  file.rule("trunc", "cycles", "64, 128", "f16",
            device.run(conversion<kValues>, kThreads, kSteps, 0));
  file.rule("reduce_max", "cycles", "64, 128", "f32",
            device.run(reduction<true, kValues>, kThreads, kSteps, 0, 1.0001f));
  file.rule("reduce_add", "cycles", "64, 128", "f32",
            device.run(reduction<false, kValues>, kThreads, kSteps, 0, 1.0001f));
}

/// What seven more add, each repetition against the usual time of one.
std::vector<double> more_of(const std::vector<double>& eight, const std::vector<double>& one) {
  std::vector<double> added;
  for (const double cycles : eight) added.push_back((cycles - median(one)) / 7);
  return added;
}

void copy_costs(Device& device, bench::MeasurementFile& file, double overhead) {
  const bench::Bytes source(1 << 20);
  const auto* from = static_cast<const char*>(source.data());
  for (const int rows : {16, 32, 64, 128, 192}) {  // of 64 elements of 16 bits
    const auto bytes = static_cast<std::uint32_t>(rows * 128);
    const std::string shape = std::to_string(rows) + ", 64";
    const std::vector<double> one = device.run(copies, 1, 1, overhead, from, bytes, 1);
    const std::vector<double> added =
        more_of(device.run(copies, 1, 1, overhead, from, bytes, 8), one);
    file.rule("tma_load", "latency", shape, "f16", one);
    if (rows < 64) continue;  // the issue of one, not the port, would be measured
    file.rule("tma_load", "cycles", shape, "f16", added);
    file.channel("L2", bytes, added);
  }
  file.channel("SMEM", 8LL * 16 * 4 * kThreads, device.run(shared_loads, 4 * kThreads, kSteps, 0));

  for (const int panels : {1, 2, 4})
    for (const int rows : {64, 128}) {
      const auto bytes = static_cast<std::uint32_t>(rows * panels * 128);
      if (8 * bytes + 1024 > kSharedBytes) continue;
      // 1,024 rows of 64 * panels elements, in L2 after the warm-up.
      const twill_gpu_tensor tensor{source.data(), 1024LL * 64 * panels, 64LL * panels,
                                    64LL * panels};
      const CUtensorMap map =
          tensor_map(tensor, {1, 1024, 1, 64 * panels}, TWILL_GPU_F16, rows, panels);
      const std::string box = "tensor copy of " + std::to_string(panels) + " x " +
                              std::to_string(rows) + " x 64 16-bit";
      const std::vector<double> one = device.run(boxes, 1, 1, overhead, map, bytes, rows, 1);
      remark(box + ", latency", one);
      remark(box + ", one more",
             more_of(device.run(boxes, 1, 1, overhead, map, bytes, rows, 8), one));
    }
  auto* const to = static_cast<float*>(source.data());
  for (const std::uint32_t bytes : {4096U, 16384U}) {
    const std::string size = "bulk addition of " + std::to_string(bytes) + " bytes";
    const std::vector<double> done = device.run(additions<true>, 1, 1, overhead, to, bytes, 1);
    remark(size + ", until it has taken effect", done);
    remark(size + ", until its source is free",
           device.run(additions<false>, 1, 1, overhead, to, bytes, 1));
    remark(size + ", one more",
           more_of(device.run(additions<true>, 1, 1, overhead, to, bytes, 8), done));
  }
}

void barrier_costs(Device& device, bench::MeasurementFile& file, double overhead) {
  file.handover(16LL * 4 * kThreads, device.run(handover<16>, 2 * kThreads, 1, overhead, 1.0f));
  file.handover(32LL * 4 * kThreads, device.run(handover<32>, 2 * kThreads, 1, overhead, 1.0f));
  file.handover(64LL * 4 * kThreads, device.run(handover<64>, 2 * kThreads, 1, overhead, 1.0f));
  file.signal(device.run(round_trip<false>, 2 * kThreads, 2, overhead));
  remark("named barrier, half of a round trip",
         device.run(round_trip<true>, 2 * kThreads, 2, overhead));
  remark("arrival at the other block of a cluster, half of a round trip",
         device.blocks(2).run(remote_round_trip, 32, 2, overhead));
  device.blocks(1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view only = argc == 3 ? argv[2] : "";
  const auto wanted = [&](std::string_view part) { return argc == 1 || only == part; };
  if (argc != 1 && (argc != 3 || std::string_view(argv[1]) != "--only" ||
                    (only != "arithmetic" && only != "gemm" && only != "together" &&
                     only != "copies" && only != "barriers"))) {
    std::fputs("usage: gpu_bench_costs [--only arithmetic|gemm|together|copies|barriers]\n",
               stderr);
    return 2;
  }
  int devices = 0, clock_khz = 0;
  cudaDeviceProp properties{};
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0 ||
      cudaGetDeviceProperties(&properties, 0) != cudaSuccess || properties.major != 9) {
    std::fputs("no GPU of compute capability 9.0: skipped\n", stderr);
    return 77;
  }
  bench::cuda(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0), "clock");
  bench::MeasurementFile file(properties.name, clock_khz / 1000,
                              "CUDA " + std::to_string(CUDART_VERSION / 1000) + "." +
                                  std::to_string(CUDART_VERSION % 1000 / 10),
                              bench::MeasurementFile::today());
  Device device;
  const double overhead = median(device.run(empty, 1, 1, 0));
  try {
    if (wanted("arithmetic")) arithmetic_costs(device, file);
    if (wanted("gemm")) {
      add_products<Element::f16>(device, file, "f16");
      add_products<Element::bf16>(device, file, "bf16");
    }
    if (wanted("together")) together_costs(device);
    if (wanted("copies")) copy_costs(device, file, overhead);
    if (wanted("barriers")) barrier_costs(device, file, overhead);
  } catch (const Refusal& refusal) {
    std::fprintf(stderr, "%s\n", refusal.text.c_str());
    return 1;
  }
  std::fputs(file.text().c_str(), stdout);
  return 0;
}
