#include "gpu/emulator/mbarrier.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/emulator/shared_memory.hpp"
#include "gpu/emulator/threads.hpp"

namespace twill::gpu::emulator {

void settle(Mbarrier& b) {
  if (b.pending != 0 || b.transfers != 0) return;
  ++b.ended.count;
  if (b.telling.size() <= b.ended.agent) b.telling.resize(b.ended.agent + 1);
  b.telling[b.ended.agent] = b.ended.count;
  learn(b.told, b.telling);
  b.telling.clear();
  b.phase ^= 1;
  b.pending = b.arrivals;
}

Mbarrier& mbarrier(Block& block, std::uint32_t address) {
  const auto found = block.mbarriers.find(address);
  if (found == block.mbarriers.end()) fail("no mbarrier there");
  return found->second;
}
Mbarrier& visible_mbarrier(Block& block, std::uint32_t address, bool tma) {
  Mbarrier& b = mbarrier(block, address);
  const bool own = &block == self().block && b.owner == self().thread;
  if ((tma || !own) && !b.fenced) fail("an mbarrier is used without fence.mbarrier_init");
  if (&block != self().block && !b.cluster_met)
    fail("an mbarrier of another block is used before the cluster has met");
  if (!own && !b.met) fail("an mbarrier of another thread is used before the block has met");
  return b;
}
void arrive(Mbarrier& b) {
  if (--b.pending < 0) fail("more arrivals than a phase has");
  settle(b);
  ++machine->progress;
}

void barrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
  if (barrier % 8 != 0) fail("an mbarrier that is not 8-byte aligned");
  shared(*self().block, barrier, 8);
  const auto count = static_cast<int>(arrivals);
  Mbarrier b;
  b.arrivals = b.pending = count;
  b.owner = self().thread;
  b.ended.agent = machine->current->agents++;
  self().block->mbarriers[barrier] = b;
}
void barrier_init_fence() {
  for (auto& [address, b] : self().block->mbarriers)
    if (b.owner == self().thread) b.fenced = true;
}
void barrier_arrive(std::uint32_t barrier, int rank) {
  Block& block =
      rank < 0 ? *self().block : *machine->current->blocks[static_cast<std::size_t>(rank)];
  Mbarrier& b = visible_mbarrier(block, barrier);
  if (&block == self().block) tell(b.telling);
  arrive(b);
  step_back();
  switch_by_chance();
}
void barrier_expect(std::uint32_t barrier, std::uint32_t bytes) {
  Mbarrier& b = visible_mbarrier(*self().block, barrier);
  b.transfers += bytes;
  tell(b.telling);
  arrive(b);
}
void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  const Mbarrier& b = visible_mbarrier(*self().block, barrier);
  self().waits = std::to_string(barrier) + " with parity " + std::to_string(parity);
  wait_until([&] { return b.phase != parity; });
  self().waits.clear();
  ++self().waited;
  learn(self().known, b.told);
}

}  // namespace twill::gpu::emulator
