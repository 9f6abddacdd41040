// The oracle of the tests: every schedule of a tiny problem is tried.
#pragma once

#include <optional>
#include <string>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill::test {

/// The rules of the model as arithmetic modulo I, on residues in [0, I) and copy counts; shares
/// nothing with verify(), which replays iterations, nor with the encoders. Returns the name of a
/// broken rule in verify()'s naming and order, nullopt when all hold. For checked problems and
/// I up to some thousands.
std::optional<std::string> broken_rule(const Problem& problem, const Schedule& schedule);

/// The schedule with the smallest length at initiation interval I >= 1 with starts in
/// [0, max_stages * I), or nullopt when none exists. Exhaustive: meant for 2 to 5 ops.
///
/// Only schedules whose smallest start is 0 are tried. Every rule compares times with each other,
/// never with a fixed cycle, so shifting all starts by the same amount keeps a schedule valid, and
/// the shortest schedules are among those. With pins all are tried.
std::optional<Schedule> brute_force_at(const Problem& problem, Cycle initiation_interval,
                                       Cycle max_stages);

/// The same at the smallest I in [1, max_interval] that has a schedule.
std::optional<Schedule> brute_force(const Problem& problem, Cycle max_interval, Cycle max_stages);

}  // namespace twill::test
