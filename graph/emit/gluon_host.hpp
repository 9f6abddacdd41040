// The host's part of a Gluon file: checks of tensors, launch, reference, self-check.
#pragma once

#include <string>

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// Everything after the kernel function; with another `launch` than Gluon's, if one is given.
/// Throws Refusal.
std::string host_text(const Plan& plan, const char* launch = nullptr);

}  // namespace twill::emit
