/* As a C program of another project writes it. */
#include <stdio.h>
#include <twill/twill.h>

int main(int argc, char** argv) {
  int failed = 1;
  twill_problem* problem = NULL;
  twill_solution* solution = NULL;
  twill_program* program = NULL;
  if (argc == 2 && twill_problem_read(argv[1], &problem) == TWILL_OK &&
      twill_solve(problem, NULL, &solution) == TWILL_OK &&
      twill_verify(problem, solution) == TWILL_OK &&
      twill_program_derive(problem, solution, &program) == TWILL_OK) {
    printf("Twill %s: I = %d, L = %d\n", twill_version(), (int)twill_solution_ii(solution),
           (int)twill_solution_length(solution));
    failed = 0;
  }
  twill_program_free(program);
  twill_solution_free(solution);
  twill_problem_free(problem);
  return failed;
}
