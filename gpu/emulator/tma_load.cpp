// Loads of TMA into shared memory, which an mbarrier counts.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "gpu/emulator/box.hpp"
#include "gpu/emulator/counters.hpp"
#include "gpu/emulator/machine.hpp"
#include "gpu/emulator/mbarrier.hpp"
#include "gpu/emulator/shared_memory.hpp"
#include "gpu/emulator/state.hpp"
#include "gpu/emulator/threads.hpp"

namespace twill::gpu::emulator {

namespace {

void check_free(const Block& block, std::uint32_t address, std::uint32_t bytes) {
  for (std::uint32_t line = address / 16; line <= (address + bytes - 1) / 16; ++line) {
    if (block.reading[line] != 0) fail("TMA overwrites what TMA or wgmma may still read");
    if (block.arriving[line] != 0) fail("TMA overwrites what another load of TMA writes");
  }
}

/// Another block's TMA is about to write here. It was told so by an mbarrier whose scope is the
/// block, which does not order this block's ordinary writes before it.
void check_handed_over(const Block& block, std::uint32_t address, std::int64_t bytes) {
  for (std::uint32_t line = address / 16; std::int64_t{line} * 16 < address + bytes; ++line)
    if (block.unreleased[line] != 0)
      fail("another block's TMA overwrites what thread " +
           std::to_string(block.unreleased[line] - 1) +
           " wrote, and no meeting of the cluster lies between");
}

/// Starts a load into shared memory, signalled on the barrier there.
void start_load(Block& block, std::uint32_t to, std::uint32_t bytes, std::uint32_t barrier,
                std::function<void()> copy) {
  check_acquired();
  shared(block, to, bytes);
  check_free(block, to, bytes);
  const Event ended = visible_mbarrier(block, barrier, true).ended;
  const Known* const known = &block == self().block ? &self().known : nullptr;
  for_lines(to, bytes, [&](std::uint32_t line) {
    check(block.order.start_writing(line, known, {ended.agent, ended.count + 1}));
  });
  count_lines(block.arriving, to, bytes, 1);
  Block* const at = &block;
  const auto load = [=, copy = std::move(copy)] {
    copy();
    count_lines(at->arriving, to, bytes, -1);
    Mbarrier& b = mbarrier(*at, barrier);
    b.transfers -= bytes;
    settle(b);
  };
  if (machine->launch->when == When::at_once)
    load();
  else
    machine->loads.push_back({machine->current, to, load});
  ++machine->progress;
}

}  // namespace

void tma_load(std::uint32_t to, const Map& map, const int (&at)[5], std::uint32_t barrier,
              unsigned blocks) {
  if (to % 1024 != 0) fail("a swizzled tile that is not 1024-byte aligned");
  for (const auto& other : machine->current->blocks) {
    Block* const block = other.get();
    if (blocks == 0 ? block != self().block : (blocks >> block->rank & 1) == 0) continue;
    if (block != self().block) check_handed_over(*block, to, box_bytes(map));
    start_load(*block, to, box_bytes(map), barrier, [=, map = map, place = coordinates(at)] {
      for_box(to, map, place, [&](std::uint32_t address, const std::uint16_t* from) {
        const std::uint16_t bits = from != nullptr ? *from : std::uint16_t{0};
        std::memcpy(shared(*block, address, 2), &bits, 2);
      });
    });
  }
}
void bulk_load(std::uint32_t to, const void* from, std::uint32_t bytes, std::uint32_t barrier) {
  if (to % 16 != 0 || bytes % 16 != 0 || reinterpret_cast<std::uintptr_t>(from) % 16 != 0)
    fail("a bulk copy that is not 16-byte aligned");
  Block* const block = self().block;
  start_load(*block, to, bytes, barrier,
             [=] { std::memcpy(shared(*block, to, bytes), from, bytes); });
}

}  // namespace twill::gpu::emulator
