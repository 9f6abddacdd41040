// twill::graph alone: lower a built-in kernel, no solver linked.
#include <iostream>
#include <twill/graph/lower.hpp>

int main() {
  const auto lowered = twill::lower(twill::builtin_kernel("figure-1"), "figure-1",
                                    twill::builtin_machine("figure-1"), "figure-1", {});
  std::cout << lowered.front().problem.ops.size() << " ops\n";
  return lowered.front().problem.ops.size() == 3 ? 0 : 1;
}
