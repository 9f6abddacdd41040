// A program as a person reads it.
#pragma once

#include <string>

#include "graph/program/program.hpp"

namespace twill::program {

/// Each slot's prologue, steady state and epilogue with every wait and why it is there; the table
/// of channels; the map of each memory; orders that shared addresses add; barrier waits an
/// iteration. Names are made safe to print.
std::string program_listing(const Program& program);

}  // namespace twill::program
