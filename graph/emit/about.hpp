// What the head of every emitted Python file says of its program.
#pragma once

#include <string>

#include "graph/emit/gluon.hpp"

namespace twill::emit {

/// "I >= 4096 is proved", and where addresses cost something, what is proved of schedules that have
/// some.
std::string proved_of(const program::Program& program);

/// "optimal" or "feasible", with the schedules that this is about where they are not all.
std::string status_of(const program::Program& program);

/// Whose program it is, on which machine, its schedule (optimal or feasible), its interval I with
/// the proved bound (cycles of the machine file), its stages, and the hash of its problem: lines
/// that end in an empty one.
std::string about_program(const program::Program& program, const EmitOptions& options);

}  // namespace twill::emit
