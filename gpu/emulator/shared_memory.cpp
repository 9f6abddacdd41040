#include "gpu/emulator/shared_memory.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "gpu/emulator/meeting.hpp"
#include "gpu/emulator/threads.hpp"

namespace twill::gpu::emulator {

namespace {

void ordinary(std::uint32_t line, bool writes) {
  Fiber& me = self();
  check(me.block->order.ordinary(line, me.thread, now(), me.known, writes, me.touched));
}
void written(std::uint32_t address, std::uint32_t bytes) {
  for (std::uint32_t line = address / 16; line <= (address + bytes - 1) / 16; ++line) {
    if (self().block->reading[line] != 0) fail("written while TMA or wgmma may still read it");
    if (self().block->arriving[line] != 0) fail("written while TMA writes it");
    ordinary(line, true);
    self().block->unreleased[line] = self().thread + 1;
  }
}

std::uint32_t lane_of_warp() {
  return static_cast<std::uint32_t>(self().thread % 32);
}
/// stmatrix and ldmatrix: the addresses that the warp's lanes give, by lane.
const std::array<std::uint32_t, 32>& matrix_rows(const char* what, std::uint32_t address) {
  aligned(what);
  if (address % 16 != 0) fail(std::string("a row of ") + what + " that is not 16-byte aligned");
  Meeting& warp = self().block->warps[static_cast<std::size_t>(self().thread / 32)];
  auto& words = warp.words[warp.generation % 2];
  words[lane_of_warp()] = address;
  meet(warp, 32);
  return words;
}

}  // namespace

std::uint8_t* shared(Block& block, std::uint32_t address, std::uint32_t bytes) {
  if (std::size_t{address} + bytes > block.shared.size()) fail("beyond shared memory");
  return block.shared.data() + address;
}
std::uint16_t async_read(Block& block, std::uint32_t address) {
  shared(block, address, 2);
  if (block.arriving[address / 16] != 0) fail("read by TMA or wgmma while TMA writes it");
  std::uint16_t bits;
  std::memcpy(&bits, shared(block, address, 2), 2);
  return bits;
}

void fence_async() {
  self().block->order.fence(self().thread, now(), self().touched);
}
void store_shared(std::uint32_t address, const void* from, std::uint32_t bytes) {
  if (address % bytes != 0) fail("a misaligned store");
  std::uint8_t* const to = shared(*self().block, address, bytes);
  written(address, bytes);
  std::memcpy(to, from, bytes);
}
void load_shared(void* to, std::uint32_t address, std::uint32_t bytes) {
  if (address % bytes != 0) fail("a misaligned load");
  shared(*self().block, address, bytes);
  if (self().block->arriving[address / 16] != 0) fail("read while TMA writes it");
  ordinary(address / 16, false);
  std::memcpy(to, shared(*self().block, address, bytes), bytes);
}

void store_matrices(std::uint32_t address, const std::uint32_t (&tiles)[4], bool transposed) {
  // Lane l gives the address of row l % 8 of tile l / 8, and of each tile's row l / 4 (transposed:
  // column) the elements 2 (l % 4) and the next.
  const std::uint32_t lane = lane_of_warp();
  const auto& words = matrix_rows("stmatrix", address);
  for (std::uint32_t i = 0; i < 4; ++i)
    for (std::uint32_t h = 0; h < 2; ++h) {
      const std::uint32_t across = lane / 4, along = lane % 4 * 2 + h;
      const auto bits = static_cast<std::uint16_t>(tiles[i] >> (16 * h));
      const std::uint32_t row = words[8 * i + (transposed ? along : across)];
      store_shared(row + 2 * (transposed ? across : along), &bits, 2);
    }
}

void load_matrices(std::uint32_t (&tiles)[4], std::uint32_t address) {
  // PTX ISA, "ldmatrix": lane 8 i + r gives the address of row r of tile i, and every lane gets of
  // tile i the elements 2 (lane % 4) and the next of row lane / 4.
  const std::uint32_t lane = lane_of_warp();
  const auto& words = matrix_rows("ldmatrix", address);
  for (std::uint32_t i = 0; i < 4; ++i)
    load_shared(&tiles[i], words[8 * i + lane / 4] + 4 * (lane % 4), 4);
}

}  // namespace twill::gpu::emulator
