// The C interface to any input: kernels and TTGIR modules with what-ifs, pins, nests, and the way
// back to Triton.
#include "engine/c_api_input.hpp"
#include "engine/include/twill_emit.hpp"
#include "engine/include/twill_explain.hpp"
#include "engine/include/twill_nested.hpp"
#include "engine/include/twill_triton.hpp"
#include "engine/output/style.hpp"
#include "graph/check.hpp"
#include "graph/meaning/unroll.hpp"
#include "graph/slack.hpp"
#include "graph/ttgir/parser.hpp"

using namespace twill::c_api;

namespace {

twill::KernelOptions kernel_options(const char* to, int for_trips) {
  constexpr std::string_view kPersistent = "-persistent";
  if (to == nullptr) refuse("to", "NULL", "must be gluon, cuda, ttgir-ws or tilelang");
  if (for_trips < -1) refuse("for_trips", std::to_string(for_trips).c_str(), "must be -1 or more");
  twill::KernelOptions kernel;
  kernel.to = to;
  kernel.persistent = kernel.to.ends_with(kPersistent);
  if (kernel.persistent) kernel.to.resize(kernel.to.size() - kPersistent.size());
  kernel.for_trips = for_trips;
  twill::check_options(kernel);
  return kernel;
}

/// With what it computes.
twill::ProgramSource program_source_of(const twill_workload& workload, bool sequence = false) {
  if (workload.for_triton != 0)
    refuse("workload.for_triton", "not 0", "a kernel is no module for Triton's passes");
  twill::ProgramSource source =
      is_module(workload) ? twill::program_source(module_of(workload, false, {}, sequence, true))
                          : twill::program_source(workload.input, workload.machine,
                                                  kernel_of(workload).source.options);
  if (workload.more == nullptr && workload.pins == nullptr && workload.unroll == 0) return source;
  change(workload, source.layouts, [&](std::size_t k) {
    if (!source.modules.empty())
      source.modules.erase(source.modules.begin() + static_cast<std::ptrdiff_t>(k));
  });
  source.hashes.clear();
  if (workload.unroll > 1) {
    source.unroll = workload.unroll;
    if (source.meaning) source.meaning = twill::meaning::unrolled(*source.meaning, workload.unroll);
  }
  return source;
}

/// With all loops of a module's function of several, where none is asked for.
twill::ProgramSource whole_function_of(const twill_workload& workload) {
  twill::ProgramSource source = program_source_of(workload);
  if (!is_module(workload) || workload.loop >= 0) return source;
  const std::vector<int> loops = module_of(workload, false, {}, false, true).sequence();
  if (!loops.empty() && workload.choose_registers != 0)
    refuse("workload.choose_registers", "not 0",
           "is for one loop; the function is several, which share their registers");
  for (const int loop : loops) {
    twill_workload one = workload;
    one.loop = loop;
    source.sequence.push_back(program_source_of(one, true));
  }
  return source;
}

/// The nest on each layout, and what it was made of.
std::vector<twill::NestedLoop> nests_of(const twill_workload& workload, const char* inner,
                                        std::vector<twill::Lowered>& layouts) {
  std::vector<twill::NestedLoop> nests;
  std::optional<twill::TritonLoop> loop;
  if (is_module(workload)) {
    if (inner != nullptr)
      refuse("inner", inner, "a TTGIR module says which ops are in its inner loop");
    loop = module_of(workload, true);
  } else if (inner == nullptr) {
    refuse("inner", "NULL", "must name the ops of the inner loop");
  }
  if (workload.unroll > 1)
    refuse("workload.unroll", std::to_string(workload.unroll).c_str(),
           "a loop with a loop inside is not unrolled");
  if (loop) {
    layouts = loop->problems();
    if (workload.more != nullptr)
      refuse("workload.more", workload.more, "a module's inner loop has its layouts' slots");
    change(workload, layouts, [](std::size_t) {});
  } else {
    layouts = layouts_of(workload);
  }
  for (std::size_t k = 0; k < layouts.size(); ++k) {
    twill::NestedLoop nest{layouts[k].problem, {}, workload.trips, "inner"};
    if (loop) {
      nest.inner = loop->inner_ops(k);
      nest.trips = loop->inner_trips();
    } else {
      std::istringstream ops(inner);
      for (std::string name; std::getline(ops, name, ',');)
        nest.inner.push_back(op_named(nest.problem, name, "inner"));
      std::sort(nest.inner.begin(), nest.inner.end());
      nest.inner.erase(std::unique(nest.inner.begin(), nest.inner.end()), nest.inner.end());
    }
    twill::check(nest, "nested loop");
    nests.push_back(std::move(nest));
  }
  return nests;
}

twill::program::Turns turns_of(const char* given) {
  using twill::program::Turns;
  const std::string_view turns = given == nullptr ? "none" : given;
  if (turns == "none") return Turns::none;
  if (turns == "needed") return Turns::needed;
  if (turns != "all") refuse("turns", given, "must be none, needed or all");
  return Turns::all;
}

std::string why_no_outer(const twill::NestedSolution& all) {
  for (const twill::NestedLayout& layout : all.layouts)
    if (!layout.refused.empty()) return layout.refused;
  return "inner loop: " + twill::no_schedule_text(all.layouts.front().inner);
}

}  // namespace

extern "C" {

void twill_workload_init(twill_workload* workload) {
  if (workload == nullptr) return;
  *workload = twill_workload{};
  workload->size = sizeof(twill_workload);
  const twill::TritonOptions defaults;
  workload->module = workload->loop = -1;
  workload->subtile = defaults.subtile;
  workload->chunk_columns = static_cast<int32_t>(defaults.chunk_columns);
  workload->trips = static_cast<int32_t>(defaults.trips);
  workload->resident_registers = static_cast<int32_t>(defaults.resident_registers);
}

twill_result twill_workload_lower(const twill_workload* workload, twill_problem** problem) {
  return make(problem, [&](twill_problem& handle) {
    set(handle, layouts_of(known_part(workload)).front());
  });
}

twill_result twill_workload_solve(const twill_workload* workload, const twill_options* options,
                                  twill_problem** problem, twill_solution** solution) {
  return solve_best([&] { return layouts_of(known_part(workload)); }, options, problem, solution);
}

twill_result twill_workload_costs(const twill_workload* workload, twill_report** report) {
  return make(report, [&](twill_report& handle) {
    const twill_workload known = known_part(workload);
    if (is_module(known)) {
      handle.text = module_of(known, false).costs();
      return;
    }
    const Inputs in = kernel_of(known);
    handle.text = twill::explain_costs(in.source.kernel, in.kernel, in.source.machine, in.machine,
                                       in.source.options);
  });
}

twill_result twill_workload_nest(const twill_workload* workload, const char* inner,
                                 const twill_options* options, twill_problem** problem,
                                 twill_solution** solution, twill_solution** inner_solution) {
  if (solution != nullptr) *solution = nullptr;
  if (inner_solution != nullptr) *inner_solution = nullptr;
  std::optional<twill::NestedSolution> all;
  std::vector<twill::NestedLoop> nests;
  std::vector<twill::Lowered> layouts;
  const twill_result made = make(problem, [&](twill_problem& handle) {
    nests = nests_of(known_part(workload), inner, layouts);
    std::vector<std::string> names;
    for (const twill::Lowered& layout : layouts) names.push_back(layout.layout);
    const twill_options known = known_part(options);
    const CancelWatch watch(known.cancel);
    std::mutex mutex;
    all = twill::solve_nested(nests, names, options_of(known), watch.token(),
                              callback_of(known, mutex));
    if (!all->outer) {
      handle.error = why_no_outer(*all);
      return;
    }
    set(handle, all->outer->layout().problem);
    handle.made_by = layouts[all->layout_of[all->outer->chosen]].made_by;
  });
  if (made != TWILL_OK) return made;
  if (!all->outer) return TWILL_REFUSED;
  const twill_result outer = make(solution, [&](twill_solution& handle) {
    twill::Solution chosen = all->outer->solution();
    chosen.status = all->outer->status;
    twill::record_made_by(chosen, layouts[all->layout_of[all->outer->chosen]]);
    set(handle, all->outer->layout().problem, std::move(chosen));
  });
  if (outer != TWILL_OK) return outer;
  return make(inner_solution, [&](twill_solution& handle) {
    const std::size_t layout = all->layout_of[all->outer->chosen];
    set(handle, twill::inner_problem(nests[layout]), all->chosen().inner);
  });
}

twill_result twill_workload_nest_flat(const twill_workload* workload, const char* inner,
                                      const twill_options* options, twill_problem** problem,
                                      twill_solution** solution) {
  return solve_best(
      [&] {
        std::vector<twill::Lowered> layouts;
        const std::vector<twill::NestedLoop> nests = nests_of(known_part(workload), inner, layouts);
        for (std::size_t k = 0; k < layouts.size(); ++k)
          layouts[k].problem = twill::flat_problem(nests[k]);
        return layouts;
      },
      options, problem, solution);
}

twill_result twill_workload_program(const twill_workload* workload, const twill_options* options,
                                    const char* turns, int merge, twill_problem** problem,
                                    twill_solution** solution, twill_program** program) {
  if (problem != nullptr) *problem = nullptr;
  if (solution != nullptr) *solution = nullptr;
  twill_result result = TWILL_OK;
  std::optional<twill::MadeProgram> found;
  const twill_result made = make(program, [&](twill_program& handle) {
    const twill_options known = known_part(options);
    twill::ProgramOptions asked;
    asked.search = options_of(known);
    asked.derive = {turns_of(turns), merge != 0};
    std::mutex mutex;
    asked.progress = callback_of(known, mutex);
    const CancelWatch watch(known.cancel);
    twill::ProgramResult all =
        twill::best_program(program_source_of(known_part(workload)), asked, watch.token());
    found = std::move(all.made);
    if (found) set(handle, found->program);
    if (found) {
      handle.barriers = found->barriers;
      handle.contention = found->contention;
    }
    handle.error = all.why;
    if (all.missing != twill::Missing::nothing)
      result = all.missing == twill::Missing::defect ? TWILL_INTERNAL : TWILL_REFUSED;
  });
  if (made != TWILL_OK || result != TWILL_OK) return made != TWILL_OK ? made : result;
  if (problem != nullptr) {
    const twill_result one = make(problem, [&](twill_problem& h) { set(h, found->problem); });
    if (one != TWILL_OK) return one;
  }
  if (solution == nullptr) return TWILL_OK;
  return make(solution,
              [&](twill_solution& h) { set(h, found->problem, std::move(found->solution)); });
}

twill_result twill_ttgir_loops(const char* text, size_t length, twill_report** report) {
  return make(report, [&](twill_report& handle) {
    if (text == nullptr) refuse("text", "NULL", "must be given");
    handle.text = twill::triton_loops(std::string_view(text, length), "module");
  });
}

twill_result twill_ttgir_emit(const twill_workload* workload, const twill_problem* problem,
                              const twill_solution* solution, const char* kind,
                              twill_report** report) {
  return make(report, [&](twill_report& handle) {
    const twill_workload known = known_part(workload);
    const twill::Problem& loop = problem_in(problem);
    if (!is_module(known)) refuse("workload.input", "no module", "must be a TTGIR module's text");
    const twill::Schedule* schedule = schedule_in(solution);
    if (schedule == nullptr) refuse("solution", "no schedule", "must hold a schedule");
    const twill::TritonLoop module = module_of(known, false);
    const auto same = [&](const twill::Lowered& one) {
      return one.problem.ops == loop.ops && one.problem.edges == loop.edges;
    };
    if (std::none_of(module.problems().begin(), module.problems().end(), same))
      refuse("problem", "another loop's", "must be of this workload");
    if (twill::verify(loop, *schedule))
      refuse("solution", "a schedule that breaks a rule", "must be accepted by verify");
    const std::string_view wanted = kind == nullptr ? "" : kind;
    if (wanted == "ttgir")
      handle.text = module.annotated(loop, *schedule);
    else if (wanted == "pipelined")
      handle.text = module.pipelined(loop, *solution->solution);
    else
      refuse("kind", kind == nullptr ? "NULL" : kind, "must be ttgir or pipelined");
  });
}

twill_result twill_program_emit(const twill_program* program, const char* to, int for_trips,
                                twill_report** report) {
  if (report == nullptr) return TWILL_BAD_INPUT;
  twill_result result = TWILL_OK;
  const twill_result made = make(report, [&](twill_report& handle) {
    if (program == nullptr || !program->program) refuse("program", "none", "must hold a program");
    const twill::KernelOptions kernel = kernel_options(to, for_trips);
    const auto no = [&](const std::string& rule, const std::string& text) {
      handle.error = rule + ": " + text;
      result = TWILL_REFUSED;
    };
    if (const auto fault = twill::program::judge(*program->program))
      return no(fault->rule, fault->text);
    auto text = twill::emit_program(*program->program, kernel);
    if (const auto* refusal = std::get_if<twill::program::Refusal>(&text))
      return no(refusal->rule, refusal->text);
    handle.text = std::move(std::get<std::string>(text));
  });
  return made != TWILL_OK ? made : result;
}

twill_result twill_workload_emit(const twill_workload* workload, const twill_options* options,
                                 const char* to, int for_trips, twill_program** program,
                                 twill_report** report) {
  if (report == nullptr) return TWILL_BAD_INPUT;
  *report = nullptr;
  twill_result result = TWILL_OK;
  std::string text;
  const twill_result made = make(program, [&](twill_program& handle) {
    const twill_workload known = known_part(workload);
    twill::KernelOptions kernel = kernel_options(to, for_trips);
    if (known.machine != nullptr && !is_text(known.machine)) kernel.machine = known.machine;
    if (kernel.persistent && is_module(known))
      refuse("to", to, "a module's function keeps the loops that it has");
    const twill_options search = known_part(options);
    const CancelWatch watch(search.cancel);
    auto emitted = twill::emit_kernel(whole_function_of(known), kernel, {options_of(search), {}, 0},
                                      watch.token());
    if (emitted.result.made) set(handle, std::move(emitted.result.made->program));
    text = std::move(emitted.text);
    if (emitted.result.missing == twill::Missing::nothing) return;
    handle.error = emitted.result.why;
    result = emitted.result.missing == twill::Missing::defect ? TWILL_INTERNAL : TWILL_REFUSED;
  });
  if (made != TWILL_OK || result != TWILL_OK) return made != TWILL_OK ? made : result;
  return make(report, [&](twill_report& handle) { handle.text = std::move(text); });
}

twill_result twill_problem_pin(const twill_problem* problem, const char* kind, const char* op,
                               const char* value, twill_problem** pinned) {
  return make(pinned, [&](twill_problem& handle) {
    twill::Problem changed = problem_in(problem);
    if (kind == nullptr || value == nullptr) refuse("kind, value", "NULL", "must be given");
    pin(changed, kind, op, value);
    twill::check(changed, "problem");
    set(handle, std::move(changed));
    handle.made_by = problem->made_by;
  });
}

twill_result twill_problem_slack(const twill_problem* problem, int64_t cycles,
                                 twill_problem** slack) {
  return make(slack, [&](twill_problem& handle) {
    const twill::Problem& loop = problem_in(problem);
    if (cycles < 0) refuse("cycles", std::to_string(cycles).c_str(), "must be a number from 0");
    twill::Problem changed = twill::with_slack(loop, cycles);
    if (cycles > 0) changed.name += " with slack " + std::to_string(cycles);
    twill::check(changed, "problem");
    set(handle, std::move(changed));
  });
}

}  // extern "C"
