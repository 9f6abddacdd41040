#include "graph/program/derive.hpp"

#include <utility>

#include "graph/program/barriers.hpp"
#include "graph/program/placement.hpp"
#include "graph/program/storages.hpp"
#include "graph/program/waits.hpp"
#include "graph/verify.hpp"

namespace twill::program {

std::variant<Program, Refusal> derive(const Problem& problem, const Schedule& schedule,
                                      const DeriveOptions& options) {
  if (const auto broken = verify(problem, schedule))
    return Refusal{"schedule", "it breaks a rule: " + broken->rule + ": " + broken->text};
  if (!problem.inner_loops.empty())
    return Refusal{"inner loop", "programs of nested loops are not made yet (inner loop " +
                                     problem.inner_loops.front().name + ")"};
  Draft draft;
  draft.turns = options.turns;
  if (auto refusal = draft_program(problem, schedule, draft)) return *refusal;
  if (auto refusal = place(draft)) return *refusal;
  if (auto refusal = add_waits(draft)) return *refusal;
  if (auto refusal = place_barriers(draft)) return *refusal;
  return std::move(draft.program);
}

}  // namespace twill::program
