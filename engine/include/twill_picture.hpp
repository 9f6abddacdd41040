// Twill's pictures for C++: a schedule to look at. Beside twill.hpp, which it includes.
//
//   std::ofstream("loop.html") << twill::picture(problem, solution, "html");
#pragma once

#include <string>
#include <string_view>

#include "twill.hpp"

namespace twill {

/// What `twill show --format` prints: "text" (100 columns, no colours), "html" (a page of its own),
/// "svg", "dot" or "trace" (for chrome://tracing and Perfetto; a cycle is a microsecond there).
/// Without a schedule: why there is none. `solution` must be of this problem. Throws InputError for
/// another format.
std::string picture(const Problem& problem, const Solution& solution, std::string_view format);

/// What `twill diff --format html` prints: two schedules of a problem on one page, to one scale,
/// under these names. Throws InputError where one is missing or refused by verify().
std::string difference_page(const Problem& problem, const Solution& a, const Solution& b,
                            const std::string& name_a, const std::string& name_b);

}  // namespace twill
