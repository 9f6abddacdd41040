// The host's part of a Gluon file: checks of tensors, launch, reference, self-check.
#pragma once

#include <string>

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// Everything after the kernel function. Of launch() the checks of tensors and their sizes are the
/// same everywhere; `launch` is what comes after them, if not Gluon's. Throws Refusal.
std::string host_text(const Plan& plan, const char* launch = nullptr);

}  // namespace twill::emit
