// The model of the barrier protocol, in gpu's own build: plain C++, no GPU, no test framework.
#include "gpu/tests/protocol_checks.hpp"

#include <cstdio>

#include "gpu/tests/backward_protocol_checks.hpp"

int main() {
  int failed = 0;
  const auto report = [&](const char* what, const std::vector<std::string>& failures) {
    std::printf("%s: %s\n", what, failures.empty() ? "ok" : "FAILED");
    for (const std::string& failure : failures) std::printf("  %s\n", failure.c_str());
    failed += !failures.empty();
  };
  using namespace twill::gpu::tests;
  report("no deadlock, wrong read or overwrite in any interleaving", forward_protocol_holds());
  report("every step finds its operands in the registers", forward_registers_hold());
  report("planted errors are found", planted_errors_are_found());
  report("backward: no deadlock, wrong read or overwrite in any interleaving",
         backward_protocol_holds());
  report("backward: every step finds its operands in the registers", backward_registers_hold());
  report("backward: planted errors are found", planted_backward_errors_are_found());
  return failed;
}
