// Schedule files (twill.schedule, version 1): strict reading, canonical writing.
#pragma once

#include <string>
#include <string_view>

#include "graph/error.hpp"
#include "graph/problem.hpp"
#include "graph/schedule.hpp"

namespace twill {

/// Parses a schedule for `problem`. Op and slot names are resolved against it: a dangling name, an
/// op that is missing or listed twice is refused. Whether the schedule is valid is verify()'s
/// question, not this function's; `problem_sha256` is read, not compared.
Solution parse_schedule(const Problem& problem, std::string_view text,
                        const std::string& source = "schedule");

Solution read_schedule(const Problem& problem, const std::string& path);

/// The canonical text, in the format's key order. The `solver` object is written last.
std::string schedule_text(const Problem& problem, const Solution& solution);

}  // namespace twill
