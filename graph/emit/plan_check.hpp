// What of a meaning has no text in any language, said before anything else is decided.
#pragma once

#include <optional>

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// Of a plan that has its program, meaning, user's function and links. Rule as emit_gluon() says.
std::optional<program::Refusal> no_text_for(const Plan& plan, const EmitOptions& options);

}  // namespace twill::emit
