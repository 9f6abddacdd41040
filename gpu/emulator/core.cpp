#include "gpu/emulator/core.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "gpu/emulator/mbarrier.hpp"
#include "gpu/emulator/meeting.hpp"
#include "gpu/emulator/shared_memory.hpp"
#include "gpu/emulator/state.hpp"
#include "gpu/emulator/threads.hpp"

namespace twill::gpu::emulator {

namespace core {

namespace {
Block& block_of(int rank) {
  return *machine->current->blocks[static_cast<std::size_t>(rank)];
}
}  // namespace

void fail(const std::string& what) {
  emulator::fail(what);
}
int thread() {
  return self().thread;
}
int threads() {
  return machine->launch->threads;
}
int rank() {
  return self().block->rank;
}
bool late() {
  return machine->launch->when == When::late;
}
unsigned chance() {
  return static_cast<unsigned>(machine->random());
}
std::unique_ptr<Part>& part(int rank) {
  return block_of(rank).part;
}
Known& known() {
  return self().known;
}
Known known_of_others() {
  Known known = self().known;
  known[now().agent] = 0;
  return known;
}
std::uint64_t waits() {
  return self().waited;
}
void progress() {
  ++machine->progress;
}
void wait_until(const std::function<bool()>& condition) {
  emulator::wait_until(condition);
}
void meet_warp() {
  meet(self().block->collective[static_cast<std::size_t>(self().thread / 32)], 32);
}
void check_async_read(int rank, std::uint32_t line) {
  Block& block = block_of(rank);
  shared(block, line * 16, 16);
  if (block.arriving[line] != 0) fail("read by tcgen05.mma while TMA writes it");
  check(block.order.start_reading(line, self().known));
}
void check_written(int rank, std::uint32_t line) {
  if (block_of(rank).arriving[line] != 0) fail("read by tcgen05.mma while TMA writes it");
}
void start_reading(int rank, std::uint32_t line) {
  ++block_of(rank).reading[line];
}
void end_reading(int rank, std::uint32_t line, std::uint32_t agent, std::uint32_t count) {
  --block_of(rank).reading[line];
  block_of(rank).order.end_reading(line, {agent, count});
}
std::uint16_t read(int rank, std::uint32_t address) {
  std::uint16_t bits;
  std::memcpy(&bits, shared(block_of(rank), address, 2), 2);
  return bits;
}
void write(int rank, std::uint32_t address, std::uint32_t word) {
  std::memcpy(shared(block_of(rank), address, 4), &word, 4);
}
void check_barrier(std::uint32_t barrier) {
  visible_mbarrier(*self().block, barrier, true);
}
void arrive(int rank, std::uint32_t barrier, const Known& what) {
  Mbarrier& b = mbarrier(block_of(rank), barrier);
  learn(b.telling, what);
  emulator::arrive(b);
}
void in_flight(std::function<void()> effect) {
  if (late())
    machine->loads.push_back({machine->current, ~std::uint32_t{0}, std::move(effect)});
  else
    effect();
  ++machine->progress;
}

}  // namespace core

}  // namespace twill::gpu::emulator
