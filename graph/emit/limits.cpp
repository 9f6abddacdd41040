// Sources: CUDA C++ programming guide, "Compute capabilities" (threads, registers, shared memory of
// a block: 9.0 and 10.0 have the same); PTX ISA, "setmaxnreg" (24 .. 256 in steps of 8, all warps
// of a warpgroup alike), "tcgen05.alloc" (a power of two of 32 .. 512 columns), "mbarrier" (8
// bytes). How Triton pads workers and shares out registers was measured (shared/program.md).
#include "graph/emit/limits.hpp"

#include <algorithm>
#include <string>

namespace twill::emit {
namespace {

constexpr int kWarpThreads = 32, kGroupWarps = 4;
constexpr int kMostBarriers = 512;  // none in PTX; more would say that a ring went wrong

bool power_of_two(Amount x) {
  return x > 0 && (x & (x - 1)) == 0;
}
int padded(const std::vector<Partition>& workers) {
  int warps = 0;
  for (const Partition& one : workers) warps += one.warps;
  return (warps + kGroupWarps - 1) / kGroupWarps * kGroupWarps;
}

}  // namespace

std::vector<int> warpgroups(const Launch& launch) {
  std::vector<std::size_t> order(launch.workers.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return launch.workers[a].warps > launch.workers[b].warps;
  });
  std::vector<int> group(order.size());
  int warps = 0, now = 0;
  for (const std::size_t k : order) {
    group[k] = now;
    warps += launch.workers[k].warps;
    if (warps % kGroupWarps == 0) ++now;
  }
  return group;
}

LaunchFacts launch_facts(const Launch& launch) {
  LaunchFacts facts;
  facts.threads = (launch.first.warps + padded(launch.workers)) * kWarpThreads;
  if (facts.threads == 0) return facts;
  facts.registers = std::min(kRegisterFile / facts.threads / kRegisterStep * kRegisterStep, 248);
  facts.workers.resize(launch.workers.size());
  // Those of one warpgroup get the most that one of them asks for.
  const std::vector<int> group = warpgroups(launch);
  int taken = 0;
  for (std::size_t k = 0; k < launch.workers.size(); ++k) {
    int most = kLeastRegisters;
    for (std::size_t other = 0; other < launch.workers.size(); ++other)
      if (group[other] == group[k]) most = std::max(most, launch.workers[other].registers);
    facts.workers[k] = (most + kRegisterStep - 1) / kRegisterStep * kRegisterStep;
  }
  for (int g = 0; !group.empty() && g <= *std::max_element(group.begin(), group.end()); ++g) {
    int warps = 0, registers = 0;
    for (std::size_t k = 0; k < launch.workers.size(); ++k) {
      if (group[k] != g) continue;
      warps += launch.workers[k].warps;
      registers = facts.workers[k];
    }
    taken += registers * ((warps + kGroupWarps - 1) / kGroupWarps * kGroupWarps) * kWarpThreads;
  }
  const int left = facts.registers * facts.threads - taken;
  if (launch.first.warps > 0 && left > 0)
    facts.first_registers =
        std::min(left / (launch.first.warps * kWarpThreads) / kRegisterStep * kRegisterStep, 256);
  return facts;
}

program::Refusal no_shared_memory(const std::string& text) {
  program::Refusal refusal{"limits", text};
  refusal.needs_shared = true;
  return refusal;
}

std::optional<program::Refusal> check_limits(const Launch& launch) {
  const auto no = [](const std::string& text) { return program::Refusal{"limits", text}; };
  if (!power_of_two(launch.first.warps) || launch.first.warps < kGroupWarps)
    return no("the default partition has " + std::to_string(launch.first.warps) +
              " warps: must be a power of two of at least 4");
  for (const Partition& one : launch.workers) {
    if (!power_of_two(one.warps))
      return no("a partition has " + std::to_string(one.warps) + " warps: must be a power of two");
    if (one.registers < kLeastRegisters || one.registers > kMostRegisters)
      return no("a partition asks for " + std::to_string(one.registers) +
                " registers a thread: must be 24 to 240");
  }
  const LaunchFacts facts = launch_facts(launch);
  if (facts.threads > kMostThreads)
    return no(std::to_string(facts.threads) +
              " threads with workers padded to warpgroups: a block " + "has at most 1024");
  if (!launch.workers.empty() && facts.first_registers < kLeastRegisters)
    return no("the workers leave " + std::to_string(facts.first_registers) +
              " registers a thread to the default partition, fewer than 24: Triton would drop all "
              "setmaxnreg without a word");
  if (!launch.workers.empty() && facts.first_registers < launch.first.registers)
    return no("the workers leave " + std::to_string(facts.first_registers) +
              " registers a thread to the default partition, which needs " +
              std::to_string(launch.first.registers));
  if (launch.shared_bytes > kMostShared)
    return no_shared_memory(
        std::to_string(launch.shared_bytes) +
        " bytes of shared memory with barriers and hand-overs: a block has at most 232448");
  if (launch.tmem_columns != 0 &&
      (!power_of_two(launch.tmem_columns) || launch.tmem_columns < 32 || launch.tmem_columns > 512))
    return no(std::to_string(launch.tmem_columns) +
              " columns of tensor memory: must be a power of two of 32 to 512");
  if (launch.barriers > kMostBarriers)
    return no(std::to_string(launch.barriers) + " barriers are more than " +
              std::to_string(kMostBarriers));
  return std::nullopt;
}

}  // namespace twill::emit
