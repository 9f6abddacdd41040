// Pictures for callers of the library.
#include "engine/include/twill_picture.hpp"

#include "engine/output/dot.hpp"
#include "engine/output/html.hpp"
#include "engine/output/svg.hpp"
#include "engine/output/text.hpp"
#include "engine/output/trace.hpp"

namespace twill {
namespace {

void refuse_others(const Problem& problem, const Solution& solution) {
  if (solution.schedule && solution.schedule->start.size() != problem.ops.size())
    throw InputError("call", "solution", "another number of ops", "must be of this problem");
}

void refuse_unaccepted(const Problem& problem, const Solution& solution) {
  if (!solution.schedule)
    throw InputError("call", "solution", "no schedule", "must hold a schedule");
  refuse_others(problem, solution);
  if (const auto violation = verify(problem, *solution.schedule))
    throw InputError("call", "solution", violation->text, "must be a schedule that verify accepts");
}

}  // namespace

std::string picture(const Problem& problem, const Solution& solution, std::string_view format) {
  refuse_others(problem, solution);
  if (format == "text") return text_picture(problem, solution);
  if (format == "html") return html_page(problem, solution);
  if (format == "dot") return dot_graph(problem, solution);
  if (format == "svg") return svg_picture(problem, solution);
  if (format == "trace") return trace_events(problem, solution);
  throw InputError("call", "format", std::string(format), "must be text, html, svg, dot or trace");
}

std::string difference_page(const Problem& problem, const Solution& a, const Solution& b,
                            const std::string& name_a, const std::string& name_b) {
  refuse_unaccepted(problem, a);
  refuse_unaccepted(problem, b);
  return html_diff(problem, a, b, name_a, name_b);
}

}  // namespace twill
