// The judged program of a kernel or of a module's loop, with what it computes.
#include <algorithm>
#include <limits>
#include <utility>

#include "engine/include/twill_emit.hpp"
#include "engine/include/twill_triton.hpp"
#include "engine/kernel_program.hpp"
#include "engine/limits_left.hpp"
#include "engine/options.hpp"
#include "engine/output/style.hpp"
#include "graph/index.hpp"
#include "graph/lowering/kernel_meaning.hpp"
#include "graph/moved_together.hpp"
#include "graph/program/links.hpp"
#include "graph/program/oversized_handovers.hpp"
#include "graph/restriction.hpp"
#include "graph/ttgir/meaning.hpp"

namespace twill {
namespace {

constexpr double kForSchedules = 0.75;  // of the time that is left; the rest is for places
constexpr Cycle kFewerStages = 32;      // tried first where the best schedule has too many

/// What there is to make a program of: a problem with its hash and a schedule.
struct Given {
  Problem problem;
  std::string hash;
  ProgramSolution made;
  std::shared_ptr<const ttgir::LoweredModule> module;
  std::shared_ptr<const ttgir::ModuleMeaning> meaning;  ///< then `problem` is program_problem()
};

void check_source(const ProgramSource& source) {
  const auto fits = [&](std::size_t size) { return size == 0 || size == source.layouts.size(); };
  if (source.layouts.empty()) throw InputError("source", "layouts", "none", "must be one at least");
  if (!fits(source.hashes.size()))
    throw InputError("source", "hashes", std::to_string(source.hashes.size()),
                     "must be none or one a layout");
  if (!fits(source.modules.size()))
    throw InputError("source", "modules", std::to_string(source.modules.size()),
                     "must be none or one a layout");
}

/// What a module's loop computes; that it is not known is said, and why.
void read_module(const ProgramSource& source, std::size_t layout, Given& given,
                 ProgramResult& result) {
  if (source.modules.empty()) return;
  auto read = ttgir::meaning_of_loop(*source.modules[layout]);
  if (const auto* no = std::get_if<ttgir::NoMeaning>(&read)) {
    result.no_meaning = "what the loop computes is not known: " + printable(no->why);
    result.remarks.push_back(result.no_meaning);
    return;
  }
  given.module = source.modules[layout];
  given.meaning = std::make_shared<const ttgir::ModuleMeaning>(
      ttgir::unrolled(std::get<ttgir::ModuleMeaning>(read), source.unroll));
  given.problem = ttgir::program_problem(*given.module, *given.meaning, given.problem);
}

std::string hash_of(const ProgramSource& source, std::size_t layout, const Problem& problem) {
  return source.hashes.empty() ? sha256(problem_text(problem)) : source.hashes[layout];
}

ProgramResult& missing(ProgramResult& result, Missing what, std::string why) {
  result.missing = what;
  result.why = std::move(why);
  return result;
}

std::string reason(const std::string& rule, const std::string& text) {
  return printable(rule) + ": " + printable(text);
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// The program of `given`, judged, in the result; or what there is not. Is it refused because so
/// many iterations are under way at a time that not every trip count can be looked at? `apart` gets
/// oversized_handovers().
bool take(const ProgramSource& source, Given given, ProgramResult& result, Pairs* apart = nullptr) {
  if (const auto* no = std::get_if<program::Refusal>(&given.made.program)) {
    std::string why = reason(no->rule, no->text);
    if (given.made.none_placed) {
      const std::string only = restriction_of(given.made.solution);
      why += "; it is proved that no program of a schedule " +
             (only.empty() ? "" : printable(only) + " ") + "fits in memory (" +
             program::kPlacementClass + ")";
    }
    missing(result, Missing::program, std::move(why));
    return no->rule == "size";
  }
  MadeProgram made;
  made.program = std::move(std::get<program::Program>(given.made.program));
  program::Program& program = made.program;
  program.problem_sha256 = given.hash;
  program.status = to_string(given.made.solution.status);
  program.ii_lower_bound = given.made.solution.ii_lower_bound;
  program.placed = given.made.placed;
  program.searched_only = restriction_of(given.made.solution);
  // What the judge has not accepted is not shown as a program.
  auto fault = program::judge(program);
  if (!fault) fault = program::compare(program, given.problem, *given.made.solution.schedule);
  if (fault) {
    missing(result, fault->rule == "window" ? Missing::program : Missing::defect,
            "what was derived is refused by the judge: " + reason(fault->rule, fault->text));
    return fault->rule == "window";
  }
  program.meaning = given.meaning ? given.meaning->meaning : source.meaning;
  program::Links links;
  if (const auto no = program.meaning ? program::link(program, links) : std::nullopt) {
    if (apart != nullptr) *apart = program::oversized_handovers(program);
    result.no_meaning = "it cannot be executed: " + printable(*no);
    result.remarks.push_back(result.no_meaning);
    program.meaning.reset();
    given.meaning.reset();
    given.module.reset();
  }
  made.problem = std::move(given.problem);
  made.solution = std::move(given.made.solution);
  made.again = given.made.again;
  made.reserved = given.made.reserved;
  made.barriers = source.layouts.front().barriers;  // (that of the machine: all have it)
  made.contention = source.layouts.front().contention;
  made.memory = std::move(given.made.memory);
  made.module = std::move(given.module);
  made.module_meaning = std::move(given.meaning);
  result.made = std::move(made);
  return false;
}

/// Where results lie is more than the schedule knew: the loop is solved as its program has it.
void solve_as_program(Given& given, const Solution& first, const ProgramOptions& options,
                      const LimitsLeft& left) {
  const Solution again = solve(given.problem, left.timed(options.search), left.stop());
  if (!again.schedule) return;
  given.made =
      solve_program(given.problem, again, left.timed(options.search), left.stop(), options.derive);
  Solution& last = given.made.solution;
  const bool same = last.schedule->initiation_interval == first.schedule->initiation_interval &&
                    last.schedule->length == first.schedule->length;
  last.status = same ? first.status : Status::feasible;
  last.ii_lower_bound = first.ii_lower_bound;
  given.made.again = true;
  given.made.placed.reset();  // (of a problem with more in it)
  given.made.none_placed = false;
}

const program::Refusal* refusal_of(const ProgramSolution& made) {
  return std::get_if<program::Refusal>(&made.program);
}

/// The program of a layout whose best schedule is `found`; remarks and `no_meaning` go to `result`.
Given program_on(const ProgramSource& source, const LayoutsSolution& all, std::size_t layout,
                 const Solution& found, const ProgramOptions& options, const LimitsLeft& left,
                 ProgramResult& result) {
  Given given{all.layouts[layout].problem, "", {}, nullptr, nullptr};
  read_module(source, layout, given, result);
  Solution near = found;
  near.schedule = moved_together(given.problem, *found.schedule);
  given.made =
      solve_program(given.problem, near, left.timed(options.search), left.stop(), options.derive);
  const program::Refusal* no = refusal_of(given.made);
  if (no != nullptr && no->rule == "schedule" && given.meaning)
    solve_as_program(given, found, options, left);
  return given;
}

/// Where the best schedule of all layouts has no placement, that of another layout may have one:
/// each is asked, and what is proved of schedules with a placement is of all of them.
class OtherLayouts {
 public:
  /// `first` is of all.chosen; `result` has what was said of it.
  OtherLayouts(const ProgramSource& source, const LayoutsSolution& all,
               const ProgramOptions& options, const LimitsLeft& left, Given first,
               ProgramResult& result)
      : source_(source),
        all_(all),
        options_(options),
        left_(left),
        best_(std::move(first)),
        result_(result),
        chosen_(all.chosen) {}

  void run() {
    const std::pair least{all_.solution().ii_lower_bound, all_.solution().length_lower_bound};
    std::pair<Cycle, Cycle> bound = bound_of(best_.made, all_.solution());
    // (Of a layout that is not asked no more is known than of all.)
    for (std::size_t k = 0; k < all_.layouts.size(); ++k)
      if (k != all_.chosen && all_.outcomes[k].covered_by.empty())
        bound = std::min(bound, left_.out_of_time() ? least : ask(k));
    ProgramSolution& made = best_.made;
    made.none_placed = bound.first == kEndless && refusal_of(made) != nullptr;
    made.placed.reset();
    if (refusal_of(made) != nullptr) return;
    Solution& solution = made.solution;
    const bool as_good = all_.status == Status::optimal && value(made) == value(all_.solution());
    solution.status = as_good ? Status::optimal : Status::feasible;
    solution.ii_lower_bound = all_.solution().ii_lower_bound;
    if (!as_good && is_proved())
      made.placed = program::PlacedBounds{bound.first, bound.second, bound == value(made)};
  }

  std::size_t chosen() const { return chosen_; }
  Given best() && { return std::move(best_); }

 private:
  static constexpr Cycle kEndless = std::numeric_limits<Cycle>::max();

  static std::pair<Cycle, Cycle> value(const Solution& solution) {
    return {solution.schedule->initiation_interval, solution.schedule->length};
  }

  static std::pair<Cycle, Cycle> value(const ProgramSolution& made) {
    return refusal_of(made) != nullptr ? std::pair(kEndless, Cycle{0}) : value(made.solution);
  }

  /// Is what the bounds are of the whole of what was asked?
  bool is_proved() const {
    return all_.status == Status::optimal && !left_.out_of_time() &&
           std::none_of(all_.layouts.begin(), all_.layouts.end(),
                        [](const Lowered& one) { return one.pool.has_value(); });
  }

  /// No schedule of the layout with a placement is better.
  static std::pair<Cycle, Cycle> bound_of(const ProgramSolution& made, const Solution& found) {
    if (made.none_placed) return {kEndless, 0};
    if (made.placed) return {made.placed->initiation_interval, made.placed->length};
    return {found.ii_lower_bound, found.length_lower_bound};
  }

  std::pair<Cycle, Cycle> ask(std::size_t layout) {
    const Solution found =
        solve(all_.layouts[layout].problem, left_.timed(options_.search), left_.stop());
    if (found.status == Status::infeasible) return {kEndless, 0};
    const std::pair bound{found.ii_lower_bound, found.length_lower_bound};
    if (!found.schedule || bound >= value(best_.made)) return bound;
    ProgramResult told;
    Given given = program_on(source_, all_, layout, found, options_, left_, told);
    const std::pair of_layout = bound_of(given.made, found);
    if (value(given.made) < value(best_.made)) {
      best_ = std::move(given);
      best_.made.again = true;
      result_.no_meaning = std::move(told.no_meaning);
      result_.remarks = std::move(told.remarks);
      chosen_ = layout;
    }
    return of_layout;
  }

  const ProgramSource& source_;
  const LayoutsSolution& all_;
  const ProgramOptions& options_;
  const LimitsLeft& left_;
  Given best_;
  ProgramResult& result_;
  std::size_t chosen_;
};

/// Did the search for places end worse than the schedule, so that it is not clear which layout is
/// best?
bool asks_others(const ProgramSolution& made) {
  return made.placed || made.none_placed;
}

/// The problem with ProgramOptions::together.
void put_together(Problem& problem, const ProgramOptions& options) {
  const auto op = [&](const std::string& name) {
    const auto found = std::find_if(problem.ops.begin(), problem.ops.end(),
                                    [&](const Op& one) { return one.id == name; });
    return found == problem.ops.end() ? -1 : static_cast<int>(found - problem.ops.begin());
  };
  for (const auto& [first, second] : options.together) {
    Pin pin;
    pin.kind = Pin::same_slot;
    pin.op = op(first);
    pin.other = op(second);
    if (pin.op >= 0 && pin.other >= 0) problem.pins.push_back(pin);
  }
}

struct Best {
  ProgramResult result;
  Cycle stages = 0;  ///< of a schedule whose program is refused for their number
  Pairs apart;       ///< ops that would have to be on one slot for it to be executed
};

Best best_of_all(const ProgramSource& source, const ProgramOptions& options,
                 const LimitsLeft& left) {
  std::vector<Lowered> layouts = source.layouts;
  for (Lowered& one : layouts) {
    put_together(one.problem, options);
    for (Memory& memory : one.problem.memories)
      if (memory.name == "smem" && memory.capacity > options.kept_back)
        memory.capacity -= options.kept_back;
  }
  Options search = left.timed(options.search);
  search.time_limit *= kForSchedules;
  const LayoutsSolution all =
      solve_layouts(std::move(layouts), search, left.stop(), options.progress);
  Best best;
  ProgramResult& result = best.result;
  result.status = all.status;
  if (!all.solution().schedule) {
    missing(result, Missing::schedule, no_schedule_text(all.solution()));
    return best;
  }
  std::size_t chosen = all.chosen;
  Given given = program_on(source, all, chosen, all.solution(), options, left, result);
  if (all.status == Status::optimal && asks_others(given.made)) {
    OtherLayouts others(source, all, options, left, std::move(given), result);
    others.run();
    chosen = others.chosen();
    given = std::move(others).best();
  }
  // (Of a module, or with memory kept back, it would be proved of a problem with more in it.)
  if (!source.modules.empty() || options.kept_back > 0 || !options.together.empty()) {
    given.made.placed.reset();
    given.made.none_placed = false;
  }
  if (source.layouts.size() > 1)
    result.remarks.insert(result.remarks.begin(),
                          "best: layout " + printable(all.layouts[chosen].layout));
  Problem whole = all.layouts[chosen].problem;  // without what is kept back
  whole.memories = source.layouts[chosen].problem.memories;
  whole.pins = source.layouts[chosen].problem.pins;
  given.hash = hash_of(source, chosen, whole);
  const Cycle stages = stage_count(*given.made.solution.schedule);
  if (take(source, std::move(given), result, &best.apart)) best.stages = stages;
  return best;
}

constexpr int kMostTogether = 4;  // times that more ops are put on one slot

/// Where a result is handed on that is larger than its storage, with the two ops on one slot
/// (take_bounds()). Else, and where that gives nothing to execute, as it was.
Best with_results_together(const ProgramSource& source, ProgramOptions options, Best first,
                           const LimitsLeft& left) {
  Pairs apart = first.apart;
  for (int k = 0; k < kMostTogether && !apart.empty() && !left.out_of_time(); ++k) {
    options.together.insert(options.together.end(), apart.begin(), apart.end());
    Best next = best_of_all(source, options, left);
    if (!next.result.made) break;
    apart = next.apart;
    if (!next.result.no_meaning.empty()) continue;
    take_bounds(*next.result.made, *first.result.made);
    return next;
  }
  return first;
}

}  // namespace

void take_bounds(MadeProgram& now, const MadeProgram& first) {
  const bool same = now.program.initiation_interval == first.program.initiation_interval &&
                    now.solution.schedule->length == first.solution.schedule->length;
  if (!same || first.program.status != "optimal") now.program.status = "feasible";
  now.program.ii_lower_bound = first.program.ii_lower_bound;
  now.program.searched_only = first.program.searched_only;
  now.program.placed.reset();  // (of a problem with more in it)
}

ProgramResult best_program(const ProgramSource& source, const ProgramOptions& options,
                           std::stop_token stop) {
  check_source(source);
  const LimitsLeft left(options.search, std::move(stop));
  Best first = with_results_together(source, options, best_of_all(source, options, left), left);
  if (first.result.missing == Missing::program && left.out_of_time())
    first.result.why += kNotAllTried;
  if (first.stages == 0 || stages_of(options.search).kind == StageChoice::paper)
    return std::move(first.result);
  // Fewer stages, by halves.
  for (Cycle most = kFewerStages; most > 0; most /= 2) {
    if (most >= first.stages) continue;
    if (left.out_of_time()) break;
    ProgramOptions fewer = options;
    fewer.search.search_stages = StageChoice{StageChoice::limited, most};
    Best next = with_results_together(source, fewer, best_of_all(source, fewer, left), left);
    if (!next.result.made) continue;
    next.result.remarks.push_back("the best schedule has " + std::to_string(first.stages) +
                                  " stages, too many for a program that is judged at every trip "
                                  "count: of those searched for this one none has more than " +
                                  std::to_string(most));
    return std::move(next.result);
  }
  return std::move(first.result);
}

ProgramResult program_of(const ProgramSource& source, std::size_t layout, const Solution& solution,
                         const program::DeriveOptions& how) {
  check_source(source);
  if (layout >= source.layouts.size())
    throw InputError("call", "layout", std::to_string(layout), "no such layout");
  if (!solution.schedule)
    throw InputError("call", "solution", "no schedule", "must hold a schedule");
  ProgramResult result;
  result.status = solution.status;
  Given given{source.layouts[layout].problem, "", {}, nullptr, nullptr};
  given.hash = hash_of(source, layout, given.problem);
  read_module(source, layout, given, result);
  auto made = program::derive(given.problem, *solution.schedule, how);
  given.made = {solution, std::move(made), false, 0, "", {}};
  take(source, std::move(given), result);
  return result;
}

ProgramSource program_source(std::string_view kernel, std::string_view machine,
                             const LowerOptions& options) {
  const auto is_text = [](std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first != text.npos && text[first] == '{';
  };
  const std::string on = is_text(machine) ? "machine" : std::string(machine);
  const std::string of = is_text(kernel) ? "kernel" : std::string(kernel);
  const std::string machine_text = is_text(machine) ? std::string(machine) : builtin_machine(on);
  const std::string kernel_text = is_text(kernel)
                                      ? std::string(kernel)
                                      : builtin_kernel(kernel_on_machine(of, machine_text, on));
  ProgramSource source;
  source.layouts = lower(kernel_text, of, machine_text, on, options);
  source.meaning = meaning_of_kernel(kernel_text, of, options.values, options.stored);
  return source;
}

ProgramSource program_source(const TritonLoop& loop) {
  ProgramSource source;
  source.layouts = loop.problems();
  for (std::size_t k = 0; k < source.layouts.size(); ++k) source.modules.push_back(loop.lowered(k));
  return source;
}

}  // namespace twill
