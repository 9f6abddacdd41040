// The C interface: handles around the C++ types, exceptions turned into results.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "engine/include/twill.h"
#include "engine/include/twill.hpp"

struct twill_problem {
  std::optional<twill::Problem> problem;
  std::string json;
  std::string error;
};

struct twill_solution {
  std::optional<twill::Solution> solution;
  std::string json;
  std::string error;
};

namespace {

/// Runs `body`; what it throws becomes a result and a text. The text itself may not fit in memory.
template <typename Body>
twill_result guarded(std::string& error, const Body& body) noexcept {
  try {
    try {
      error.clear();
      return body();
    } catch (const twill::InputError& bad) {
      error = bad.what();
      return TWILL_BAD_INPUT;
    } catch (const std::bad_alloc&) {
      return TWILL_NO_MEMORY;
    } catch (const std::exception& defect) {
      error = defect.what();
      return TWILL_INTERNAL;
    } catch (...) {
      return TWILL_INTERNAL;
    }
  } catch (...) {
    return TWILL_NO_MEMORY;
  }
}

/// Makes the handle first, so that there is a place for the error text.
template <typename Handle, typename Body>
twill_result make(Handle** out, const Body& body) noexcept {
  if (out == nullptr) return TWILL_BAD_INPUT;
  *out = new (std::nothrow) Handle;
  if (*out == nullptr) return TWILL_NO_MEMORY;
  Handle& handle = **out;
  return guarded(handle.error, [&] {
    body(handle);
    return TWILL_OK;
  });
}

[[noreturn]] void refuse(const char* place, const char* found, const char* rule) {
  throw twill::InputError("call", place, found, rule);
}

const twill::Problem& problem_in(const twill_problem* problem) {
  if (problem == nullptr || !problem->problem) refuse("problem", "none", "must hold a problem");
  return *problem->problem;
}

void set(twill_problem& handle, twill::Problem problem) {
  handle.json = twill::problem_text(problem);
  handle.problem = std::move(problem);
}

void set(twill_solution& handle, const twill::Problem& problem, twill::Solution solution) {
  handle.json = twill::schedule_text(problem, solution);
  handle.solution = std::move(solution);
}

/// A file's text is recognised by its first character that is no space.
bool is_text(const char* text) {
  while (*text == ' ' || *text == '\n' || *text == '\r' || *text == '\t') ++text;
  return *text == '{';
}

/// Watches the caller's flag, twenty times a second, for as long as it exists.
class CancelWatch {
 public:
  explicit CancelWatch(const volatile int* flag) {
    if (flag == nullptr) return;
    if (*flag != 0) source_.request_stop();
    thread_ = std::thread([this, flag] {
      std::unique_lock lock(mutex_);
      while (!done_) {
        if (*flag != 0) source_.request_stop();
        wake_.wait_for(lock, std::chrono::milliseconds(50));
      }
    });
  }
  ~CancelWatch() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  CancelWatch(const CancelWatch&) = delete;
  CancelWatch& operator=(const CancelWatch&) = delete;
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

/// Kernel and machine by name or as text, and what messages call them.
struct Inputs {
  twill::TileSource source;
  std::string kernel, machine;
};

Inputs inputs_of(const char* kernel, const char* machine, const char* reading) {
  if (kernel == nullptr || machine == nullptr) refuse("kernel, machine", "NULL", "must be given");
  Inputs inputs;
  inputs.machine = is_text(machine) ? "machine" : machine;
  inputs.kernel = is_text(kernel) ? "kernel" : kernel;
  inputs.source.machine = is_text(machine) ? std::string(machine) : twill::builtin_machine(machine);
  inputs.source.kernel = is_text(kernel) ? std::string(kernel)
                                         : twill::builtin_kernel(twill::kernel_on_machine(
                                               kernel, inputs.source.machine, inputs.machine));
  const std::string_view asked = reading == nullptr ? "" : reading;
  if (asked == "machine")
    inputs.source.options.reading = twill::Reading::machine;
  else if (asked == "paper")
    inputs.source.options.reading = twill::Reading::paper;
  else if (!asked.empty())
    refuse("reading", reading, "must be machine or paper");
  return inputs;
}

/// The layouts that fit.
std::vector<twill::Lowered> lowered(const char* kernel, const char* machine, const char* layout,
                                    int normalize, bool choose_registers, const char* reading) {
  if (normalize < 0) refuse("normalize", "a negative number", "must be 0 or a budget");
  Inputs inputs = inputs_of(kernel, machine, reading);
  if (layout != nullptr) inputs.source.options.layout = layout;
  inputs.source.options.normalize = normalize;
  inputs.source.options.choose_registers = choose_registers;
  return twill::lower(inputs.source.kernel, inputs.kernel, inputs.source.machine, inputs.machine,
                      inputs.source.options);
}

/// "rows=128,keys=176".
twill::ParameterValues values_of(const char* text) {
  twill::ParameterValues values;
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string item(rest.substr(0, end));
    const std::size_t sign = item.find('=');
    if (sign == std::string::npos || sign == 0)
      refuse("tiles", item.c_str(), "must be NAME=VALUE of a parameter of the kernel");
    values.emplace_back(item.substr(0, sign), item.substr(sign + 1));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return values;
}

/// The caller's struct may be of an older header (shorter) or a newer one (longer): what both know
/// is taken, the rest has its default.
twill_options known_part(const twill_options* given) {
  twill_options options;
  twill_options_init(&options);
  if (given == nullptr) return options;
  if (given->size < sizeof(given->size)) {
    refuse("options.size", "too small", "must be set by twill_options_init");
  }
  const std::size_t size = std::min(given->size, sizeof(options));
  std::memcpy(&options, given, size);
  options.size = sizeof(options);
  return options;
}

twill::Options options_of(const twill_options& given) {
  twill::Options options;
  if (given.stages != nullptr) options.stages = given.stages;
  if (given.ii != 0) options.ii = given.ii;
  if (given.encoding != nullptr) options.encoding = given.encoding;
  if (given.engine != nullptr) options.engine = given.engine;
  if (given.goals != nullptr) {
    std::istringstream goals(given.goals);
    for (std::string goal; std::getline(goals, goal, ',');) options.goals.push_back(goal);
  }
  options.handover = given.no_handover == 0;
  options.iterations = given.iterations;
  options.threads = given.threads;
  options.seed = given.seed;
  options.time_limit = given.time_limit;
  options.conflict_limit = given.conflict_limit;
  options.memory_limit = given.memory_limit;
  return options;
}

twill::ProgressCallback callback_of(const twill_options& given, std::mutex& mutex) {
  if (given.progress == nullptr) return {};
  return [&given, &mutex](const twill::Progress& p) {
    const std::lock_guard lock(mutex);
    const twill_progress progress = {
        sizeof(twill_progress), p.phase.c_str(), p.ii_low,  p.ii_high,   p.length_low,
        p.length_high,          p.variables,     p.clauses, p.conflicts, p.seconds};
    given.progress(&progress, given.user);
  };
}

const twill::Schedule* schedule_in(const twill_solution* solution) {
  if (solution == nullptr || !solution->solution || !solution->solution->schedule) return nullptr;
  return &*solution->solution->schedule;
}

}  // namespace

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
    set(handle, lowered(kernel, machine, layout, normalize, false, reading).front().problem);
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
}

twill_result twill_solve(const twill_problem* problem, const twill_options* options,
                         twill_solution** solution) {
  return make(solution, [&](twill_solution& handle) {
    const twill::Problem& loop = problem_in(problem);
    const twill_options known = known_part(options);
    const CancelWatch watch(known.cancel);
    std::mutex mutex;
    set(handle, loop,
        twill::solve(loop, options_of(known), watch.token(), callback_of(known, mutex)));
  });
}

twill_result twill_solve_kernel(const char* kernel, const char* machine, int normalize,
                                int choose_registers, const twill_options* options,
                                twill_problem** problem, twill_solution** solution) {
  if (solution != nullptr) *solution = nullptr;
  std::optional<twill::LayoutsSolution> all;
  const twill_result made = make(problem, [&](twill_problem& handle) {
    const twill_options known = known_part(options);
    const CancelWatch watch(known.cancel);
    std::mutex mutex;
    all = twill::solve_layouts(
        lowered(kernel, machine, nullptr, normalize, choose_registers != 0, known.reading),
        options_of(known), watch.token(), callback_of(known, mutex));
    set(handle, all->layout().problem);
  });
  if (made != TWILL_OK) return made;
  return make(solution, [&](twill_solution& handle) {
    twill::Solution chosen = all->solution();
    chosen.status = all->status;
    set(handle, all->layout().problem, std::move(chosen));
  });
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
    const twill::TilesSolution best = twill::solve_tiles(std::move(choices), options_of(known),
                                                         watch.token(), callback_of(known, mutex));
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
  return make(solution, [&](twill_solution& handle) { set(handle, loop, std::move(answer)); });
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
    const twill::Schedule* schedule = schedule_in(solution);
    if (schedule == nullptr) refuse("solution", "no schedule", "must hold a schedule");
    if (schedule->start.size() != loop.ops.size()) {
      refuse("solution", "another number of ops", "must be of this problem");
    }
    const auto violation = twill::verify(loop, *schedule);
    if (!violation) return TWILL_OK;
    solution->error = violation->rule + ": " + violation->text;
    return TWILL_REFUSED;
  });
}

}  // extern "C"
