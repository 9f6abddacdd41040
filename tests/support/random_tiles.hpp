// Small random kernels with parameters, and a machine that they are for.
#pragma once

#include <cstdint>
#include <string>

namespace twill::test {

/// A machine with two units and three layouts whose slots have few registers: some cannot hold
/// some values of a kernel.
extern const char* const kTileMachine;

/// The text of a kernel file of version 3 with parameters x (2 or 3 values), y (2) and n (copies of
/// a group, 1 or 2), often with a condition that leaves some combinations out. Costs, registers,
/// distances and the work of an iteration are expressions of them.
std::string random_tile_kernel(std::uint64_t seed);

}  // namespace twill::test
