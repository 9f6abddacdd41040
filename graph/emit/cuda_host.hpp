// The host's part of a CUDA file: tables, launch, reference, main().
#pragma once

#include <string>

#include "graph/emit/cuda_plan.hpp"

namespace twill::emit {

/// Members of the Kernel that its host functions need: tables and the reference. Throws Refusal.
std::string cuda_tables(const CudaPlan& plan);
/// The function that is called, and Kernel's run(), reference(), and main().
std::string cuda_host_text(const CudaPlan& plan);

}  // namespace twill::emit
