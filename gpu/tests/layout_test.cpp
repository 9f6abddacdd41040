// The arithmetic of layouts in the forward kernel on the CPU: where TMA puts an element of a tile
// (128-byte swizzle), where wgmma's descriptors look for it, and that accumulators are the A
// operand and the stored O that the kernel takes them for. Canonical layouts: PTX ISA,
// "Asynchronous warpgroup level matrix shared memory layout".
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "gpu/hopper/forward/schedule.hpp"
#include "gpu/hopper/forward/tile.hpp"

using namespace twill::gpu;

namespace {

using Place = std::pair<int, int>;  // row, column

void check(bool holds, const char* what, int head_dim) {
  if (holds) return;
  std::printf("FAILED: %s, head dimension %d\n", what, head_dim);
  std::exit(1);
}

// The 16-byte chunk within 128 bytes is exchanged by the row within 8.
int swizzle(int address) {
  return address ^ (((address >> 7) & 7) << 4);
}

// Byte address -> element of a tile that TMA wrote as [panel][row][64 elements].
std::map<int, Place> written_by_tma(int rows, int panels) {
  std::map<int, Place> tile;
  for (int p = 0; p < panels; ++p)
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < 64; ++c) tile[swizzle((p * rows + r) * 128 + c * 2)] = {r, p * 64 + c};
  return tile;
}

// Where wgmma reads element (r, k) of a K-major and (n, k) of an MN-major operand.
int k_major(int start, int stride, int r, int k) {
  return swizzle(start + r % 8 * 128 + r / 8 * stride + k * 2);
}
int mn_major(int start, int leading, int stride, int n, int k) {
  return swizzle(start + n / 64 * leading + n % 64 * 2 + k % 8 * 128 + k / 8 * stride);
}

void operands(int head_dim) {
  const ForwardTile tile = forward_tile(head_dim);
  const auto kv = written_by_tma(tile.keys, tile.panels);
  const auto q = written_by_tma(kWarpgroupRows, tile.panels);
  check(static_cast<int>(kv.size()) * 2 == tile.kv_bytes, "bytes of a K block", head_dim);
  check(static_cast<int>(q.size()) * 2 == tile.q_bytes, "bytes of a Q tile", head_dim);
  for (int step = 0; step < head_dim / 16; ++step) {  // S = Q K^T, both K-major
    const int within = step % 4 * 32;
    for (int k = 0; k < 16; ++k) {
      for (int r = 0; r < kWarpgroupRows; ++r)
        check(q.at(k_major(step / 4 * kWarpgroupRows * 128 + within, 1024, r, k)) ==
                  Place{r, step * 16 + k},
              "Q as A of QK", head_dim);
      for (int n = 0; n < tile.keys; ++n)
        check(kv.at(k_major(step / 4 * tile.keys * 128 + within, 1024, n, k)) ==
                  Place{n, step * 16 + k},
              "K as B of QK", head_dim);
    }
  }
  for (int step = 0; step < tile.keys / 16; ++step)  // O += P V, V MN-major
    for (int n = 0; n < head_dim; ++n)
      for (int k = 0; k < 16; ++k)
        check(kv.at(mn_major(step * 16 * 128, tile.keys * 128, 1024, n, k)) ==
                  Place{step * 16 + k, n},
              "V as B of PV", head_dim);
}

// Row and column in the warp's 16 rows of accumulator i; of half h of A register `reg`.
Place accumulator(int lane, int i) {
  return {lane / 4 + 8 * (i % 4 / 2), i / 4 * 8 + lane % 4 * 2 + i % 2};
}
Place operand_a(int lane, int reg, int h) {
  return {lane / 4 + 8 * (reg % 2), lane % 4 * 2 + h + 8 * (reg / 2)};
}

void registers(int head_dim) {
  const ForwardTile tile = forward_tile(head_dim);
  for (int lane = 0; lane < 32; ++lane)
    for (int step = 0; step < tile.keys / 16; ++step)
      for (int reg = 0; reg < 4; ++reg)
        for (int h = 0; h < 2; ++h) {
          const Place a = operand_a(lane, reg, h);
          check(accumulator(lane, 2 * (4 * step + reg) + h) == Place{a.first, 16 * step + a.second},
                "S packed in pairs as A of PV", head_dim);
        }
}

// The store of O: stmatrix takes matrix i's row addresses from lanes 8 i .. 8 i + 7; lane l gives
// it row l / 4, columns 2 (l % 4) and the next.
void store(int head_dim) {
  const ForwardTile tile = forward_tile(head_dim);
  const auto o = written_by_tma(kWarpgroupRows, tile.panels);  // TMA stores as it loads
  for (int warp = 0; warp < 4; ++warp) {
    std::map<int, std::pair<int, int>> memory;  // byte -> lane, accumulator
    for (int c = 0; c < head_dim / 16; ++c) {
      int address[32];
      for (int lane = 0; lane < 32; ++lane) {
        const int own = warp * 16 + (lane & 15), chunk = c % 4 * 2 + (lane >> 4);
        address[lane] = c / 4 * kWarpgroupRows * 128 + own * 128 + ((chunk ^ (own & 7)) << 4);
      }
      for (int i = 0; i < 4; ++i)
        for (int l = 0; l < 32; ++l)
          for (int h = 0; h < 2; ++h)
            memory[address[8 * i + l / 4] + (2 * (l % 4) + h) * 2] = {l, 8 * c + 2 * i + h};
    }
    check(static_cast<int>(memory.size()) == 16 * head_dim, "every element of O is stored once",
          head_dim);
    for (const auto& [byte, from] : memory) {
      const Place place = accumulator(from.first, from.second);
      check(o.at(byte) == Place{warp * 16 + place.first, place.second}, "O in its tile", head_dim);
    }
  }
}

}  // namespace

int main() {
  for (const int head_dim : {64, 128, 256}) {
    operands(head_dim);
    registers(head_dim);
    store(head_dim);
    for (const Schedule* schedule : kForwardSchedules)
      check(forward_shared_bytes(head_dim, schedule->ring,
                                 forward_consumers(*schedule, head_dim)) <= 232448,
            "shared memory", head_dim);
  }
  static_assert((kLoaderRegisters + 2 * consumer_registers(2)) * 128 <= 65536);
  static_assert((kLoaderRegisters + 3 * consumer_registers(3)) * 128 <= 65536);
  std::puts("layouts hold");
}
