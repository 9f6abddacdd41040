// A launch: its clusters one after the other or some at once, the order in which their threads run,
// and what happens where none can go on.
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/emulator/machine.hpp"
#include "gpu/emulator/state.hpp"
#include "gpu/emulator/threads.hpp"

namespace twill::gpu::emulator {

namespace {

/// Registers of a multiprocessor, and the most that a launch may give a thread.
constexpr int kRegisterFile = 65536, kMostRegisters = 248;

/// Who waits for which barrier, the first thread of each.
std::string waiting(const std::vector<Fiber*>& fibers) {
  std::map<std::string, int> first;
  for (const Fiber* fiber : fibers)
    if (!fiber->waits.empty()) {
      const auto [found, is_new] = first.emplace(fiber->waits, fiber->thread);
      if (!is_new) found->second = std::min(found->second, fiber->thread);
    }
  std::string text;
  for (const auto& [barrier, thread] : first)
    text += (text.empty() ? ": thread " : ", thread ") + std::to_string(thread) + " waits for " +
            barrier;
  return text;
}

void start_cluster(Machine& m, int first) {
  const Launch& launch = *m.launch;
  Cluster& cluster = *m.clusters.emplace_back(std::make_unique<Cluster>());
  cluster.agents = kTensorAgents + static_cast<std::uint32_t>(launch.cluster * launch.threads);
  for (int rank = 0; rank < launch.cluster; ++rank) {
    auto block = std::make_unique<Block>(static_cast<std::size_t>(launch.shared_bytes));
    block->cluster = &cluster;
    block->index = first + rank;
    block->rank = rank;
    const std::size_t lines = block->shared.size() / 16 + 1;
    block->reading.assign(lines, 0);
    block->arriving.assign(lines, 0);
    block->unreleased.assign(lines, 0);
    block->warps.resize(static_cast<std::size_t>(launch.threads / 32));
    block->collective.resize(block->warps.size());
    block->aligned.resize(block->warps.size());
    block->warpgroups.resize(static_cast<std::size_t>((launch.threads + 127) / 128));
    const int registers = std::min(kRegisterFile / launch.threads / 8 * 8, kMostRegisters);
    for (Warpgroup& w : block->warpgroups) w.registers = registers;
    block->registers_left = kRegisterFile - launch.threads * registers;
    for (int t = 0; t < launch.threads; ++t) cluster.fibers.push_back(make_fiber(block.get(), t));
    cluster.blocks.push_back(std::move(block));
  }
}

/// All threads of the cluster have ended.
void end_cluster(const Machine& m, const Cluster& cluster) {
  for (const auto& block : cluster.blocks)
    if (const std::string wrong = block->part == nullptr ? "" : block->part->end_block();
        !wrong.empty())
      throw Error(wrong);
  for (const Load& load : m.loads)
    if (load.cluster == &cluster) throw Error("ends while TMA writes shared memory");
  for (const auto& block : cluster.blocks)
    for (const auto& list : block->aligned)
      if (!list.empty()) throw Error("only a part of a warp has executed " + list.front().text());
  for (const auto& block : cluster.blocks)
    for (const Named& named : block->named)
      if (named.arrived != 0) throw Error("a named barrier is left half full");
}

/// One turn of every thread that may go on.
void run_fibers(Machine& m, const std::vector<Fiber*>& order, bool kept_back) {
  for (Fiber* fiber : order) {
    if (fiber->stopped || fiber->block->sleeps) continue;
    if ((fiber->thread / 128 == m.launch->held) != kept_back) continue;
    m.running = fiber;
    m.current = fiber->block->cluster;
    m.thread.x = static_cast<unsigned>(fiber->thread);
    m.block.x = static_cast<unsigned>(fiber->block->index);
    if (fiber->goes_on == nullptr || (*fiber->goes_on)())
      swapcontext(&m.scheduler, &fiber->context);
    m.running = nullptr;
    if (!m.error.empty()) throw Error(m.error);
  }
}

/// Blocks that run at once go on unevenly: some sleep a while.
void put_to_sleep(Machine& m) {
  if (m.clusters.size() < 2 || m.random() % 64 != 0) return;
  for (const auto& cluster : m.clusters) {
    const bool sleeps = m.random() % 2 == 0;
    for (const auto& block : cluster->blocks) block->sleeps = sleeps;
  }
}
bool wake(Machine& m) {
  bool slept = false;
  for (const auto& cluster : m.clusters)
    for (const auto& block : cluster->blocks) slept = std::exchange(block->sleeps, false) || slept;
  return slept;
}

/// Where no thread can go on: a thread that has stopped does, or a load takes effect.
void let_go_on(Machine& m, const std::vector<Fiber*>& order) {
  const Launch& launch = *m.launch;
  std::vector<Fiber*> stopped;
  std::copy_if(order.begin(), order.end(), std::back_inserter(stopped),
               [](const Fiber* f) { return f->stopped; });
  std::vector<std::size_t> ready;
  for (std::size_t k = 0; k < m.loads.size(); ++k)
    if (m.loads[k].to < launch.held_from || m.loads[k].to >= launch.held_to) ready.push_back(k);
  if (!stopped.empty() && (ready.empty() || (!launch.late_stores && m.random() % 2 == 0))) {
    stopped[m.random() % stopped.size()]->stopped = false;
    return;
  }
  if (m.loads.empty())
    throw Error("deadlock in block " + std::to_string(order.front()->block->index) +
                waiting(order));
  const std::size_t which =
      ready.empty() ? m.random() % m.loads.size() : ready[m.random() % ready.size()];
  const Load load = m.loads[which];
  m.loads.erase(m.loads.begin() + static_cast<std::ptrdiff_t>(which));
  m.current = load.cluster;
  load.effect();
}

/// As many clusters at once as the launch says; the next one starts where one ends.
void run_grid(Machine& m) {
  const Launch& launch = *m.launch;
  std::vector<Fiber*> order;
  for (int next = 0;;) {
    std::erase_if(order, [](const Fiber* f) { return f->done; });
    std::erase_if(m.clusters, [&](const auto& cluster) {
      const auto of_it = [&](const Fiber* f) { return f->block->cluster == cluster.get(); };
      if (std::any_of(order.begin(), order.end(), of_it)) return false;
      end_cluster(m, *cluster);
      return true;
    });
    while (next < launch.blocks && m.clusters.size() < size(launch.at_once)) {
      start_cluster(m, next);
      next += launch.cluster;
      for (const auto& fiber : m.clusters.back()->fibers) order.push_back(fiber.get());
    }
    if (order.empty()) return;
    // Another warp first every time; threads of a warp stay together, which is quicker.
    const std::uint64_t before = m.progress;
    const auto shift = static_cast<std::ptrdiff_t>(m.random() % order.size());
    std::rotate(order.begin(), order.begin() + shift, order.end());
    put_to_sleep(m);
    run_fibers(m, order, false);
    if (m.progress != before || wake(m)) continue;
    if (m.loads.empty() && launch.held >= 0) run_fibers(m, order, true);
    if (m.progress == before) let_go_on(m, order);
  }
}

}  // namespace

void run(const Launch& launch, const std::function<void()>& thread) {
  Machine m;
  m.launch = &launch;
  m.body = &thread;
  m.random.seed(launch.seed);
  m.grid.x = static_cast<unsigned>(launch.blocks);
  machine = &m;
  struct Reset {
    ~Reset() { machine = nullptr; }
  } reset;
  run_grid(m);
  for (const auto& write : m.unwritten) write();
}

const Dim& thread_index() {
  return machine->thread;
}
const Dim& block_index() {
  return machine->block;
}
const Dim& grid_size() {
  return machine->grid;
}

}  // namespace twill::gpu::emulator
