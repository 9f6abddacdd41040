#include "graph/program/derive.hpp"

#include <utility>

#include "graph/program/barriers.hpp"
#include "graph/program/placement.hpp"
#include "graph/program/storages.hpp"
#include "graph/program/turns.hpp"
#include "graph/program/waits.hpp"
#include "graph/verify.hpp"

namespace twill::program {
namespace {

constexpr int kBarrierRounds = 4;

}  // namespace

std::optional<Refusal> derive_draft(const Problem& problem, const Schedule& schedule,
                                    Draft& draft) {
  // Storages that lie over each other leave room for barriers, where there is none else. (That adds
  // waits, perhaps with barriers.)
  std::optional<Refusal> first;
  Amount kept = 0;
  for (int round = 0; round < kBarrierRounds; ++round) {
    if (auto refusal = draft_program(problem, schedule, draft)) return refusal;
    if (auto refusal = place(draft, kept)) return first ? first : refusal;
    if (auto refusal = add_waits(draft)) return refusal;
    auto refusal = place_barriers(draft);
    if (!refusal) return std::nullopt;
    if (!first) first = refusal;
    Amount bytes = 0;
    for (const Event& event : draft.program.events) bytes += kBarrierBytes * event.phases;
    if (bytes <= kept) break;
    kept = bytes;
  }
  return first;
}

std::variant<Program, Refusal> derive(const Problem& problem, const Schedule& schedule,
                                      const DeriveOptions& options) {
  if (const auto broken = verify(problem, schedule))
    return Refusal{"schedule", "it breaks a rule: " + broken->rule + ": " + broken->text};
  if (!problem.inner_loops.empty())
    return Refusal{"inner loop", "programs of nested loops are not made yet (inner loop " +
                                     problem.inner_loops.front().name + ")"};
  Draft draft;
  draft.turns = options.turns == Turns::all;
  draft.merge = options.merge;
  if (auto refusal = derive_draft(problem, schedule, draft)) return *refusal;
  if (options.turns == Turns::needed)
    if (auto refusal = add_needed_turns(problem, schedule, draft)) return *refusal;
  return std::move(draft.program);
}

}  // namespace twill::program
