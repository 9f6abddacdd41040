// Schedules become programs that the judge accepts: random loops and the built-in attention
// kernels.
#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <string>
#include <variant>

#include "engine/include/twill.hpp"
#include "graph/io/builtin.hpp"
#include "graph/program/derive.hpp"
#include "graph/program/judge.hpp"
#include "tests/support/random_loop.hpp"

using namespace twill;
using program::Program;
using program::Refusal;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

TEST_CASE("attention") {
  struct Case {
    const char *kernel, *machine;
  };
  const Case cases[] = {{"blackwell-fwd-plain", "blackwell"}, {"blackwell-fwd-sub2", "blackwell"},
                        {"blackwell-bwd", "blackwell"},       {"blackwell-bwd-sub2", "blackwell"},
                        {"hopper-fwd-plain", "hopper"},       {"hopper-fwd-sub2", "hopper"},
                        {"hopper-fwd-sub2-m128", "hopper"},   {"hopper-bwd", "hopper"},
                        {"hopper-bwd-q64", "hopper"},         {"hopper-bwd-sub2", "hopper"}};
  for (const Case& c : cases)
    for (const std::string reading : {"", "-paper"}) {
      const std::string machine = c.machine + reading;
      CAPTURE(c.kernel);
      CAPTURE(machine);
      LowerOptions options;
      options.normalize = 0;
      LayoutsSolution all;
      try {
        all = solve_layouts(
            lower(builtin_kernel(c.kernel), c.kernel, builtin_machine(machine), machine, options));
      } catch (const InputError& e) {
        MESSAGE(c.kernel << " " << machine << " " << e.what());
        continue;
      }
      if (!all.solution().schedule) {
        MESSAGE(c.kernel << " " << machine << " no schedule");
        continue;
      }
      const Problem& problem = all.layouts[all.chosen].problem;
      const double a = now();
      auto made = program::derive(problem, *all.solution().schedule);
      const double b = now();
      if (const auto* refusal = std::get_if<Refusal>(&made)) {
        MESSAGE(c.kernel << " " << machine << ": " << refusal->rule << ": " << refusal->text);
        continue;
      }
      const auto& program = std::get<Program>(made);
      const auto fault = program::judge(program);
      const double d = now();
      MESSAGE(c.kernel << " " << machine << " I " << program.initiation_interval << " ops "
                       << program.ops.size() << " waits " << program.waits.size() << " enough "
                       << *program::enough_iterations(program) << " derive " << b - a << " judge "
                       << d - b);
      if (fault) MESSAGE(fault->rule << ": " << fault->text);
      CHECK(!fault);
    }
}

TEST_CASE("random loops") {
  std::map<std::string, int> counts;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const Problem problem = test::random_loop(seed);
    const Solution solution = solve(problem);
    if (!solution.schedule) {
      ++counts["no schedule"];
      continue;
    }
    auto made = program::derive(problem, *solution.schedule);
    if (const auto* refusal = std::get_if<Refusal>(&made)) {
      ++counts[refusal->rule];
      continue;
    }
    ++counts["programs"];
    const auto fault = program::judge(std::get<Program>(made));
    if (fault) FAIL_CHECK(fault->rule << ": " << fault->text);
  }
  for (const auto& [what, count] : counts) MESSAGE(what << " " << count);
}
