// The C interface to "why": explanations, evaluations, sensitivities and differences as JSON.
#include "engine/c_api_input.hpp"
#include "engine/include/twill_explain.hpp"
#include "engine/include/twill_picture.hpp"
#include "engine/include/twill_ranges.hpp"
#include "engine/output/style.hpp"

using namespace twill::c_api;

namespace {

const twill::Schedule& accepted(const twill::Problem& problem, const twill_solution* solution) {
  const twill::Schedule& schedule = schedule_of(problem, solution);
  if (const auto violation = twill::verify(problem, schedule))
    refuse("solution", violation->text.c_str(), "must be a schedule that verify accepts");
  return schedule;
}

/// As make(), for calls that may refuse: they fill the error and return false.
template <typename Body>
twill_result make_or_refuse(twill_report** report, const Body& body) noexcept {
  bool done = false;
  const twill_result result = make(report, [&](twill_report& handle) { done = body(handle); });
  return result == TWILL_OK && !done ? TWILL_REFUSED : result;
}

/// The best over all layouts at the worst ends of the machine's ranges, and what these mean for it.
twill::LayoutsSolution weighed(const twill_workload& workload, const twill_options& known,
                               std::string& report) {
  std::vector<twill::CostRange> ranges = ranges_of(workload);
  if (ranges.empty()) refuse("workload.machine", "no ranges", "must give a cost as a range");
  if (workload.normalize > 0)
    refuse("workload.normalize", std::to_string(workload.normalize).c_str(),
           "intervals of differently normalised costs cannot be compared: must be 0");
  const CancelWatch watch(known.cancel);
  std::mutex mutex;
  const twill::Options search = options_of(known);
  const auto begin = std::chrono::steady_clock::now();
  twill::LayoutsSolution worst =
      twill::solve_layouts(layouts_of(workload), search, watch.token(), callback_of(known, mutex));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  report = twill::ranges_json(
      twill::weigh_ranges(
          std::move(ranges), worst,
          [&](const twill::RangeEnds& ends) { return layouts_of(workload, ends); },
          twill::limits_after(search, worst, seconds.count()), watch.token(),
          twill::search_ended(worst)),
      worst);
  return worst;
}

/// Is it explained? Else the error says why there is nothing. `directory` may be NULL.
bool explained(const twill_problem* problem, int64_t ii, const twill_options* options,
               const char* directory, twill_report& handle) {
  const twill::Problem& loop = problem_in(problem);
  if (ii < 0) refuse("ii", "a negative number", "must be 0 or an interval");
  const twill_options known = known_part(options);
  const CancelWatch watch(known.cancel);
  std::mutex mutex;
  twill::Options search = options_of(known);
  search.evidence = false;
  twill::Cycle asked = ii;
  if (ii == 0) {
    twill::Options best_of = search;
    best_of.explain = false;
    const twill::Solution best =
        twill::solve(loop, best_of, watch.token(), callback_of(known, mutex));
    const auto left = twill::interval_to_explain(best);
    if (!left) {
      handle.error = best.status == twill::Status::optimal
                         ? "nothing to explain: I = 1 is reached"
                         : "the smallest I was not proved: " + twill::stop_text(best);
      return false;
    }
    asked = *left;
  }
  search.evidence = directory != nullptr;
  const auto explanation = twill::explain_interval(loop, asked, search, watch.token());
  if (directory != nullptr) twill::write_explanation(directory, loop, explanation);
  handle.text = twill::explanation_json(loop, explanation, directory != nullptr);
  if (explanation.verdict() == twill::Verdict::sat)
    handle.error = "nothing to explain: the interval can be reached";
  if (explanation.verdict() == twill::Verdict::unknown)
    handle.error = "not decided within the limits";
  return explanation.verdict() == twill::Verdict::unsat;
}

}  // namespace

extern "C" {

twill_result twill_explain(const twill_problem* problem, int64_t ii, const twill_options* options,
                           twill_report** report) {
  return make_or_refuse(report, [&](twill_report& handle) {
    return explained(problem, ii, options, nullptr, handle);
  });
}

twill_result twill_explain_certify(const twill_problem* problem, int64_t ii,
                                   const twill_options* options, const char* directory,
                                   twill_report** report) {
  return make_or_refuse(report, [&](twill_report& handle) {
    if (directory == nullptr) refuse("directory", "NULL", "must be given");
    return explained(problem, ii, options, directory, handle);
  });
}

twill_result twill_workload_explain(const twill_workload* workload, int64_t ii,
                                    const twill_options* options, const char* directory,
                                    twill_report** report) {
  return make(report, [&](twill_report& handle) {
    if (ii < 0) refuse("ii", "a negative number", "must be 0 or an interval");
    if (directory != nullptr) twill::require_new_directory(directory);
    const twill_options known = known_part(options);
    const CancelWatch watch(known.cancel);
    twill::Options search = options_of(known);
    search.evidence = directory != nullptr;
    const std::vector<twill::Lowered> layouts = layouts_of(known_part(workload));
    std::string text;
    for (const twill::Lowered& lowered : layouts) {
      const auto explained = twill::explain_layout(
          lowered, ii == 0 ? std::nullopt : std::optional<twill::Cycle>(ii), search, watch.token());
      text += (text.empty() ? "[" : ",\n") +
              twill::explanation_json(explained, explained.explanation && directory != nullptr);
      if (directory == nullptr || !explained.explanation) continue;
      const std::string folder =
          layouts.size() > 1 ? directory + ("/" + lowered.layout) : std::string(directory);
      twill::write_explanation(folder, explained.problem, *explained.explanation);
    }
    handle.text = text + "]\n";
  });
}

twill_result twill_workload_ranges(const twill_workload* workload, const twill_options* options,
                                   twill_problem** problem, twill_solution** solution,
                                   twill_report** report) {
  if (problem != nullptr) *problem = nullptr;
  if (solution != nullptr) *solution = nullptr;
  std::optional<twill::LayoutsSolution> worst;
  const twill_result made = make(report, [&](twill_report& handle) {
    worst = weighed(known_part(workload), known_part(options), handle.text);
  });
  if (made != TWILL_OK) return made;
  if (problem != nullptr) {
    const twill_result one = make(problem, [&](twill_problem& h) { set(h, worst->layout()); });
    if (one != TWILL_OK) return one;
  }
  if (solution == nullptr) return TWILL_OK;
  return make(solution, [&](twill_solution& handle) {
    twill::Solution chosen = worst->solution();
    chosen.status = worst->status;
    set(handle, worst->layout().problem, std::move(chosen));
  });
}

twill_result twill_evaluate(const twill_problem* problem, const twill_solution* solution,
                            twill_report** report) {
  return make(report, [&](twill_report& handle) {
    const twill::Problem& loop = problem_in(problem);
    handle.text = twill::evaluation_json(twill::evaluate(loop, schedule_of(loop, solution)));
  });
}

twill_result twill_sensitivity(const twill_problem* problem, const twill_solution* solution,
                               const twill_options* options, twill_report** report) {
  return make(report, [&](twill_report& handle) {
    const twill::Problem& loop = problem_in(problem);
    const twill::Schedule& schedule = accepted(loop, solution);
    if (solution->solution->status != twill::Status::optimal)
      refuse("solution", twill::to_string(solution->solution->status),
             "must be optimal: its I the smallest");
    const twill_options known = known_part(options);
    const CancelWatch watch(known.cancel);
    handle.text = twill::sensitivity_json(
        loop, twill::sensitivity(loop, schedule, options_of(known), watch.token()));
  });
}

twill_result twill_diff(const twill_problem* problem, const twill_solution* a,
                        const twill_solution* b, twill_report** report) {
  return make(report, [&](twill_report& handle) {
    const twill::Problem& loop = problem_in(problem);
    const twill::Schedule& first = accepted(loop, a);
    const twill::Schedule& second = accepted(loop, b);
    handle.text = twill::difference_json(loop, first, second,
                                         twill::schedule_difference(loop, first, second));
  });
}

twill_result twill_diff_page(const twill_problem* problem, const twill_solution* a,
                             const twill_solution* b, const char* name_a, const char* name_b,
                             twill_report** report) {
  return make(report, [&](twill_report& handle) {
    const twill::Problem& loop = problem_in(problem);
    accepted(loop, a);
    accepted(loop, b);
    if (name_a == nullptr || name_b == nullptr) refuse("name_a, name_b", "NULL", "must be given");
    handle.text = twill::difference_page(loop, *a->solution, *b->solution, name_a, name_b);
  });
}

}  // extern "C"
