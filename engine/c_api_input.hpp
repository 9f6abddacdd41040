// What the C interface is given to solve: a kernel or a TTGIR module with its what-ifs and pins.
#pragma once

#include "engine/c_api.hpp"
#include "engine/include/twill_explain.hpp"
#include "engine/include/twill_triton.hpp"

namespace twill::c_api {

/// As known_part(twill_options).
twill_workload known_part(const twill_workload* given);

bool is_module(const twill_workload& workload);

/// With the ranges of its machine at these ends. `computes`: what it computes is asked for, so that
/// copies into rings are undone where the whole function is had back (TritonOptions::undo_rings).
TritonLoop module_of(const twill_workload& workload, bool nest, const RangeEnds& ends = {},
                     bool sequence = false, bool computes = false);
/// The same of a kernel.
Inputs kernel_of(const twill_workload& workload, const RangeEnds& ends = {});

/// The ranges of the machine; empty = its costs are numbers.
std::vector<CostRange> ranges_of(const twill_workload& workload);

int op_named(const Problem& problem, std::string_view name, const char* place);

/// One more decision, as twill_problem_pin takes it. Ranges of numbers are check()'s.
void pin(Problem& problem, std::string_view kind, const char* op, std::string_view value);
/// "slot s0_qk wg0", a line each.
void pin_all(const char* text, Problem& problem);

/// More slots, copies of the loop and pins: on each layout; those without such a slot are left out,
/// with what `leave` has beside them.
template <typename Leave>
void change(const twill_workload& workload, std::vector<Lowered>& layouts, const Leave& leave) {
  std::istringstream slots(workload.more == nullptr ? "" : workload.more);
  for (std::string name; std::getline(slots, name, ',');) {
    if (workload.choose_registers != 0)
      refuse("workload.more", name.c_str(), "does not go with choose_registers");
    for (std::size_t k = 0; k < layouts.size();) {
      if (add_slot(layouts[k], name)) {
        ++k;
        continue;
      }
      layouts.erase(layouts.begin() + static_cast<std::ptrdiff_t>(k));
      leave(k);
    }
    if (layouts.empty()) refuse("workload.more", name.c_str(), "must be a slot of the layout");
  }
  if (workload.unroll < 0 || workload.unroll > kMostCopies)
    refuse("workload.unroll", std::to_string(workload.unroll).c_str(), "must be from 0 to 64");
  if (workload.unroll > 1)
    for (Lowered& lowered : layouts) unroll(lowered, workload.unroll);
  if (workload.pins != nullptr)
    for (Lowered& lowered : layouts) pin_all(workload.pins, lowered.problem);
}

/// The problems, one a layout that fits.
std::vector<Lowered> layouts_of(const twill_workload& workload, const RangeEnds& ends = {});

}  // namespace twill::c_api
