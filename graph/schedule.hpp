// A schedule and the record of how it was found: what solve() returns, what a schedule file holds
// and what verify() judges. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/problem.hpp"

namespace twill {

/// A modulo schedule with a slot for each op: op v of iteration i is issued at start[v] + i * I on
/// slot warp[v]. `length` is L = the smallest T with start[v] + cycles(v) <= T for all v, so a
/// zero-cycle op may start at L itself.
struct Schedule {
  Cycle initiation_interval = 0;
  Cycle length = 0;
  std::vector<Cycle> start;  ///< per op, >= 0
  std::vector<int> warp;     ///< per op, index into Problem::warps
  bool operator==(const Schedule&) const = default;
};

/// max over v of start[v] + cycles(v).
Cycle schedule_length(const Problem& problem, const std::vector<Cycle>& start);

/// Number of stages, 1 + max floor(start / I).
Cycle stage_count(const Schedule& schedule);

enum class Status {
  optimal,     ///< smallest I and, at that I, smallest L, within the search that was asked for
  feasible,    ///< stopped early: the lower bounds say how far from optimal
  infeasible,  ///< no schedule at any I (or at the I asked for); `conflict` says what clashes
  unknown,     ///< stopped before any schedule was found
};
const char* to_string(Status status);

/// One secondary goal with its value and proved lower bound.
struct Goal {
  std::string name;
  std::int64_t value = 0;
  std::int64_t lower_bound = 0;
};

class Evidence;  // engine/certificate/evidence.hpp

/// Everything a schedule file records. `schedule` is absent for infeasible and unknown.
struct Solution {
  std::string problem;         ///< name
  std::string problem_sha256;  ///< of the problem file's bytes
  Status status = Status::unknown;
  std::optional<Schedule> schedule;
  Cycle ii_lower_bound = 0;      ///< proved: no schedule has a smaller I
  Cycle length_lower_bound = 0;  ///< proved: at this I none is shorter; 0 = nothing proved
  std::string stages;            ///< the search that was run: "complete", "paper" or a number
  Cycle max_stages = 0;          ///< largest stage count that was tried
  std::vector<std::string> conflict;
  std::map<std::string, std::int64_t> ring_depths;  ///< per streaming op
  std::vector<Goal> goals;
  std::string engine;
  std::vector<std::pair<std::string, std::string>> options;
  // Informative, not reproducible:
  double seconds = 0;
  std::int64_t conflicts = 0;
  std::string
      stopped_by;  ///< the limit that ended the search early, or ""; among the file's options
  // Not in the file:
  std::int64_t variables = 0, clauses = 0;   ///< of the largest formula
  std::shared_ptr<const Evidence> evidence;  ///< refutations with proofs, where they were asked for
};

}  // namespace twill
