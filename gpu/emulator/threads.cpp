#include "gpu/emulator/threads.hpp"

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace twill::gpu::emulator {

Machine* machine = nullptr;

namespace {

constexpr std::size_t kStack = std::size_t{1} << 17;

void enter() {
  Fiber& fiber = self();
  (*machine->body)();
  for (Bulk& group : fiber.bulk) {
    if (group.bytes != 0) fail("ends while TMA may read shared memory");
    if (group.write) machine->unwritten.push_back(std::move(group.write));
  }
  if (fiber.thread % 128 == 0 && !warpgroup().ops.empty()) fail("ends with wgmma in flight");
  if (fiber.block->part != nullptr) fiber.block->part->end_thread();
  fiber.done = true;
  ++machine->progress;
  for (;;) yield();
}

}  // namespace

void yield() {
  swapcontext(&self().context, &machine->scheduler);
}
void fail(const std::string& what) {
  if (machine->running == nullptr) throw Error(what);  // in a load, which no thread waits in
  if (machine->error.empty())
    machine->error = what + " (block " + std::to_string(self().block->index) + ", thread " +
                     std::to_string(self().thread) + ")";
  for (;;) yield();  // the scheduler does not come back
}
void check(const std::string& wrong) {
  if (!wrong.empty()) fail(wrong);
}

void step_back() {
  if (self().thread / 128 == machine->launch->held) yield();
}
void switch_by_chance() {
  const unsigned seldom = self().thread % 32 == 0 ? 4 : 64;
  const Launch& launch = *machine->launch;
  if (!launch.switches || launch.late_stores || machine->random() % seldom != 0) return;
  self().stopped = true;
  yield();
}

Event now(const Fiber& fiber) {
  const int before = fiber.block->rank * machine->launch->threads;
  const auto agent = kTensorAgents + static_cast<std::uint32_t>(before + fiber.thread);
  return {agent, fiber.known[agent]};
}
Event now() {
  return now(self());
}
void tell(Known& telling) {
  learn(telling, self().known);
  ++self().known[now().agent];
}

std::unique_ptr<Fiber> make_fiber(Block* block, int thread) {
  auto fiber = std::make_unique<Fiber>();
  fiber->block = block;
  fiber->thread = thread;
  fiber->stack = std::make_unique<char[]>(kStack);
  fiber->registers.start(fiber->stack.get(), kStack, &machine->lent);
  fiber->known.resize(block->cluster->agents);
  fiber->known[kTensorAgents +
               static_cast<std::uint32_t>(block->rank * machine->launch->threads + thread)] = 1;
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = fiber->stack.get();
  fiber->context.uc_stack.ss_size = kStack;
  fiber->context.uc_link = nullptr;
  makecontext(&fiber->context, enter, 0);
  return fiber;
}

void pause() {
  yield();
}

}  // namespace twill::gpu::emulator
