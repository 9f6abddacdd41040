// As another project writes it: the one public header, by its name alone.
#include <iostream>
#include <twill.hpp>

int main(int, char** argv) {
  const twill::Problem problem = twill::read_problem(argv[1]);
  const twill::Solution solution = twill::solve(problem);
  if (!solution.schedule || twill::verify(problem, *solution.schedule)) return 1;
  std::cout << "Twill " << twill::version() << ": I = " << solution.schedule->initiation_interval
            << ", L = " << solution.schedule->length << "\n";
  return 0;
}
