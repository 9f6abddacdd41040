// What the judge found wrong, as orders for the executor.
#pragma once

#include <vector>

#include "graph/program/execute.hpp"
#include "graph/program/judge.hpp"
#include "graph/program/program.hpp"

namespace twill::program {

/// Orders in which an instance of the witness is kept back until another of it has ended, for every
/// two of them; all `later` iterations later, for in iteration 0 what is wrong may be multiplied by
/// an initial 0. Empty where the witness names fewer than two (of a deadlock any order shows it).
std::vector<Course> replay(const Program& program, const Fault& fault, int later = 0);

}  // namespace twill::program
