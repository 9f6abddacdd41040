// Output phase: the independent judge of a schedule. Shares no code with the encoders.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// The first rule that a schedule breaks, with the arithmetic written out.
struct Violation {
  /// "shape", "initiation interval", "start", "length", "warp uniqueness", "variable latency",
  /// "dependence", "cross-warp spill", "channel", "capacity", "memory", "registers" or
  /// "concurrency"; also the order in which the rules are judged (the two of an edge together).
  std::string rule;
  /// Op v in iteration i is written v[i]: "registers of softmax0 at cycle 37: s0_exp_p[2] 128 +
  /// s0_exp_p[3] 128 = 256 > 168". The cycle is the first in which the rule is broken; charged
  /// rings that alone are too much are so "in every cycle".
  std::string text;
};

/// Replays the schedule on a straight-line unrolling of N + max distance + ceil(max hold / I) + 2
/// iterations, N = max(ceil(L / I), number of stages) (two iterations more than what makes the
/// straight-line form exact; graph/replay.hpp has the proof), and checks every rule of the model in
/// every cycle. Values whose last use lies in an iteration beyond the unrolling stay live until
/// then. nullopt = accepted. `problem` must pass check(); of `schedule` nothing is assumed.
std::optional<Violation> verify(const Problem& problem, const Schedule& schedule);

/// All that is wrong, in the order of the rules: of ops, pins and edges each one, of units,
/// memories and slots the first of each, of channels the first, kMostViolations at most. A schedule
/// of the wrong shape, or with an op on no slot, has that alone; one with a wrong L is judged on
/// with the right one. Empty = accepted; the first is verify()'s.
inline constexpr std::size_t kMostViolations = 1'000;
std::vector<Violation> verify_all(const Problem& problem, const Schedule& schedule);

/// Rule 9 alone, which is about I: does more pass through some channel in an iteration than in `ii`
/// cycles can? `problem` must pass check(), and ii be in [1, kMaxInterval].
std::optional<Violation> verify_channels(const Problem& problem, Cycle ii);

}  // namespace twill
