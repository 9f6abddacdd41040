// The C interface to "why": explanations, evaluations, sensitivities and differences as JSON.
#include "engine/c_api.hpp"
#include "engine/include/twill_explain.hpp"
#include "engine/include/twill_picture.hpp"
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
