#include "graph/emit/register_shares.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "graph/emit/register_pressure.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

class Shares {
 public:
  explicit Shares(Plan& plan) : plan_(plan) {
    for (std::size_t k = 0; k < plan.partitions.size(); ++k) {
      const int slot = plan.partitions[k];
      needed_.push_back(slot == plan.finish_slot() || !holds_results(slot)
                            ? has(plan.launch, k)
                            : registers_needed(plan, slot));
    }
  }

  void run() {
    // (Each round moves one step; no partition can take more than a register file has.)
    constexpr int kRounds = 256;
    for (int round = 0; round < kRounds; ++round)
      if (!step()) break;
    plan_.registers_short = lacking(plan_.launch);
  }

  void tell() const {
    if (std::getenv("B28") == nullptr) return;
    for (std::size_t k = 0; k < needed_.size(); ++k)
      std::fprintf(stderr, "B28 %s need %ld has %ld\n", plan_.slot_name[at(plan_.partitions[k])].c_str(),
                   (long)needed_[k], (long)has(plan_.launch, k));
    std::fprintf(stderr, "B28 short %ld\n", (long)plan_.registers_short);
  }

 private:
  /// Does the slot compute with tiles? (One that only moves them asks for what its places take.)
  bool holds_results(int slot) const { return register_pressure(plan_, slot) > 0; }

  static Amount has(const Launch& launch, std::size_t partition) {
    const LaunchFacts facts = launch_facts(launch);
    if (partition > 0) return facts.workers[partition - 1];
    return launch.workers.empty() ? kMostRegisters : facts.first_registers;
  }
  Amount lacking(const Launch& launch) const {
    Amount sum = 0;
    for (std::size_t k = 0; k < needed_.size(); ++k)
      sum += std::max<Amount>(0, needed_[k] - has(launch, k));
    return sum;
  }
  /// Workers get and give a step; what they leave is the default partition's. Is less lacking?
  bool step() {
    const Amount before = lacking(plan_.launch);
    if (before == 0 || plan_.launch.workers.empty()) return false;
    Launch best = plan_.launch;
    Amount least = before;
    const std::size_t count = needed_.size();
    for (std::size_t to = 0; to < count; ++to)
      for (std::size_t from = 0; from < count; ++from) {
        if (to == from || needed_[to] <= has(plan_.launch, to)) continue;
        Launch one = plan_.launch;
        give(one, from, -kRegisterStep);
        give(one, to, kRegisterStep);
        if (check_limits(one)) continue;
        if (const Amount now = lacking(one); now < least) {
          least = now;
          best = one;
        }
      }
    if (least == before) return false;
    plan_.launch = best;
    return true;
  }
  void give(Launch& launch, std::size_t partition, int registers) const {
    if (partition > 0)
      launch.workers[partition - 1].registers += registers;
    else  // (It asks for what it needs, no more: the rest is free for others.)
      launch.first.registers =
          static_cast<int>(std::clamp<Amount>(needed_[0], kLeastRegisters, launch.first.registers));
  }

  Plan& plan_;
  std::vector<Amount> needed_;  ///< per partition; what it has where that is enough
};

}  // namespace

void share_by_need(Plan& plan) {
  if (plan.user != nullptr && plan.user->parts > 1) return;
  Shares shares(plan);
  shares.run();
  shares.tell();
}

}  // namespace twill::emit
