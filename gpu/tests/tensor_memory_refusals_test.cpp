// What the emulated tensor memory (gpu/emulator/tensor_memory.hpp) refuses: an error planted for
// each of its rules, and beside it the right order, which it accepts and whose numbers are right.
// Work happens late and at once. No GPU is needed.
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "gpu/blackwell/tcgen05.cuh"
#include "gpu/tests/emulator_checks.hpp"

using namespace twill::gpu;
using emulator::check_accepted;
using emulator::check_refused;
using emulator::When;

namespace {

constexpr When kWhens[] = {When::late, When::at_once};
constexpr std::uint32_t kAddress = 0, kBarrier = 16, kSecond = 24, kThird = 32, kA = 1024,
                        kB = kA + 128 * 128;

emulator::Launch launch_of(int warps, When when) {
  emulator::Launch launch;
  launch.threads = warps * 32;
  launch.when = when;
  launch.shared_bytes = 65536;
  return launch;
}

// The kernels below are right with all of their steps; a rule is broken by leaving out the step of
// that number (0: none).
int missing = 0;
bool has(int step) {
  return missing != step;
}

bool warp_is(unsigned w) {
  return threadIdx.x / 32 == w;
}
void fence_before(int step = -1) {
  if (has(step)) tensor_fence_before();
}
void fence_after(int step = -1) {
  if (has(step)) tensor_fence_after();
}
void meet() {
  tensor_fence_before();
  __syncthreads();
  tensor_fence_after();
}

TensorAddress begin(std::uint32_t columns, std::uint32_t arrivals = 1) {
  if (threadIdx.x == 0) {
    barrier_init(kBarrier, arrivals);
    barrier_init(kSecond, 1);
    barrier_init(kThird, 1);
    barrier_init_fence();
  }
  if (warp_is(0)) {
    tensor_allocate(kAddress, columns);
    tensor_relinquish();
  }
  meet();
  return load_shared(kAddress);
}
void end(TensorAddress at, std::uint32_t columns) {
  meet();
  if (warp_is(0)) tensor_free(at, columns);
}
TensorAddress lanes(TensorAddress at) {
  return at + (threadIdx.x / 32 % 4 << 21);
}

// --- Operands: element (i, k) of A is a(i, k), of B b(i, k), 16 deep, 128-byte swizzled
// -----------

float a_of(int i, int k) {
  return static_cast<float>((i * 3 + k * 5) % 13 - 6) / 4;
}
float b_of(int i, int k) {
  return static_cast<float>((i * 7 + k * 2) % 11 - 5) / 4;
}
std::uint16_t bits_of_half(float x) {
  return emulator::from_float(x, Element::f16);
}

/// Offset in bytes of 16-bit element (row, column) of a tile [panel of 64 columns][rows][64], with
/// the swizzle of TMA: 16-byte chunk c of a row lies at c xor row mod 8.
std::uint32_t tile_offset(int rows, int row, int column) {
  const int chunk = column % 64 / 8;
  return static_cast<std::uint32_t>(column / 64 * rows * 128 + row * 128 + (chunk ^ row % 8) * 16 +
                                    column % 8 * 2);
}

/// By all threads: A as rows of 16 columns of 64, B too, or, with `b_rows`, B as 16 rows of 128.
void write_operands(bool b_rows, bool fence) {
  for (int i = static_cast<int>(threadIdx.x); i < 128; i += 128)
    for (int k = 0; k < 16; k += 2) {
      const std::uint32_t word =
          bits_of_half(a_of(i, k)) | static_cast<std::uint32_t>(bits_of_half(a_of(i, k + 1))) << 16;
      store_shared(kA + tile_offset(128, i, k), word);
      if (b_rows) continue;
      store_shared(kB + tile_offset(128, i, k),
                   bits_of_half(b_of(i, k)) |
                       static_cast<std::uint32_t>(bits_of_half(b_of(i, k + 1))) << 16);
    }
  if (b_rows && threadIdx.x < 64)
    for (int k = 0; k < 16; ++k) {
      const int i = static_cast<int>(threadIdx.x) * 2;
      store_shared(kB + tile_offset(16, k, i),
                   bits_of_half(b_of(i, k)) |
                       static_cast<std::uint32_t>(bits_of_half(b_of(i + 1, k))) << 16);
    }
  if (fence) fence_async_shared();
}
constexpr std::uint32_t kColumns = 128;
std::uint64_t a_tile() {
  return operand_descriptor(kA, 16, 1024);
}
std::uint64_t b_tile(bool b_rows = false) {
  return b_rows ? operand_descriptor(kB, 16 * 128, 1024) : operand_descriptor(kB, 16, 1024);
}
std::uint32_t how(bool b_rows = false) {
  return instruction_descriptor(Element::f16, 128, kColumns, false, b_rows);
}

/// The thread's row of D is times A B.
void check_row(const float* d, int times) {
  const int i = static_cast<int>(threadIdx.x % 128);
  for (int j = 0; j < static_cast<int>(kColumns); ++j) {
    float want = 0;
    for (int k = 0; k < 16; ++k) want += a_of(i, k) * b_of(j, k);
    if (std::fabs(d[j] - want * static_cast<float>(times)) > 1e-4F)
      throw emulator::Error("a product of wrong numbers");
  }
}
void load_row(float* d, TensorAddress at) {
  for (std::uint32_t c = 0; c < kColumns; c += 32) TensorColumns<32>::load(d + c, lanes(at) + c);
}

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
  check_refused("without fence.proxy.async", four, [] { product_to_loads(false, false); });
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
      {word ^ 12U << 24, "other than 128 rows"},
      {(word & ~(63U << 17)) | 3U << 17, "columns by 16"},
      {word & ~(63U << 17), "columns by 16"},
      {word | 33U << 17, "columns by 16"},
  };
  for (const auto& bad : words) check_refused(bad.text, four, one(a_tile(), b_tile(), bad.word));
  check_refused("MN-major", four, with([&](TensorAddress at) {
                  if (threadIdx.x == 0)
                    tensor_multiply_lanes(at, at + 64, b_tile(), how() | 1U << 15, 0);
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
  orders();
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
