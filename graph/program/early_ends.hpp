// Products that end sooner than their results are asked for, so that registers are free.
#pragma once

#include <optional>
#include <vector>

#include "graph/program/program.hpp"

namespace twill::program {

/// Ops that read registers until they end, while their slot goes on: products of Hopper whose left
/// factor the slot's threads made (PTX ISA, wgmma: A in registers). Ascending; none without a
/// meaning.
std::vector<int> products_of_registers(const Program& program);

/// The program with one wait more: before its slot issues the next op of the queue of `op`, that
/// has ended, and what it reads is free. nullopt = a wait says so already, there is no other op in
/// the queue, or the judge refuses it.
std::optional<Program> ended_early(const Program& program, int op);

}  // namespace twill::program
