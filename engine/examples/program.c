/* From a kernel to a judged program that is executed with numbers: program KERNEL MACHINE */
#include <stdio.h>

#include "twill.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: program KERNEL MACHINE\n");
    return 2;
  }
  twill_program* program = NULL;
  double share = 0;
  int failed = 1;
  if (twill_program_kernel(argv[1], argv[2], NULL, &program) != TWILL_OK) {
    fprintf(stderr, "%s\n", twill_program_error(program));
  } else if (twill_program_judge(program) != TWILL_OK ||
             (twill_program_executable(program) &&
              twill_program_run(program, 5, 1, &share) != TWILL_OK)) {
    fprintf(stderr, "wrong: %s\n", twill_program_error(program));
  } else {
    printf("I = %lld, judged", (long long)twill_program_ii(program));
    if (twill_program_executable(program))
      printf(", executed: errors of at most %.0f %% of their bounds", 100 * share);
    printf("\n");
    failed = 0;
  }
  twill_program_free(program);
  return failed;
}
