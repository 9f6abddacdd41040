// What orders accesses of the emulated tensor memory (gpu/emulator/tensor_memory.hpp): kernels that
// are right, whose numbers are right, too, and each with every step left out that they need, which
// must be refused. Work happens late and at once. No GPU is needed.
#include <cstdio>
#include <functional>
#include <string>

#include "gpu/blackwell/tcgen05.cuh"
#include "gpu/tests/emulator_checks.hpp"
#include "gpu/tests/tensor_memory_checks.hpp"

using namespace twill::gpu;
using namespace twill::gpu::tests;
using emulator::check_accepted;
using emulator::check_refused;

namespace {

// --- Kernels -------------------------------------------------------------------------------------

/// Warps 0 to 3 write the operands, thread 0 multiplies, all read the result.
void product_to_loads(bool b_rows, bool fenced = true) {
  const TensorAddress tmem = begin(128);
  write_operands(b_rows, fenced);
  __syncthreads();
  if (threadIdx.x == 0) {
    fence_after(5);
    tensor_multiply(tmem, a_tile(), b_tile(b_rows), how(b_rows), 0);
    tensor_multiply(tmem, a_tile(), b_tile(b_rows), how(b_rows), 1);
    if (has(1)) tensor_commit(kBarrier);
  }
  if (has(1) && has(2)) barrier_wait(kBarrier, 0);
  fence_after(3);
  float d[kColumns];
  load_row(d, tmem);
  if (has(4)) tensor_wait_loads();
  if (has(4)) check_row(d, 2);
  end(tmem, 128);
}

/// Warps 0 to 3 store A to tensor memory and tell thread 128, which multiplies.
void stores_to_product() {
  const TensorAddress tmem = begin(256, missing == 7 ? 128 : 4);
  if (threadIdx.x < 128) write_operands(false, true);
  __syncthreads();
  if (threadIdx.x < 128) {
    const int i = static_cast<int>(threadIdx.x);
    std::uint32_t a[8];
    for (int k = 0; k < 8; ++k)
      a[k] = bits_of_half(a_of(i, 2 * k)) |
             static_cast<std::uint32_t>(bits_of_half(a_of(i, 2 * k + 1))) << 16;
    TensorColumns<8>::store(lanes(tmem + 128), a);
    if (has(1)) tensor_wait_stores();
    if (missing != 6 || threadIdx.x % 32 == 0) fence_before(2);  // 6: one lane alone
    if (missing == 7)
      barrier_arrive(kBarrier);
    else {
      if (has(5)) __syncwarp();
      if (threadIdx.x % 32 == 0) barrier_arrive(kBarrier);
    }
    if (!has(1)) tensor_wait_stores();
  } else if (threadIdx.x == 128) {
    if (has(3)) barrier_wait(kBarrier, 0);
    fence_after(4);
    tensor_multiply_lanes(tmem, tmem + 128, b_tile(), how(), 0);
    tensor_commit(kSecond);
  }
  barrier_wait(kSecond, 0);
  tensor_fence_after();
  float d[kColumns];
  if (threadIdx.x < 128) {
    load_row(d, tmem);
    tensor_wait_loads();
    check_row(d, 1);
  }
  end(tmem, 256);
}

/// Warps 0 to 3 read a result, and tell thread 128, which writes over it.
void loads_to_product() {
  const TensorAddress tmem = begin(128, 4);
  if (threadIdx.x < 128) write_operands(false, true);
  __syncthreads();
  if (threadIdx.x == 128) {
    tensor_fence_after();
    tensor_multiply(tmem, a_tile(), b_tile(), how(), 0);
    tensor_commit(kSecond);
    if (has(3)) barrier_wait(kBarrier, 0);
    fence_after(4);
    tensor_multiply(tmem, a_tile(), b_tile(), how(), 1);
    tensor_commit(kThird);
    barrier_wait(kThird, 0);
  } else if (threadIdx.x < 128) {
    barrier_wait(kSecond, 0);
    tensor_fence_after();
    float d[kColumns];
    load_row(d, tmem);
    if (has(1)) tensor_wait_loads();
    fence_before(2);
    __syncwarp();
    if (threadIdx.x % 32 == 0) barrier_arrive(kBarrier);
    if (!has(1)) tensor_wait_loads();
    check_row(d, 1);
    barrier_wait(kThird, 0);
  }
  end(tmem, 128);
}

/// Warp 0 stores, warp 4 reads the same lanes.
void stores_to_loads() {
  const TensorAddress tmem = begin(32, 1);
  float x[1];
  if (warp_is(0)) {
    x[0] = static_cast<float>(threadIdx.x);
    TensorColumns<1>::store(tmem, x);
    if (has(1)) tensor_wait_stores();
    fence_before(2);
    __syncwarp();
    if (threadIdx.x == 0) barrier_arrive(kBarrier);
    if (!has(1)) tensor_wait_stores();
  } else if (warp_is(4)) {
    if (has(3)) barrier_wait(kBarrier, 0);
    fence_after(4);
    TensorColumns<1>::load(x, tmem);
    tensor_wait_loads();
    if (x[0] != static_cast<float>(threadIdx.x % 32)) throw emulator::Error("loads another number");
  }
  end(tmem, 32);
}

/// Two threads multiply onto one tile; the second waits for the first's commit.
void products_of_two() {
  const TensorAddress tmem = begin(128);
  if (threadIdx.x < 128) write_operands(false, true);
  __syncthreads();
  if (threadIdx.x == 0) {
    tensor_fence_after();
    tensor_multiply(tmem, a_tile(), b_tile(), how(), 0);
    if (has(1)) tensor_commit(kBarrier);
  }
  if (threadIdx.x == 32) {
    if (!has(1)) tensor_commit(kBarrier);  // of another thread: it waits for nothing of thread 0
    if (has(2)) barrier_wait(kBarrier, 0);
    fence_after(3);
    tensor_multiply(tmem, a_tile(), b_tile(), how(), 1);
    tensor_commit(kSecond);
  }
  barrier_wait(kSecond, 0);
  tensor_fence_after();
  float d[kColumns];
  load_row(d, tmem);
  tensor_wait_loads();
  check_row(d, 2);
  end(tmem, 128);
}

/// `kernel` is accepted, and refused without each of these steps.
struct Broken {
  int step;
  const char* text;
};
template <std::size_t kCount>
void check_steps(const char* name, int warps, const std::function<void()>& kernel,
                 const Broken (&broken)[kCount]) {
  for (const When when : kWhens) {
    missing = 0;
    check_accepted(name, launch_of(warps, when), kernel);
    for (const Broken& one : broken) {
      missing = one.step;
      one.text == nullptr ? check_accepted(name, launch_of(warps, when), kernel)
                          : check_refused(one.text, launch_of(warps, when), kernel);
    }
    missing = 0;
  }
}

void orders() {
  const char* const nothing = "nothing orders them";
  for (const bool b_rows : {false, true})
    check_steps("a product and loads of it", 4, [=] { product_to_loads(b_rows); },
                {{1, nothing},
                 {2, nothing},
                 {3, nothing},
                 {4, "tcgen05.ld in flight"},
                 {5, "after a wait without"}});
  for (const When when : kWhens)
    check_refused("without fence.proxy.async", launch_of(4, when),
                  [] { product_to_loads(false, false); });
  check_steps("stores and a product of them", 5, stores_to_product,
              {{1, nothing},
               {2, nothing},
               {3, nothing},
               {4, nothing},
               {5, nothing},
               {6, nothing},
               {7, nullptr}});
  check_steps("loads and a product over them", 5, loads_to_product,
              {{1, nothing}, {2, nothing}, {3, nothing}, {4, nothing}});
  check_steps("stores and loads of another warp", 5, stores_to_loads,
              {{1, nothing}, {2, nothing}, {3, nothing}, {4, nothing}});
  check_steps("products of two threads", 4, products_of_two,
              {{1, nothing}, {2, nothing}, {3, nothing}});
}

}  // namespace

int main() {
  orders();
  std::printf("%d of %d checks failed\n", emulator::checks_failed, emulator::checks_ran);
  return emulator::checks_failed == 0 ? 0 : 1;
}
