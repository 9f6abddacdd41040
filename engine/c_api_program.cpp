// The C interface of programs.
#include "engine/c_api.hpp"
#include "engine/include/twill_emit.hpp"
#include "graph/restriction.hpp"

using namespace twill::c_api;
namespace program = twill::program;

namespace {

constexpr int kMostIterations = 1'000;
constexpr std::uint64_t kRandomOrders = 3;
constexpr double kMostNumbers = 5e7;  // in the tiles of all tensors, 400 MB

program::Program& program_in(twill_program* handle) {
  if (!handle->program) refuse("program", "none", "must hold a program");
  return *handle->program;
}

std::string fault_text(const program::Fault& fault) {
  return fault.rule + ": " + fault.text;
}

/// The program of a schedule, judged, in the handle; or why there is none.
twill_result take(twill_program& handle, const twill::Problem& problem,
                  const twill::ProgramSolution& made) {
  if (const auto* no = std::get_if<program::Refusal>(&made.program)) {
    handle.error = no->rule + ": " + no->text;
    return TWILL_REFUSED;
  }
  program::Program one = std::get<program::Program>(made.program);
  auto fault = program::judge(one);
  if (!fault) fault = program::compare(one, problem, *made.solution.schedule);
  if (fault) {
    handle.error = "what was derived is refused by the judge: " + fault_text(*fault);
    return fault->rule == "window" ? TWILL_REFUSED : TWILL_INTERNAL;
  }
  one.problem_sha256 = made.solution.problem_sha256;
  one.status = twill::to_string(made.solution.status);
  one.ii_lower_bound = made.solution.ii_lower_bound;
  one.placed = made.placed;
  one.searched_only = twill::restriction_of(made.solution);
  set(handle, std::move(one));
  return TWILL_OK;
}

program::TimeQuestion question_of(const twill_program* handle, const twill_time* given) {
  twill_time known;
  twill_time_init(&known);
  if (given != nullptr) {
    if (given->size < sizeof(given->size))
      refuse("time.size", "too small", "must be set by twill_time_init");
    std::memcpy(&known, given, std::min(given->size, sizeof(known)));
  }
  program::TimeQuestion question;
  question.iterations = known.iterations;
  const twill::BarrierCosts machine =
      handle == nullptr ? twill::BarrierCosts{} : handle->barriers.value_or(twill::BarrierCosts{});
  question.costs = {known.wait_cost == -1 ? machine.wait : known.wait_cost,
                    known.arrive_cost == -1 ? machine.arrive : known.arrive_cost};
  if (handle != nullptr && known.no_contention == 0) question.contention = handle->contention;
  question.variation = {known.spread, known.load_spread, known.vary_ops == 0, known.runs,
                        known.seed};
  return question;
}

struct Timed {
  const twill::Problem& problem;
  std::vector<program::TimedOrder> orders;
};

Timed timed(const twill_program* handle, const twill_problem* problem,
            const twill_solution* solution, const program::TimeQuestion& question) {
  if (handle == nullptr || !handle->program) refuse("program", "none", "must hold a program");
  const twill::Problem& loop = problem_in(problem);
  const twill::Schedule& schedule = schedule_of(loop, solution);
  if (const auto fault = program::compare(*handle->program, loop, schedule))
    refuse("program", fault_text(*fault).c_str(), "must be of this schedule");
  return {loop, program::time_program(*handle->program, loop, schedule, question)};
}

/// As make(), for calls that may refuse.
template <typename Body>
twill_result make_program(twill_program** out, const Body& body) noexcept {
  if (out == nullptr) return TWILL_BAD_INPUT;
  *out = new (std::nothrow) twill_program;
  if (*out == nullptr) return TWILL_NO_MEMORY;
  // guarded() clears the error first: what `body` says stays.
  return guarded((*out)->error, [&] { return body(**out); });
}

}  // namespace

extern "C" {

twill_result twill_program_derive(const twill_problem* problem, const twill_solution* solution,
                                  twill_program** out) {
  return make_program(out, [&](twill_program& handle) {
    const twill::Problem& loop = problem_in(problem);
    const twill::Schedule* schedule = schedule_in(solution);
    if (schedule == nullptr) refuse("solution", "no schedule", "must hold a schedule");
    if (schedule->start.size() != loop.ops.size() ||
        solution->solution->problem_sha256 != twill::sha256(twill::problem_text(loop)))
      refuse("solution", "another problem's", "must be of this problem");
    return take(handle, loop,
                {*solution->solution, program::derive(loop, *schedule), false, 0, std::string()});
  });
}

twill_result twill_program_kernel(const char* kernel, const char* machine,
                                  const twill_options* options, twill_program** out) {
  return make_program(out, [&](twill_program& handle) {
    const twill_options known = known_part(options);
    const CancelWatch watch(known.cancel);
    std::mutex mutex;
    twill::LowerOptions how;
    how.reading = reading_of(known.reading);
    if (kernel == nullptr || machine == nullptr) refuse("kernel, machine", "NULL", "must be given");
    twill::ProgramOptions asked;
    asked.search = options_of(known);
    asked.progress = callback_of(known, mutex);
    const twill::ProgramResult best =
        twill::best_program(twill::program_source(kernel, machine, how), asked, watch.token());
    handle.error = best.why;
    if (!best.made) return best.missing == twill::Missing::defect ? TWILL_INTERNAL : TWILL_REFUSED;
    set(handle, best.made->program);
    handle.barriers = best.made->barriers;
    handle.contention = best.made->contention;
    return TWILL_OK;
  });
}

twill_result twill_program_parse(const char* text, size_t length, twill_program** out) {
  return make(out, [&](twill_program& handle) {
    if (text == nullptr) refuse("text", "NULL", "must be given");
    set(handle, program::parse_program(std::string_view(text, length)));
  });
}

twill_result twill_program_judge(twill_program* handle) {
  if (handle == nullptr) return TWILL_BAD_INPUT;
  return guarded(handle->error, [&] {
    const auto fault = program::judge(program_in(handle));
    if (!fault) return TWILL_OK;
    handle->error = fault_text(*fault);
    return TWILL_REFUSED;
  });
}

twill_result twill_program_run(twill_program* handle, int iterations, uint64_t seed,
                               double* largest_share) {
  if (largest_share != nullptr) *largest_share = 0;
  if (handle == nullptr) return TWILL_BAD_INPUT;
  return guarded(handle->error, [&] {
    const program::Program& one = program_in(handle);
    if (!one.meaning) refuse("program", "no meaning", "must say what its ops compute");
    if (iterations < 0 || iterations > kMostIterations)
      refuse("iterations", std::to_string(iterations).c_str(), "must be from 0 to 1000");
    const twill::meaning::Meaning& meaning = *one.meaning;
    double numbers = 0;
    for (std::size_t t = 0; t < meaning.tensors.size(); ++t) {
      double tile = meaning.streams(static_cast<int>(t)) ? iterations : 1;
      for (const std::int64_t extent : meaning.tensors[t].shape)
        tile *= static_cast<double>(extent);
      numbers += tile;
    }
    if (numbers > kMostNumbers)
      refuse("iterations", std::to_string(iterations).c_str(),
             "its tensors have more than 50000000 numbers in so many");
    const auto inputs = twill::meaning::seeded_inputs(meaning, iterations, seed);
    const auto right = twill::meaning::reference(meaning, iterations, inputs);
    std::vector<program::Course> courses = {{program::Pace::late, seed, {}},
                                            {program::Pace::eager, seed, {}}};
    for (std::uint64_t k = 0; k < kRandomOrders; ++k)
      courses.push_back({program::Pace::random, seed + k, {}});
    for (const program::Course& course : courses) {
      const program::Execution run = program::execute(one, iterations, inputs, course);
      if (!run.fault.empty()) {
        handle->error = run.fault + ": " + run.text;
        return TWILL_REFUSED;
      }
      for (const auto& compared : twill::meaning::compare_with(meaning, right, run.outputs)) {
        if (largest_share != nullptr)
          *largest_share = std::max(*largest_share, compared.largest_share);
        if (compared.wrong == 0) continue;
        handle->error = compared.tensor + ": " + std::to_string(compared.wrong) + " of " +
                        std::to_string(compared.compared) + " numbers are wrong";
        return TWILL_REFUSED;
      }
    }
    return TWILL_OK;
  });
}

twill_result twill_program_compare(twill_program* handle, const twill_problem* problem,
                                   const twill_solution* solution) {
  if (handle == nullptr) return TWILL_BAD_INPUT;
  return guarded(handle->error, [&] {
    const program::Program& one = program_in(handle);
    const twill::Problem& loop = problem_in(problem);
    const auto fault = program::compare(one, loop, schedule_of(loop, solution));
    if (!fault) return TWILL_OK;
    handle->error = fault_text(*fault);
    return TWILL_REFUSED;
  });
}

void twill_time_init(twill_time* time) {
  if (time == nullptr) return;
  *time = twill_time{};
  time->size = sizeof(twill_time);
  const program::TimeQuestion defaults;
  time->iterations = defaults.iterations;
  time->wait_cost = time->arrive_cost = -1;
  time->spread = defaults.variation.spread;
  time->load_spread = defaults.variation.load_spread;
}

twill_result twill_program_time(const twill_program* handle, const twill_problem* problem,
                                const twill_solution* solution, const twill_time* time,
                                twill_report** report) {
  return make(report, [&](twill_report& made) {
    const program::TimeQuestion question = question_of(handle, time);
    const Timed all = timed(handle, problem, solution, question);
    made.text = program::time_json(*handle->program, *problem->problem,
                                   *solution->solution->schedule, question, all.orders);
  });
}

twill_result twill_program_trace(const twill_program* handle, const twill_problem* problem,
                                 const twill_solution* solution, const twill_time* time,
                                 const char* order, twill_report** report) {
  return make(report, [&](twill_report& made) {
    const std::string_view wanted = order == nullptr ? "" : order;
    if (wanted != "arrival" && wanted != "schedule")
      refuse("order", order == nullptr ? "NULL" : order, "must be arrival or schedule");
    program::TimeQuestion question = question_of(handle, time);
    question.variation.runs = 0;
    const Timed all = timed(handle, problem, solution, question);
    for (const program::TimedOrder& one : all.orders)
      if ((one.order == program::UnitOrder::schedules) == (wanted == "schedule"))
        made.text =
            program::time_trace(*handle->program, all.problem, *solution->solution, one.run);
  });
}

int64_t twill_program_ii(const twill_program* handle) {
  return handle != nullptr && handle->program ? handle->program->initiation_interval : 0;
}

int twill_program_executable(const twill_program* handle) {
  return handle != nullptr && handle->program && handle->program->meaning ? 1 : 0;
}

const char* twill_program_json(const twill_program* handle) {
  return handle != nullptr ? handle->json.c_str() : "";
}

const char* twill_program_text(const twill_program* handle) {
  return handle != nullptr ? handle->text.c_str() : "";
}

const char* twill_program_error(const twill_program* handle) {
  return handle != nullptr ? handle->error.c_str() : "";
}

void twill_program_free(twill_program* handle) {
  delete handle;
}

}  // extern "C"
