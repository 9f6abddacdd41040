/* From C: read a problem, solve it, verify the answer, print it.
 *
 *   cc solve.c -ltwill_engine ... && ./solve loop.problem.json */
#include <stdio.h>

#include "twill.h"

static void on_progress(const twill_progress* progress, void* user) {
  int* calls = (int*)user;
  ++*calls;
  if (progress->ii_high > 0 && progress->ii_low > progress->ii_high) *calls = -1000000;
}

static int solve(const twill_problem* problem) {
  int calls = 0;
  int failed = 1;
  size_t op;
  twill_options options;
  twill_solution* solution = NULL;
  twill_options_init(&options);
  options.time_limit = 60;
  options.progress = on_progress;
  options.user = &calls;
  if (twill_solve(problem, &options, &solution) != TWILL_OK) {
    fprintf(stderr, "solve: %s\n", twill_solution_error(solution));
  } else if (twill_solution_ii(solution) == 0) {
    printf("no schedule\n");
  } else if (twill_verify(problem, solution) != TWILL_OK) {
    fprintf(stderr, "verify: %s\n", twill_solution_error(solution));
  } else {
    failed = calls < 0;
    printf("%s: I = %lld, L = %lld\n",
           twill_solution_status(solution) == TWILL_OPTIMAL ? "optimal" : "stopped early",
           (long long)twill_solution_ii(solution), (long long)twill_solution_length(solution));
    for (op = 0; op < twill_problem_op_count(problem); ++op) {
      printf("  %-12s cycle %4lld on %s\n", twill_problem_op_id(problem, op),
             (long long)twill_solution_start(solution, op),
             twill_problem_slot_name(problem, (size_t)twill_solution_slot(solution, op)));
    }
  }
  twill_solution_free(solution);
  return failed;
}

int main(int argc, char** argv) {
  twill_problem* problem = NULL;
  int failed = 1;
  if (argc != 2) {
    fprintf(stderr, "usage: %s PROBLEM\n", argv[0]);
    return 2;
  }
  if (twill_problem_read(argv[1], &problem) == TWILL_OK) {
    failed = solve(problem);
  } else {
    fprintf(stderr, "%s\n", twill_problem_error(problem));
  }
  twill_problem_free(problem);
  return failed;
}
