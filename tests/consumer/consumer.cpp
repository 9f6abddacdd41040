// As another project wrote it before headers lay below twill/: by their names alone.
#include <iostream>
#include <twill.hpp>
#include <twill_explain.hpp>
#include <twill_nested.hpp>
#include <twill_picture.hpp>
#include <twill_program.hpp>
#include <twill_triton.hpp>

int main(int, char** argv) {
  const twill::Problem problem = twill::read_problem(argv[1]);
  const twill::Solution solution = twill::solve(problem);
  if (!solution.schedule || twill::verify(problem, *solution.schedule)) return 1;
  const auto made = twill::solve_program(problem, solution);
  const auto* program = std::get_if<twill::program::Program>(&made.program);
  if (program == nullptr || twill::program::judge(*program)) return 1;
  if (twill::program::time_program(*program, problem, *solution.schedule, {}).size() != 2) return 1;
  if (twill::picture(problem, solution, "svg").find("<svg") == std::string::npos) return 1;
  const twill::Evaluation evaluation = twill::evaluate(problem, *solution.schedule);
  if (!evaluation.accepted()) return 1;
  if (twill::explain_interval(problem, 1).verdict() != twill::Verdict::unsat) return 1;
  try {
    twill::read_triton("module {}", "no loop");
    return 1;
  } catch (const twill::InputError&) {
  }
  std::cout << "Twill " << twill::version() << ": I = " << solution.schedule->initiation_interval
            << ", L = " << solution.schedule->length << "\n";
  return 0;
}
