// The barrier protocol of the GPU kernels, searched for deadlock and overwritten reads on the CPU.
#include <doctest/doctest.h>

#include "gpu/tests/backward_protocol_checks.hpp"
#include "gpu/tests/protocol_checks.hpp"

namespace gpu_protocol_test {

using namespace twill::gpu::tests;
using Failures = std::vector<std::string>;

TEST_CASE("forward: no interleaving deadlocks, reads wrongly or overwrites what is read") {
  CHECK(forward_protocol_holds() == Failures{});
}

TEST_CASE("forward: every step finds the operands of its own iteration in the registers") {
  CHECK(forward_registers_hold() == Failures{});
}

TEST_CASE("errors planted into threads and tables are found") {
  CHECK(planted_errors_are_found() == Failures{});
}

TEST_CASE("backward: no interleaving deadlocks, reads wrongly or overwrites what is read") {
  CHECK(backward_protocol_holds() == Failures{});
}

TEST_CASE("backward: every step finds the operands of its own iteration in the registers") {
  CHECK(backward_registers_hold() == Failures{});
}

TEST_CASE("backward: errors planted into threads and tables are found") {
  CHECK(planted_backward_errors_are_found() == Failures{});
}

}  // namespace gpu_protocol_test
