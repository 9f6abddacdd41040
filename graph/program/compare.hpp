// Does a program say what a schedule says? Shares no code with derive().
#pragma once

#include <optional>

#include "graph/problem.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/program.hpp"
#include "graph/schedule.hpp"

namespace twill::program {

/// The first thing that the program says otherwise, or leaves out: slots, memories and I; every op
/// that is code on its slot and stage, in the order of the rows; every result that is used, by the
/// op, distance and size of the problem; that no op is said to end sooner, to be queued or to write
/// over an operand where the problem does not let it (derive.hpp). Whether the program is right is
/// judge()'s question. `schedule` must be one of `problem` (verify()).
std::optional<Fault> compare(const Program& program, const Problem& problem,
                             const Schedule& schedule);

}  // namespace twill::program
