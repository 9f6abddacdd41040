// Which schedule's text is written: the best one's, where it can be, and else the best of others.
#pragma once

#include <stop_token>

#include "engine/kernel_text.hpp"

namespace twill {

struct WrittenKernel {
  EmittedKernel kernel;
  Leeway leeway;  ///< what its text was given
};

/// Of a source of one loop (its `sequence` is not looked at).
WrittenKernel written_kernel(const ProgramSource& source, const KernelOptions& kernel,
                             const ProgramOptions& options, std::stop_token stop);

}  // namespace twill
