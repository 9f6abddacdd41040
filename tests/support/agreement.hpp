// solve() against the exhaustive search, on one problem.
#pragma once

#include <string>

#include "engine/include/twill.hpp"
#include "graph/problem.hpp"

namespace twill::test {

/// The best schedule with at most `stage_limit` stages (0 = any number) by exhaustive search:
/// smallest I, then smallest L. Complete: all I up to serial_ii() and all stages up to
/// stage_bound() are tried. nullopt = there is none at any I.
std::optional<Schedule> exhaustive(const Problem& problem, Cycle stage_limit = 0);

/// The same at one I.
std::optional<Schedule> exhaustive_at(const Problem& problem, Cycle ii, Cycle stage_limit = 0);

/// Solves with `options` (stages = "complete" or a number; with or without ii) and says what is
/// wrong with the answer: an exception, a wrong status, I, L or bound, a schedule that verify() or
/// the modulo arithmetic of brute_force.hpp refuses, no conflict where there is no schedule. Empty
/// = it agrees with `expected`.
std::string disagreement(const Problem& problem, const Options& options,
                         const std::optional<Schedule>& expected);
/// The same against exhaustive().
std::string disagreement(const Problem& problem, const Options& options);

/// For a test's failure message: the problem shrunk while it disagrees, and how. An empty string if
/// it agrees.
std::string shrunk_disagreement(const Problem& problem, const Options& options);

}  // namespace twill::test
