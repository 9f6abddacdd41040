// The C interface: handles around the C++ types, exceptions turned into results.
#include "engine/c_api.hpp"

#include <string_view>

#include "engine/include/twill_picture.hpp"

using namespace twill::c_api;

extern "C" {

const char* twill_version(void) {
  return twill::version();
}

twill_result twill_problem_parse(const char* text, size_t length, twill_problem** problem) {
  return make(problem, [&](twill_problem& handle) {
    if (text == nullptr) refuse("text", "NULL", "must be given");
    set(handle, twill::parse_problem(std::string_view(text, length)));
  });
}

twill_result twill_problem_read(const char* path, twill_problem** problem) {
  return make(problem, [&](twill_problem& handle) {
    if (path == nullptr) refuse("path", "NULL", "must be given");
    set(handle, twill::read_problem(path));
  });
}

twill_result twill_problem_lower_as(const char* kernel, const char* machine, const char* layout,
                                    int normalize, const char* reading, twill_problem** problem) {
  return make(problem, [&](twill_problem& handle) {
    set(handle, lowered(kernel, machine, layout, normalize, false, reading).front());
  });
}

twill_result twill_problem_lower(const char* kernel, const char* machine, const char* layout,
                                 int normalize, twill_problem** problem) {
  return twill_problem_lower_as(kernel, machine, layout, normalize, nullptr, problem);
}

size_t twill_problem_op_count(const twill_problem* problem) {
  return problem != nullptr && problem->problem ? problem->problem->ops.size() : 0;
}

size_t twill_problem_slot_count(const twill_problem* problem) {
  return problem != nullptr && problem->problem ? problem->problem->warps.size() : 0;
}

const char* twill_problem_op_id(const twill_problem* problem, size_t op) {
  return op < twill_problem_op_count(problem) ? problem->problem->ops[op].id.c_str() : nullptr;
}

const char* twill_problem_slot_name(const twill_problem* problem, size_t slot) {
  return slot < twill_problem_slot_count(problem) ? problem->problem->warps[slot].name.c_str()
                                                  : nullptr;
}

const char* twill_problem_json(const twill_problem* problem) {
  return problem != nullptr ? problem->json.c_str() : "";
}

const char* twill_problem_error(const twill_problem* problem) {
  return problem != nullptr ? problem->error.c_str() : "";
}

void twill_problem_free(twill_problem* problem) {
  delete problem;
}

void twill_options_init(twill_options* options) {
  if (options == nullptr) return;
  *options = twill_options{};
  options->size = sizeof(twill_options);
  options->stages = "complete";
  options->encoding = "";
  options->length_slack = -1;
}

twill_result twill_solve(const twill_problem* problem, const twill_options* options,
                         twill_solution** solution) {
  return make(solution, [&](twill_solution& handle) {
    const twill::Problem& loop = problem_in(problem);
    const twill_options known = known_part(options);
    const CancelWatch watch(known.cancel);
    std::mutex mutex;
    twill::Solution answer =
        twill::solve(loop, options_of(known), watch.token(), callback_of(known, mutex));
    twill::Lowered lowered;
    lowered.made_by = problem->made_by;
    twill::record_made_by(answer, lowered);
    set(handle, loop, std::move(answer));
  });
}

twill_result twill_solve_kernel(const char* kernel, const char* machine, int normalize,
                                int choose_registers, const twill_options* options,
                                twill_problem** problem, twill_solution** solution) {
  return solve_best(
      [&] {
        return lowered(kernel, machine, nullptr, normalize, choose_registers != 0,
                       known_part(options).reading);
      },
      options, problem, solution);
}

twill_result twill_solve_split(const char* kernel, const char* machine, const char* layout,
                               int normalize, const twill_options* options, twill_problem** problem,
                               twill_solution** solution) {
  if (solution != nullptr) *solution = nullptr;
  std::optional<twill::SplitSolution> split;
  const twill_result made = make(problem, [&](twill_problem& handle) {
    const twill::Lowered loop =
        lowered(kernel, machine, layout, normalize, true, known_part(options).reading).front();
    const twill_options known = known_part(options);
    const CancelWatch watch(known.cancel);
    std::mutex mutex;
    split = twill::solve_split(loop.problem, *loop.pool, options_of(known), watch.token(),
                               callback_of(known, mutex));
    twill::record_made_by(split->solution, loop);
    set(handle, split->problem);
  });
  if (made != TWILL_OK) return made;
  return make(solution, [&](twill_solution& handle) {
    set(handle, split->problem, std::move(split->solution));
  });
}

twill_result twill_solve_tiles(const char* kernel, const char* machine, const char* tiles,
                               int choose_registers, const twill_options* options,
                               twill_problem** problem, twill_solution** solution) {
  if (solution != nullptr) *solution = nullptr;
  twill::Problem loop;
  twill::Solution answer;
  auto tiled = std::make_shared<twill_solution::Tiles>();
  const twill_result made = make(problem, [&](twill_problem& handle) {
    const twill_options known = known_part(options);
    Inputs inputs = inputs_of(kernel, machine, known.reading);
    inputs.source.options.choose_registers = choose_registers != 0;
    inputs.source.options.values = values_of(tiles);
    std::vector<twill::TileChoice> choices =
        twill::lower_tiles(inputs.source.kernel, inputs.kernel, inputs.source.machine,
                           inputs.machine, inputs.source.options);
    const auto first = std::find_if(choices.begin(), choices.end(), [](const twill::TileChoice& c) {
      return c.lowered.has_value();
    });
    if (first == choices.end()) refuse("tiles", "no choice", "some layout must hold some choice");
    loop = first->lowered->problem;
    const CancelWatch watch(known.cancel);
    std::mutex mutex;
    tiled->source = inputs.source;
    tiled->answer = twill::solve_tiles(std::move(choices), options_of(known), watch.token(),
                                       callback_of(known, mutex));
    const twill::TilesSolution& best = tiled->answer;
    // Without a schedule what one choice says stands for all.
    for (std::size_t k = 0; k < best.choices.size(); ++k)
      if (best.chosen ? k == *best.chosen : best.outcomes[k].solution.has_value()) {
        loop = best.choices[k].lowered->problem;
        answer = *best.outcomes[k].solution;
        break;
      }
    answer.status = best.status;
    twill::set_stop(answer, best.stop);
    set(handle, loop);
  });
  if (made != TWILL_OK) return made;
  return make(solution, [&](twill_solution& handle) {
    set(handle, loop, std::move(answer));
    handle.tiles = std::move(tiled);
  });
}

twill_result twill_solution_parse(const twill_problem* problem, const char* text, size_t length,
                                  twill_solution** solution) {
  return make(solution, [&](twill_solution& handle) {
    const twill::Problem& loop = problem_in(problem);
    if (text == nullptr) refuse("text", "NULL", "must be given");
    set(handle, loop, twill::parse_schedule(loop, std::string_view(text, length)));
  });
}

twill_status twill_solution_status(const twill_solution* solution) {
  if (solution == nullptr || !solution->solution) return TWILL_UNKNOWN;
  switch (solution->solution->status) {
    case twill::Status::optimal: return TWILL_OPTIMAL;
    case twill::Status::feasible: return TWILL_FEASIBLE;
    case twill::Status::infeasible: return TWILL_INFEASIBLE;
    case twill::Status::unknown: break;
  }
  return TWILL_UNKNOWN;
}

int64_t twill_solution_ii(const twill_solution* solution) {
  const twill::Schedule* schedule = schedule_in(solution);
  return schedule != nullptr ? schedule->initiation_interval : 0;
}

int64_t twill_solution_length(const twill_solution* solution) {
  const twill::Schedule* schedule = schedule_in(solution);
  return schedule != nullptr ? schedule->length : 0;
}

int64_t twill_solution_ii_lower_bound(const twill_solution* solution) {
  return solution != nullptr && solution->solution ? solution->solution->ii_lower_bound : 0;
}

int64_t twill_solution_length_lower_bound(const twill_solution* solution) {
  return solution != nullptr && solution->solution ? solution->solution->length_lower_bound : 0;
}

int64_t twill_solution_whole_time(const twill_solution* solution) {
  const bool timed = solution != nullptr && solution->solution && solution->solution->whole_time;
  return timed ? solution->solution->whole_time->cycles : 0;
}

int64_t twill_solution_whole_time_lower_bound(const twill_solution* solution) {
  const bool timed = solution != nullptr && solution->solution && solution->solution->whole_time;
  return timed ? solution->solution->whole_time->lower_bound : 0;
}

int64_t twill_solution_start(const twill_solution* solution, size_t op) {
  const twill::Schedule* schedule = schedule_in(solution);
  return schedule != nullptr && op < schedule->start.size() ? schedule->start[op] : -1;
}

int64_t twill_solution_slot(const twill_solution* solution, size_t op) {
  const twill::Schedule* schedule = schedule_in(solution);
  return schedule != nullptr && op < schedule->warp.size() ? schedule->warp[op] : -1;
}

const char* twill_solution_json(const twill_solution* solution) {
  return solution != nullptr ? solution->json.c_str() : "";
}

twill_result twill_solution_picture(const twill_problem* problem, twill_solution* solution,
                                    const char* format, const char** text) {
  if (text == nullptr) return TWILL_BAD_INPUT;
  *text = "";
  if (solution == nullptr) return TWILL_BAD_INPUT;
  return guarded(solution->error, [&] {
    const twill::Problem& loop = problem_in(problem);
    if (!solution->solution) refuse("solution", "none", "must hold a solution");
    solution->picture =
        twill::picture(loop, *solution->solution, format != nullptr ? format : "NULL");
    *text = solution->picture.c_str();
    return TWILL_OK;
  });
}

const char* twill_solution_error(const twill_solution* solution) {
  return solution != nullptr ? solution->error.c_str() : "";
}

void twill_solution_free(twill_solution* solution) {
  delete solution;
}

twill_result twill_verify(const twill_problem* problem, twill_solution* solution) {
  if (solution == nullptr) return TWILL_BAD_INPUT;
  return guarded(solution->error, [&] {
    const twill::Problem& loop = problem_in(problem);
    const auto violation = twill::verify(loop, schedule_of(loop, solution));
    if (!violation) return TWILL_OK;
    solution->error = violation->rule + ": " + violation->text;
    return TWILL_REFUSED;
  });
}

}  // extern "C"
