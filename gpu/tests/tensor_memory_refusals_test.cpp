// What the emulated tensor memory (gpu/emulator/tensor_memory.hpp) refuses beside accesses that
// nothing orders (tensor_memory_order_test.cpp): an error planted for each of its rules, and beside
// it the right use, which it accepts. Work happens late and at once. No GPU is needed.
#include <array>
#include <cstdio>
#include <string>

#include "gpu/blackwell/tcgen05.cuh"
#include "gpu/tests/emulator_checks.hpp"
#include "gpu/tests/tensor_memory_checks.hpp"

using namespace twill::gpu;
using namespace twill::gpu::tests;
using emulator::check_accepted;
using emulator::check_refused;

namespace {

// --- One warp ------------------------------------------------------------------------------------

void one_warp(When when) {
  const emulator::Launch warp = launch_of(1, when);
  const auto with = [](std::uint32_t columns, const std::function<void(TensorAddress)>& what) {
    return [=] {
      const TensorAddress tmem = begin(columns);
      what(tmem);
      end(tmem, columns);
    };
  };
  check_accepted("stores, then loads", warp, with(64, [](TensorAddress at) {
                   float x[2] = {1, 2}, y[2];
                   TensorColumns<2>::store(at + 62, x);
                   tensor_wait_stores();
                   TensorColumns<2>::load(y, at + 62);
                   tensor_wait_loads();
                   if (y[1] != 2) throw emulator::Error("wrong");
                 }));
  // PTX ISA, "Matrix fragment for shape .16x256b": row and column of each register.
  check_accepted(
      "16x256b", warp, with(32, [](TensorAddress at) {
        const int lane = static_cast<int>(threadIdx.x % 32);
        float x[16], y[8];
        for (int c = 0; c < 16; ++c) x[c] = static_cast<float>(100 * lane + c);
        TensorColumns<16>::store(at + 3, x);
        tensor_wait_stores();
        HalfLanes<8>::load(y, at + 3);
        tensor_wait_loads();
        const int row = lane / 4, column = lane % 4 * 2;
        const int rows[] = {row, row, row + 8, row + 8}, columns[] = {0, 1, 0, 1};
        for (int r = 0; r < 8; ++r)
          if (y[r] != static_cast<float>(100 * rows[r % 4] + r / 4 * 8 + column + columns[r % 4]))
            throw emulator::Error("wrong");
      }));
  check_refused("not allocated", warp, with(32, [](TensorAddress at) {
                  float y[8];
                  HalfLanes<8>::load(y, at + 17);
                  tensor_wait_loads();
                }));
  check_refused("before the warp's wait", warp, with(32, [](TensorAddress at) {
                  float x[1] = {1};
                  TensorColumns<1>::store(at, x);
                  TensorColumns<1>::load(x, at);
                  tensor_wait_stores();
                  tensor_wait_loads();
                }));
  check_refused("before the warp's wait", warp, with(32, [](TensorAddress at) {
                  float x[1], y[1] = {2};
                  TensorColumns<1>::load(x, at);
                  TensorColumns<1>::store(at, y);
                  tensor_wait_loads();
                  tensor_wait_stores();
                }));
  check_refused("before the warp's wait", warp, with(32, [](TensorAddress at) {
                  float y[1] = {2};
                  TensorColumns<1>::store(at, y);
                  TensorColumns<1>::store(at, y);
                  tensor_wait_stores();
                }));
  check_refused("are read while it is in flight", warp, with(32, [](TensorAddress at) {
                  float x[1];
                  TensorColumns<1>::load(x, at);
                  static_cast<void>(used(x[0]));
                  tensor_wait_loads();
                }));
  check_refused("in flight are written", warp, with(32, [](TensorAddress at) {
                  float x[1];
                  TensorColumns<1>::load(x, at);
                  x[0] = 3;
                  tensor_wait_loads();
                }));
  check_refused("ends with tcgen05.st in flight", warp, [] {
    const TensorAddress at = begin(32);
    const float x[1] = {1};
    TensorColumns<1>::store(at, x);
  });
  check_refused("ends with tcgen05.ld in flight", warp, [] {
    const TensorAddress at = begin(32);
    static float x[32];
    TensorColumns<1>::load(x + threadIdx.x, at);
  });
  check_refused("reaches lanes 0 to 31", warp, with(32, [](TensorAddress at) {
                  float x[1];
                  TensorColumns<1>::load(x, at + (32U << 16));
                  tensor_wait_loads();
                }));
  check_refused("not allocated", warp, with(32, [](TensorAddress at) {
                  float x[2];
                  TensorColumns<2>::load(x, at + 31);
                  tensor_wait_loads();
                }));
  check_refused("differs between its lanes", warp, with(32, [](TensorAddress at) {
                  float x[1];
                  TensorColumns<1>::load(x, at + threadIdx.x % 2);
                  tensor_wait_loads();
                }));
  check_refused("differs between its lanes", warp, with(32, [](TensorAddress) {
                  threadIdx.x == 5 ? tensor_wait_loads() : tensor_wait_stores();
                }));
  check_refused("deadlock", warp, with(32, [](TensorAddress) {
                  if (threadIdx.x != 5) tensor_wait_loads();
                }));
}

void allocation(When when) {
  const emulator::Launch warp = launch_of(1, when), two = launch_of(2, when);
  for (const std::uint32_t columns : {0U, 16U, 48U, 1024U})
    check_refused("a power of two", warp, [=] { tensor_allocate(0, columns); });
  check_accepted("two allocations", warp, [] {
    tensor_allocate(0, 256);
    tensor_allocate(4, 256);
    tensor_relinquish();
    const TensorAddress first = load_shared(0), second = load_shared(4);
    if (first == second) throw emulator::Error("the same columns twice");
    tensor_free(first, 256);
    tensor_free(second, 256);
  });
  check_refused("deadlock", warp, [] {
    tensor_allocate(0, 512);
    tensor_allocate(4, 32);
  });
  check_refused("after the permit was given up", warp, [] {
    tensor_relinquish();
    tensor_allocate(0, 32);
  });
  check_refused("without giving back", warp, [] { tensor_allocate(0, 32); });
  check_refused("not allocated so", warp, [] {
    tensor_allocate(0, 64);
    tensor_free(load_shared(0), 32);
  });
  check_refused("by another warp", two, [] {
    const TensorAddress at = begin(32);
    meet();
    if (warp_is(1)) tensor_free(at, 32);
  });
  check_refused("deadlock", warp, [] {
    if (threadIdx.x < 16) tensor_allocate(0, 32);
  });
  check_refused("nothing orders them", two, [] {  // before the other warp's access has been told of
    const TensorAddress at = begin(32);
    if (warp_is(1)) {
      const float x[1] = {1};
      TensorColumns<1>::store(lanes(at), x);
      tensor_wait_stores();
    }
    __syncthreads();
    if (warp_is(0)) tensor_free(at, 32);
  });
}

// --- Products: who issues them, operands, descriptors --------------------------------------------

void product_rules(When when) {
  const emulator::Launch four = launch_of(4, when);
  const auto with = [](const std::function<void(TensorAddress)>& issue) {
    return [=] {
      const TensorAddress tmem = begin(128);
      write_operands(false, true);
      __syncthreads();
      tensor_fence_after();
      issue(tmem);
      if (threadIdx.x == 0) tensor_commit(kBarrier);
      barrier_wait(kBarrier, 0);
      tensor_fence_after();
      end(tmem, 128);
    };
  };
  const auto one = [&](std::uint64_t a, std::uint64_t b, std::uint32_t word) {
    return with([=](TensorAddress at) {
      if (threadIdx.x == 0) tensor_multiply(at, a, b, word, 0);
    });
  };
  check_accepted("a product", four, one(a_tile(), b_tile(), how()));
  check_refused("by two threads of a warp", four, with([](TensorAddress at) {
                  if (threadIdx.x < 2) tensor_multiply(at, a_tile(), b_tile(), how(), 0);
                }));
  check_refused("address has a lane", four, with([](TensorAddress at) {
                  if (threadIdx.x == 0)
                    tensor_multiply(at + (32U << 16), a_tile(), b_tile(), how(), 0);
                }));
  check_refused("not allocated", four, with([](TensorAddress at) {
                  if (threadIdx.x == 0) tensor_multiply(at + 16, a_tile(), b_tile(), how(), 0);
                }));
  // Shared memory descriptors, a field at a time.
  const auto bit = [](int n) { return std::uint64_t{1} << n; };
  const std::uint64_t right = a_tile();
  const struct {
    std::uint64_t word;
    const char* text;
  } tiles[] = {
      {right ^ bit(46), "0b001"},
      {right | bit(47), "0b001"},
      {right | bit(14), "reserved bits"},
      {right | bit(31), "reserved bits"},
      {right | bit(53), "reserved bits"},
      {right | bit(60), "reserved bits"},
      {right | bit(52), "absolute strides"},
      {right | bit(49), "base offset"},
      {right ^ bit(62), "not 128-byte swizzled"},
      {right | bit(61), "not 128-byte swizzled"},
      {(right & ~(std::uint64_t{7} << 61)) | bit(63), "not 128-byte swizzled"},
      {right + 7, "leaves its row"},
  };
  for (const auto& tile : tiles) {
    check_refused(tile.text, four, one(tile.word, b_tile(), how()));
    check_refused(tile.text, four, one(a_tile(), tile.word, how()));
  }
  // Instruction descriptors.
  const std::uint32_t word = how();
  const struct {
    std::uint32_t word;
    const char* text;
  } words[] = {
      {word | 1, "sparse"},
      {word | 4, "sparse"},
      {word | 8, "saturates"},
      {word ^ 1U << 4, "other than fp32"},
      {word | 1U << 5, "other than fp32"},
      {word | 1U << 6, "reserved bits"},
      {word | 1U << 7, "types other than"},
      {word | 2U << 7 | 2U << 10, "types other than"},
      {word | 1U << 13, "negates"},
      {word | 1U << 14, "negates"},
      {word | 1U << 23, "reserved bits"},
      {word | 1U << 29, "reserved bits"},
      {word | 1U << 30, "a shift"},
      {word ^ 1U << 24, "other than 128 or 64 rows"},
      {(word & ~(63U << 17)) | 3U << 17, "columns by 16"},
      {word & ~(63U << 17), "columns by 16"},
      {word | 33U << 17, "columns by 16"},
  };
  for (const auto& bad : words) check_refused(bad.text, four, one(a_tile(), b_tile(), bad.word));
  check_refused("MN-major", four, with([&](TensorAddress at) {
                  if (threadIdx.x == 0)
                    tensor_multiply_lanes(at, at + 64, b_tile(), how() | 1U << 15, 0);
                }));
  check_refused("an operand of 64 rows", four, with([&](TensorAddress at) {
                  if (threadIdx.x == 0)
                    tensor_multiply_lanes(at, at + 64, b_tile(), how() ^ 12U << 24, 0);
                }));
}

/// TMA overwrites an operand of a product in flight, or has not brought it yet.
void transfers(When when) {
  static std::array<std::uint16_t, std::size_t{128} * 64> rows{};
  const auto kernel = [](bool wait_load, bool wait_product) {
    const TensorAddress tmem = begin(128);
    write_operands(false, true);
    __syncthreads();
    if (threadIdx.x == 0) {
      tensor_fence_after();
      barrier_expect(kSecond, sizeof rows);
      if (!wait_load) bulk_load(kA, rows.data(), sizeof rows, kSecond);
      tensor_multiply(tmem, a_tile(), b_tile(), how(), 0);
      tensor_commit(kBarrier);
      if (wait_product) barrier_wait(kBarrier, 0);
      if (wait_load) bulk_load(kA, rows.data(), sizeof rows, kSecond);
      barrier_wait(kSecond, 0);
    }
    barrier_wait(kBarrier, 0);
    tensor_fence_after();
    end(tmem, 128);
  };
  const emulator::Launch four = launch_of(4, when);
  check_accepted("a load after the product", four, [=] { kernel(true, true); });
  if (when == When::at_once) return;
  check_refused("may still read", four, [=] { kernel(true, false); });
  check_refused("while TMA writes it", four, [=] { kernel(false, true); });
}

/// A commit tells what its thread has waited for, also where it has issued no product: that a load
/// is over. It does not tell what the thread has written itself.
void commits(When when) {
  static std::array<float, 4> source{};
  const auto kernel = [](bool waits, bool writes) {
    const TensorAddress tmem = begin(32);
    if (threadIdx.x == 32) {
      barrier_expect(kSecond, 16);
      bulk_load(kA, source.data(), 16, kSecond);
      if (writes) {
        barrier_wait(kThird, 0);
        fence_async_shared();
        barrier_expect(kSecond, 16);
        bulk_load(kB, source.data(), 16, kSecond);
      }
    }
    if (threadIdx.x == 0) {
      if (waits) barrier_wait(kSecond, 0);
      if (writes) {
        store_shared(kB, 1);
        fence_async_shared();
      }
      tensor_commit(writes ? kThird : kBarrier);
    }
    if (threadIdx.x == 64 && !writes) {
      barrier_wait(kBarrier, 0);
      store_shared(kA, 1);
    }
    end(tmem, 32);
  };
  const emulator::Launch four = launch_of(4, when);
  check_accepted("a write after a load that a commit tells of", four, [=] { kernel(true, false); });
  check_refused("TMA", four, [=] { kernel(false, false); });
  check_refused("wrote, and no barrier lies between", four, [=] { kernel(true, true); });
}

void endings() {
  const emulator::Launch four = launch_of(4, When::late);
  const auto kernel = [](bool commit) {
    const TensorAddress tmem = begin(128);
    write_operands(false, true);
    __syncthreads();
    if (threadIdx.x == 0) {
      tensor_fence_after();
      tensor_multiply(tmem, a_tile(), b_tile(), how(), 0);
      if (commit) tensor_commit(kBarrier);
    }
    // Nobody waits, and the memory stays: only the end of the block is wrong.
  };
  check_refused("before a tcgen05.commit has arrived", four, [=] { kernel(true); });
  check_refused("ends with tcgen05.mma in flight", four, [=] { kernel(false); });
}

}  // namespace

int main() {
  for (const When when : kWhens) {
    one_warp(when);
    allocation(when);
    product_rules(when);
    transfers(when);
    commits(when);
  }
  endings();
  std::printf("%d of %d checks failed\n", emulator::checks_failed, emulator::checks_ran);
  return emulator::checks_failed == 0 ? 0 : 1;
}
