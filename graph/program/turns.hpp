// The fewest turns on shared units.
#pragma once

#include <optional>

#include "graph/program/storages.hpp"

namespace twill::program {

/// All of a program but what the files say of it: ops, storages, addresses, waits, barriers.
std::optional<Refusal> derive_draft(const Problem& problem, const Schedule& schedule, Draft& draft);

/// Of a draft without turns one with as few as it needs (Turns::needed).
std::optional<Refusal> add_needed_turns(const Problem& problem, const Schedule& schedule,
                                        Draft& draft);

}  // namespace twill::program
