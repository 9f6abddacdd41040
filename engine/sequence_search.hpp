// A function of several loops: a program for each, one kernel of all.
#pragma once

#include <stop_token>

#include "engine/include/twill_emit.hpp"

namespace twill {

/// Of a source with a `sequence`.
EmittedKernel written_sequence(const ProgramSource& source, const KernelOptions& kernel,
                               const ProgramOptions& options, std::stop_token stop);

}  // namespace twill
