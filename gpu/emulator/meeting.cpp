#include "gpu/emulator/meeting.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "gpu/emulator/threads.hpp"

namespace twill::gpu::emulator {

void aligned(const char* what, int operand) {
  const int warp = self().thread / 32;
  auto& list = self().block->aligned[size(warp)];
  if (self().aligned == list.size()) list.push_back({what, operand, 0});
  Aligned& next = list[self().aligned++];
  if (std::strcmp(next.what, what) != 0 || next.operand != operand)
    fail("lanes of a warp have diverged: one is at " + Aligned{what, operand, 0}.text() +
         ", another at " + next.text());
  if (++next.lanes < 32) return;
  list.pop_front();
  for (int lane = 0; lane < 32; ++lane) --fiber_of(*self().block, warp * 32 + lane).aligned;
}

void meet(Meeting& meeting, int threads, bool orders) {
  const unsigned generation = meeting.generation;
  if (orders) tell(meeting.telling);
  if (++meeting.arrived == threads) {
    meeting.arrived = 0;
    ++meeting.generation;
    ++machine->progress;
    learn(meeting.told, meeting.telling);
    meeting.telling.clear();
  } else {
    wait_until([&] { return meeting.generation != generation; });
  }
  if (orders) learn(self().known, meeting.told);
}

void named(int id, int threads, bool wait) {
  aligned(wait ? "bar.sync" : "bar.arrive", id);
  Named& b = self().block->named[static_cast<std::size_t>(id)];
  if (b.arrived > 0 && b.threads != threads) fail("a named barrier of two sizes");
  b.threads = threads;
  const unsigned generation = b.generation;
  ++b.warps[self().thread / 32];
  tell(b.telling);
  if (++b.arrived == threads) {
    learn(b.told, b.telling);
    b.telling.clear();
    for (const auto& [warp, count] : b.warps)
      if (count % 32 != 0) fail("a named barrier by a part of a warp");
    b.warps.clear();
    b.arrived = 0;
    ++b.generation;
  }
  ++machine->progress;
  if (!wait) {
    switch_by_chance();
    return;
  }
  wait_until([&] { return b.generation != generation; });
  ++self().waited;
  learn(self().known, b.told);
}
void sync_threads() {
  aligned("__syncthreads");
  if (self().block->all.arrived + 1 == machine->launch->threads)
    for (auto& [address, b] : self().block->mbarriers) b.met = b.met || b.fenced;
  meet(self().block->all, machine->launch->threads, true);
  ++self().waited;
}
void sync_cluster() {
  const int threads = machine->launch->threads * machine->launch->cluster;
  if (machine->current->all.arrived + 1 == threads)
    for (const auto& block : machine->current->blocks) {
      std::fill(block->unreleased.begin(), block->unreleased.end(), 0);
      for (auto& [address, b] : block->mbarriers) b.met = b.cluster_met = b.cluster_met || b.fenced;
    }
  meet(machine->current->all, threads, true);
}
bool elect() {
  aligned("elect.sync");
  return self().thread % 32 == 0;
}
void sync_warp() {
  aligned("__syncwarp");
  meet(self().block->warps[static_cast<std::size_t>(self().thread / 32)], 32, true);
  step_back();
}
std::uint32_t shuffle(std::uint32_t value, int lane) {
  aligned("a shuffle");
  Meeting& warp = self().block->warps[static_cast<std::size_t>(self().thread / 32)];
  auto& words = warp.words[warp.generation % 2];
  words[static_cast<std::size_t>(self().thread % 32)] = value;
  meet(warp, 32);
  return words[static_cast<std::size_t>(lane)];
}

}  // namespace twill::gpu::emulator
