#include "graph/emit/register_shares.hpp"

#include <algorithm>
#include <optional>
#include <variant>

#include "graph/emit/register_pressure.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

/// One step from a partition to another. What the workers leave is the default partition's, which
/// asks for no more than it needs where it gives some away.
Launch moved_step(Launch launch, const std::vector<Amount>& needed, std::size_t from,
                  std::size_t to) {
  for (const std::size_t one : {from, to})
    if (one > 0) launch.workers[one - 1].registers += one == to ? kRegisterStep : -kRegisterStep;
  const Amount least = std::min<Amount>(launch.first.registers, kMostRegisters);
  launch.first.registers = static_cast<int>(
      std::clamp<Amount>(needed[0], std::min<Amount>(kLeastRegisters, least), least));
  return launch;
}

/// The step that leaves the least lacking; nullopt = none leaves less than there is.
std::optional<Launch> best_step(const Launch& launch, const std::vector<Amount>& needed) {
  std::optional<Launch> best;
  Amount least = registers_short(launch, needed);
  for (std::size_t to = 0; to < needed.size(); ++to)
    for (std::size_t from = 0; from < needed.size(); ++from) {
      if (to == from || needed[to] <= registers_had(launch, to)) continue;
      const Launch one = moved_step(launch, needed, from, to);
      if (check_limits(one)) continue;
      if (const Amount now = registers_short(one, needed); now < least) {
        least = now;
        best = one;
      }
    }
  return best;
}

}  // namespace

Amount registers_had(const Launch& launch, std::size_t partition) {
  const LaunchFacts facts = launch_facts(launch);
  if (partition > 0) return facts.workers[partition - 1];
  return launch.workers.empty() ? kMostRegisters : facts.first_registers;
}

Amount registers_short(const Launch& launch, const std::vector<Amount>& needed) {
  Amount sum = 0;
  for (std::size_t k = 0; k < needed.size(); ++k)
    sum += std::max<Amount>(0, needed[k] - registers_had(launch, k));
  return sum;
}

Launch shared_by_need(const Launch& launch, const std::vector<Amount>& needed) {
  Launch shared = launch;
  while (const auto next = best_step(shared, needed)) shared = *next;
  return registers_short(shared, needed) <= kRegisterStep ? shared : launch;
}

void share_by_need(Plan& plan) {
  if (plan.legal.target != Target::hopper || (plan.user != nullptr && plan.user->parts > 1)) return;
  std::vector<Amount> needed;
  for (std::size_t k = 0; k < plan.partitions.size(); ++k) {
    const int slot = plan.partitions[k];
    const bool computes = slot != plan.finish_slot() && register_pressure(plan, slot) > 0;
    needed.push_back(computes ? registers_needed(plan, slot) : registers_had(plan.launch, k));
  }
  plan.launch = shared_by_need(plan.launch, needed);
  plan.registers_short = registers_short(plan.launch, needed);
  for (std::size_t k = 0; k < plan.partitions.size(); ++k)
    if (needed[k] > registers_had(plan.launch, k)) plan.slots_short.push_back(plan.partitions[k]);
}

std::optional<RegisterLack> registers_lacking(const program::Program& program,
                                              const EmitOptions& options) {
  auto plan = make_plan(program, options);
  if (std::holds_alternative<program::Refusal>(plan)) return std::nullopt;
  const Plan& made = std::get<Plan>(plan);
  RegisterLack lack{made.registers_short, made.slots_short, 0};
  for (const int slot : lack.slots) lack.held += summed_pressure(made, slot);
  return lack;
}

}  // namespace twill::emit
