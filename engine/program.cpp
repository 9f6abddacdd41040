#include "engine/program.hpp"

#include <algorithm>
#include <utility>

#include "graph/index.hpp"

namespace twill {
namespace {

constexpr int kMostSearches = 6;
constexpr Amount kShare = 16;  // of a memory, kept back where only the places do not fit

}  // namespace

ProgramSolution solve_program(const Problem& problem, const Solution& found, const Options& options,
                              std::stop_token stop) {
  ProgramSolution first{found, program::derive(problem, *found.schedule), 0, ""};
  const auto* refusal = std::get_if<program::Refusal>(&first.program);
  std::vector<Amount> reserved(problem.memories.size(), 0);
  program::Refusal last = refusal == nullptr ? program::Refusal{} : *refusal;
  for (int search = 0; search < kMostSearches && last.rule == "placement" && last.memory >= 0;
       ++search) {
    const Amount capacity = problem.memories[at(last.memory)].capacity;
    Amount& keep = reserved[at(last.memory)];
    const Amount more = keep == 0 ? last.hand_over : last.lacking;
    keep += more > 0 ? std::min(more, std::max(last.hand_over, capacity / 4))
                     : std::max<Amount>(capacity / kShare, 1);
    if (keep >= capacity || stop.stop_requested()) break;
    Problem smaller = problem;
    for (std::size_t m = 0; m < reserved.size(); ++m) smaller.memories[m].capacity -= reserved[m];
    const Solution again = solve(smaller, options, stop);
    if (!again.schedule) break;
    auto made = program::derive(problem, *again.schedule);
    if (const auto* no = std::get_if<program::Refusal>(&made)) {
      last = *no;
      continue;
    }
    ProgramSolution result{found, std::move(made), keep, problem.memories[at(last.memory)].name};
    const Schedule &before = *found.schedule, &now = *again.schedule;
    if (before.initiation_interval != now.initiation_interval || before.length != now.length)
      result.solution.status = Status::feasible;
    if (before.initiation_interval != now.initiation_interval)
      result.solution.length_lower_bound = 0;
    result.solution.schedule = now;
    result.solution.ring_depths = again.ring_depths;
    result.solution.goals.clear();
    result.solution.whole_time.reset();
    return result;
  }
  return first;
}

}  // namespace twill
