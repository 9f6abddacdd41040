// Handles of the C interface that are freed with their object, and a workload of two names.
#pragma once

#include "engine/include/twill.h"

namespace twill::test {

struct Handles {
  twill_problem *problem = nullptr, *inner_problem = nullptr;
  twill_solution *solution = nullptr, *inner = nullptr;
  twill_program* program = nullptr;
  twill_report* report = nullptr;

  Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    twill_solution_free(solution);
    twill_solution_free(inner);
    twill_problem_free(problem);
    twill_problem_free(inner_problem);
    twill_program_free(program);
    twill_report_free(report);
  }
};

inline twill_workload workload(const char* input, const char* machine) {
  twill_workload w;
  twill_workload_init(&w);
  w.input = input;
  w.machine = machine;
  return w;
}

}  // namespace twill::test
