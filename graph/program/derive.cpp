#include "graph/program/derive.hpp"

#include <utility>

#include "graph/program/barriers.hpp"
#include "graph/program/placement.hpp"
#include "graph/program/storages.hpp"
#include "graph/program/turns.hpp"
#include "graph/program/waits.hpp"
#include "graph/verify.hpp"

namespace twill::program {

std::optional<Refusal> derive_draft(const Problem& problem, const Schedule& schedule,
                                    Draft& draft) {
  if (auto refusal = draft_program(problem, schedule, draft)) return refusal;
  if (auto refusal = place(draft)) return refusal;
  if (auto refusal = add_waits(draft)) return refusal;
  return place_barriers(draft);
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
