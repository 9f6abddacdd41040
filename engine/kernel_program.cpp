// The judged program of a kernel or of a module's loop, with what it computes.
#include <algorithm>
#include <utility>

#include "engine/include/twill_emit.hpp"
#include "engine/include/twill_triton.hpp"
#include "engine/output/style.hpp"
#include "graph/index.hpp"
#include "graph/lowering/kernel_meaning.hpp"
#include "graph/program/links.hpp"
#include "graph/ttgir/meaning.hpp"

namespace twill {
namespace {

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
  given.meaning =
      std::make_shared<const ttgir::ModuleMeaning>(std::move(std::get<ttgir::ModuleMeaning>(read)));
  given.problem = ttgir::program_problem(*given.module, given.meaning->meaning, given.problem);
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

/// The program of `given`, judged, in the result; or what there is not.
void take(const ProgramSource& source, Given given, ProgramResult& result) {
  if (const auto* no = std::get_if<program::Refusal>(&given.made.program)) {
    missing(result, Missing::program, reason(no->rule, no->text));
    return;
  }
  MadeProgram made;
  made.program = std::move(std::get<program::Program>(given.made.program));
  program::Program& program = made.program;
  program.problem_sha256 = given.hash;
  program.status = to_string(given.made.solution.status);
  program.ii_lower_bound = given.made.solution.ii_lower_bound;
  program.placed = given.made.placed;
  // What the judge has not accepted is not shown as a program.
  auto fault = program::judge(program);
  if (!fault) fault = program::compare(program, given.problem, *given.made.solution.schedule);
  if (fault) {
    missing(result, fault->rule == "window" ? Missing::program : Missing::defect,
            "what was derived is refused by the judge: " + reason(fault->rule, fault->text));
    return;
  }
  program.meaning = given.meaning ? given.meaning->meaning : source.meaning;
  program::Links links;
  if (const auto no = program.meaning ? program::link(program, links) : std::nullopt) {
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
  made.memory = std::move(given.made.memory);
  made.module = std::move(given.module);
  made.module_meaning = std::move(given.meaning);
  result.made = std::move(made);
}

/// Where results lie is more than the schedule knew: the loop is solved as its program has it.
void solve_as_program(Given& given, const Solution& first, const ProgramOptions& options,
                      std::stop_token stop) {
  const Solution again = solve(given.problem, options.search, stop);
  if (!again.schedule) return;
  given.made = solve_program(given.problem, again, options.search, stop, options.derive);
  Solution& last = given.made.solution;
  const bool same = last.schedule->initiation_interval == first.schedule->initiation_interval &&
                    last.schedule->length == first.schedule->length;
  last.status = same ? first.status : Status::feasible;
  last.ii_lower_bound = first.ii_lower_bound;
  given.made.again = true;
  given.made.placed.reset();  // (of a problem with more in it)
}

/// Where the best schedule of all layouts has no placement, that of another layout may have one:
/// each is asked, and what is proved of schedules with a placement is of all of them.
class OtherLayouts {
 public:
  OtherLayouts(const LayoutsSolution& all, const ProgramOptions& options, std::stop_token stop,
               const ProgramSolution& first)
      : all_(all), options_(options), stop_(std::move(stop)), best_(first), chosen_(all.chosen) {}

  void run() {
    std::pair<Cycle, Cycle> bound = bound_of(best_, all_.solution());
    for (std::size_t k = 0; k < all_.layouts.size(); ++k)
      if (k != all_.chosen && all_.outcomes[k].covered_by.empty()) bound = std::min(bound, ask(k));
    const auto [interval, length] = value(best_.solution);
    best_.placed =
        program::PlacedBounds{bound.first, bound.second, bound == std::pair(interval, length)};
    best_.solution.status = Status::feasible;
    best_.solution.ii_lower_bound = all_.solution().ii_lower_bound;
  }

  std::size_t chosen() const { return chosen_; }
  ProgramSolution best() && { return std::move(best_); }

 private:
  static std::pair<Cycle, Cycle> value(const Solution& solution) {
    return {solution.schedule->initiation_interval, solution.schedule->length};
  }

  /// No schedule of the layout with a placement is better.
  static std::pair<Cycle, Cycle> bound_of(const ProgramSolution& made, const Solution& found) {
    if (made.placed) return {made.placed->initiation_interval, made.placed->length};
    return {found.ii_lower_bound, found.length_lower_bound};
  }

  std::pair<Cycle, Cycle> ask(std::size_t layout) {
    const Problem& problem = all_.layouts[layout].problem;
    const Solution found = solve(problem, options_.search, stop_);
    if (found.status == Status::infeasible) return value(best_.solution);
    const std::pair bound{found.ii_lower_bound, found.length_lower_bound};
    if (!found.schedule || bound >= value(best_.solution)) return bound;
    ProgramSolution made = solve_program(problem, found, options_.search, stop_, options_.derive);
    if (!std::holds_alternative<program::Program>(made.program)) return bound;
    const std::pair of_layout = bound_of(made, found);
    if (value(made.solution) < value(best_.solution)) {
      best_ = std::move(made);
      best_.again = true;
      chosen_ = layout;
    }
    return of_layout;
  }

  const LayoutsSolution& all_;
  const ProgramOptions& options_;
  std::stop_token stop_;
  ProgramSolution best_;
  std::size_t chosen_;
};

/// Did the schedule become worse, so that it is no longer clear which layout is best?
bool became_worse(const ProgramSolution& made, const LayoutsSolution& all) {
  return std::holds_alternative<program::Program>(made.program) && made.placed &&
         all.status == Status::optimal &&
         std::none_of(all.layouts.begin(), all.layouts.end(),
                      [](const Lowered& one) { return one.pool.has_value(); });
}

}  // namespace

ProgramResult best_program(const ProgramSource& source, const ProgramOptions& options,
                           std::stop_token stop) {
  check_source(source);
  std::vector<Lowered> layouts = source.layouts;
  for (Lowered& one : layouts)
    for (Memory& memory : one.problem.memories)
      if (memory.name == "smem" && memory.capacity > options.kept_back)
        memory.capacity -= options.kept_back;
  const LayoutsSolution all = solve_layouts(std::move(layouts), options.search, stop);
  ProgramResult result;
  result.status = all.status;
  if (!all.solution().schedule)
    return missing(result, Missing::schedule, no_schedule_text(all.solution()));
  Given given{all.layout().problem, "", {}, nullptr, nullptr};
  std::size_t chosen = all.chosen;
  read_module(source, chosen, given, result);
  given.made = solve_program(given.problem, all.solution(), options.search, stop, options.derive);
  if (source.modules.empty() && became_worse(given.made, all)) {
    OtherLayouts others(all, options, stop, given.made);
    others.run();
    chosen = others.chosen();
    given.problem = all.layouts[chosen].problem;
    given.made = std::move(others).best();
  }
  // (Of a module, or with memory kept back, it would be proved of a problem with more in it.)
  if (!source.modules.empty() || options.kept_back > 0) given.made.placed.reset();
  if (source.layouts.size() > 1)
    result.remarks.insert(result.remarks.begin(),
                          "best: layout " + printable(all.layouts[chosen].layout));
  Problem whole = all.layouts[chosen].problem;  // without what is kept back
  whole.memories = source.layouts[chosen].problem.memories;
  given.hash = hash_of(source, chosen, whole);
  const auto* refusal = std::get_if<program::Refusal>(&given.made.program);
  if (refusal != nullptr && refusal->rule == "schedule" && given.meaning)
    solve_as_program(given, all.solution(), options, stop);
  take(source, std::move(given), result);
  return result;
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
