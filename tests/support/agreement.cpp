#include "tests/support/agreement.hpp"

#include <algorithm>
#include <exception>

#include "graph/bounds/channel_bounds.hpp"
#include "graph/bounds/serial.hpp"
#include "graph/bounds/stage_bound.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/shrink.hpp"

namespace twill::test {
namespace {

std::string numbers(const std::optional<Schedule>& schedule) {
  if (!schedule) return "none";
  return "I = " + std::to_string(schedule->initiation_interval) +
         ", L = " + std::to_string(schedule->length);
}

Cycle limit_of(const Options& options) {
  return options.stages == "complete" ? 0 : std::stoll(options.stages);
}

std::optional<Schedule> expectation(const Problem& problem, const Options& options) {
  const Cycle limit = limit_of(options);
  return options.ii ? exhaustive_at(problem, *options.ii, limit) : exhaustive(problem, limit);
}

}  // namespace

std::optional<Schedule> exhaustive_at(const Problem& problem, Cycle ii, Cycle stage_limit) {
  Cycle stages = stage_bound(problem, ii);
  if (stage_limit > 0) stages = std::min(stages, stage_limit);
  return brute_force_at(problem, ii, stages);
}

std::optional<Schedule> exhaustive(const Problem& problem, Cycle stage_limit) {
  const Cycle last = std::max(serial_ii(problem), least_by_channels(problem));
  for (Cycle ii = 1; ii <= last; ++ii)
    if (auto schedule = exhaustive_at(problem, ii, stage_limit)) return schedule;
  return std::nullopt;
}

std::string disagreement(const Problem& problem, const Options& options,
                         const std::optional<Schedule>& expected) {
  Solution solution;
  try {
    solution = solve(problem, options);
  } catch (const std::exception& error) {
    return std::string("solve() threw: ") + error.what();
  }
  const auto& found = solution.schedule;
  const std::string wrong = "solve(): " + std::string(to_string(solution.status)) + ", " +
                            numbers(found) + "; exhaustive search: " + numbers(expected) + "; ";
  if (solution.status != (expected ? Status::optimal : Status::infeasible)) return wrong + "status";
  if (found.has_value() != expected.has_value()) return wrong + "schedule";
  if (!found) return solution.conflict.empty() ? wrong + "no conflict named" : "";
  if (found->initiation_interval != expected->initiation_interval) return wrong + "I";
  if (found->length != expected->length) return wrong + "L";
  if (const auto violation = verify(problem, *found)) return wrong + violation->text;
  if (const auto rule = broken_rule(problem, *found)) return wrong + *rule;
  // Of an interval that was asked for, nothing but the bound is known of smaller ones.
  if (options.ii ? solution.ii_lower_bound > found->initiation_interval
                 : solution.ii_lower_bound != found->initiation_interval)
    return wrong + "lower bound of I";
  if (solution.length_lower_bound != found->length) return wrong + "lower bound of L";
  const Cycle limit = limit_of(options);
  if (limit > 0 && stage_count(*found) > limit) return wrong + "stages";
  return "";
}

std::string disagreement(const Problem& problem, const Options& options) {
  return disagreement(problem, options, expectation(problem, options));
}

std::string shrunk_disagreement(const Problem& problem, const Options& options) {
  const std::string first = disagreement(problem, options);
  if (first.empty()) return "";
  const Problem small =
      shrink(problem, [&](const Problem& p) { return !disagreement(p, options).empty(); });
  return first + "\nshrunk: " + disagreement(small, options) + "\n" + problem_text(small);
}

}  // namespace twill::test
