// What the files of the C interface share: handles, and exceptions turned into results.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/include/twill.h"
#include "engine/include/twill.hpp"
#include "engine/include/twill_program.hpp"

struct twill_problem {
  std::optional<twill::Problem> problem;
  std::optional<twill::MadeBy> made_by;  ///< where it was lowered here
  std::string json;
  std::string error;
};

struct twill_solution {
  struct Tiles {
    twill::TilesSolution answer;
    twill::TileSource source;
  };
  std::optional<twill::Solution> solution;
  std::shared_ptr<const Tiles> tiles;  ///< where tiles were chosen: for their certificate
  std::string json;
  std::string picture;
  std::string error;
};

struct twill_program {
  std::optional<twill::program::Program> program;
  std::optional<twill::BarrierCosts> barriers;  ///< of its machine
  twill::Contention contention;                 ///< likewise
  std::string json, text;
  std::string error;
};

struct twill_report {
  std::string text;
  std::string error;
};

namespace twill::c_api {

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

[[noreturn]] inline void refuse(const char* place, const char* found, const char* rule) {
  throw twill::InputError("call", place, found, rule);
}

inline const twill::Problem& problem_in(const twill_problem* problem) {
  if (problem == nullptr || !problem->problem) refuse("problem", "none", "must hold a problem");
  return *problem->problem;
}

inline void set(twill_problem& handle, twill::Problem problem) {
  handle.json = twill::problem_text(problem);
  handle.problem = std::move(problem);
}

inline void set(twill_problem& handle, const twill::Lowered& lowered) {
  set(handle, lowered.problem);
  handle.made_by = lowered.made_by;
}

inline void set(twill_solution& handle, const twill::Problem& problem, twill::Solution solution) {
  handle.json = twill::schedule_text(problem, solution);
  handle.solution = std::move(solution);
}

inline void set(twill_program& handle, twill::program::Program made) {
  handle.json = twill::program::program_text(made);
  handle.text = twill::program::program_listing(made);
  handle.program = std::move(made);
}

/// A file's text is recognised by its first character that is no space.
inline bool is_text(const char* text) {
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

inline twill::Reading reading_of(const char* reading) {
  const std::string_view asked = reading == nullptr ? "" : reading;
  if (asked == "machine") return twill::Reading::machine;
  if (asked == "paper") return twill::Reading::paper;
  if (!asked.empty()) refuse("reading", reading, "must be machine or paper");
  return twill::Reading::of_file;
}

inline Inputs inputs_of(const char* kernel, const char* machine, const char* reading) {
  if (kernel == nullptr || machine == nullptr) refuse("kernel, machine", "NULL", "must be given");
  Inputs inputs;
  inputs.machine = is_text(machine) ? "machine" : machine;
  inputs.kernel = is_text(kernel) ? "kernel" : kernel;
  inputs.source.machine = is_text(machine) ? std::string(machine) : twill::builtin_machine(machine);
  inputs.source.kernel = is_text(kernel) ? std::string(kernel)
                                         : twill::builtin_kernel(twill::kernel_on_machine(
                                               kernel, inputs.source.machine, inputs.machine));
  inputs.source.options.reading = reading_of(reading);
  return inputs;
}

/// The layouts that fit.
inline std::vector<twill::Lowered> lowered(const char* kernel, const char* machine,
                                           const char* layout, int normalize, bool choose_registers,
                                           const char* reading) {
  if (normalize < 0) refuse("normalize", "a negative number", "must be 0 or a budget");
  Inputs inputs = inputs_of(kernel, machine, reading);
  if (layout != nullptr) inputs.source.options.layout = layout;
  inputs.source.options.normalize = normalize;
  inputs.source.options.choose_registers = choose_registers;
  return twill::lower(inputs.source.kernel, inputs.kernel, inputs.source.machine, inputs.machine,
                      inputs.source.options);
}

/// "rows=128,keys=176".
inline twill::ParameterValues values_of(const char* text) {
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
inline twill_options known_part(const twill_options* given) {
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

inline twill::Options options_of(const twill_options& given) {
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
  options.evidence = given.evidence != 0;
  if (given.length_slack != -1) options.length_slack = given.length_slack;
  options.threads = given.threads;
  options.seed = given.seed;
  options.time_limit = given.time_limit;
  options.conflict_limit = given.conflict_limit;
  options.memory_limit = given.memory_limit;
  return options;
}

inline twill::ProgressCallback callback_of(const twill_options& given, std::mutex& mutex) {
  if (given.progress == nullptr) return {};
  return [&given, &mutex](const twill::Progress& p) {
    const std::lock_guard lock(mutex);
    const twill_progress progress = {
        sizeof(twill_progress), p.phase.c_str(), p.ii_low,  p.ii_high,   p.length_low,
        p.length_high,          p.variables,     p.clauses, p.conflicts, p.seconds};
    given.progress(&progress, given.user);
  };
}

/// The best over the layouts that `lower` makes, in two handles.
template <typename Lower>
twill_result solve_best(const Lower& lower, const twill_options* options, twill_problem** problem,
                        twill_solution** solution) {
  if (solution != nullptr) *solution = nullptr;
  std::optional<twill::LayoutsSolution> all;
  const twill_result made = make(problem, [&](twill_problem& handle) {
    const twill_options known = known_part(options);
    const CancelWatch watch(known.cancel);
    std::mutex mutex;
    all =
        twill::solve_layouts(lower(), options_of(known), watch.token(), callback_of(known, mutex));
    set(handle, all->layout());
  });
  if (made != TWILL_OK) return made;
  return make(solution, [&](twill_solution& handle) {
    twill::Solution chosen = all->solution();
    chosen.status = all->status;
    set(handle, all->layout().problem, std::move(chosen));
  });
}

inline const twill::Schedule* schedule_in(const twill_solution* solution) {
  if (solution == nullptr || !solution->solution || !solution->solution->schedule) return nullptr;
  return &*solution->solution->schedule;
}

/// A schedule with a start for each op of this problem; it may break its rules.
inline const twill::Schedule& schedule_of(const twill::Problem& problem,
                                          const twill_solution* solution) {
  const twill::Schedule* schedule = schedule_in(solution);
  if (schedule == nullptr) refuse("solution", "no schedule", "must hold a schedule");
  if (schedule->start.size() != problem.ops.size())
    refuse("solution", "another number of ops", "must be of this problem");
  return *schedule;
}

}  // namespace twill::c_api
