#include "graph/program/turns.hpp"

#include <utility>
#include <vector>

#include "graph/index.hpp"
#include "graph/program/time.hpp"

namespace twill::program {
namespace {

constexpr int kIterations = 64;

/// Does it keep up with the schedule when units serve whoever comes first?
bool keeps_up(const Problem& problem, const Schedule& schedule, const Program& program) {
  const Clock clock(program, problem, schedule, kIterations, UnitOrder::arrival);
  const TimedRun run = clock.run({});
  const Cycle ii = schedule.initiation_interval;
  if (const auto steady = steady_state(run, stage_count(program)))
    return steady->clocks <= ii * steady->every;
  return run.end[kIterations - 1] - run.end[kIterations / 2] <= ii * (kIterations / 2 - 1);
}

std::vector<std::pair<int, int>> turns_of(const Program& program) {
  std::vector<std::pair<int, int>> all;
  for (const Wait& wait : program.waits)
    if (wait.need == Need::turn)
      for (const int op : ops_of(program.events[at(wait.event)])) all.emplace_back(op, wait.before);
  return all;
}

}  // namespace

std::optional<Refusal> add_needed_turns(const Problem& problem, const Schedule& schedule,
                                        Draft& draft) {
  if (keeps_up(problem, schedule, draft.program)) return std::nullopt;
  Draft with;
  with.turns = true;
  with.merge = draft.merge;
  if (auto refusal = derive_draft(problem, schedule, with)) return refusal;
  if (keeps_up(problem, schedule, with.program))
    for (const auto& turn : turns_of(with.program)) {
      Draft fewer;
      fewer.turns = true;
      fewer.merge = draft.merge;
      fewer.needless_turns = with.needless_turns;
      fewer.needless_turns.insert(turn);
      if (!derive_draft(problem, schedule, fewer) && keeps_up(problem, schedule, fewer.program) &&
          turns_of(fewer.program).size() < turns_of(with.program).size())
        with = std::move(fewer);
    }
  draft = std::move(with);
  return std::nullopt;
}

}  // namespace twill::program
