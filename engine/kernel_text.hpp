// A program as the text of a kernel, and why there is none.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "engine/include/twill_emit.hpp"
#include "graph/emit/gluon.hpp"

namespace twill {

using EmittedText = std::variant<emit::GluonKernel, program::Refusal>;

/// What a text is not given at first.
struct Leeway {
  bool scarce = false;  ///< as few registers beside its tiles as a slot can have: ptxas may spill
  bool old = false;     ///< emit::kMostOlderCopies
  bool handed = false;  ///< emit::EmitOptions::tiles_handed
};

emit::EmitOptions emit_options(const meaning::UserKernel* user, const KernelOptions& kernel,
                               const Leeway& leeway = {});
/// user: nullptr = the program is no module's. moved: emit::EmitOptions::moved.
EmittedText text_of(const program::Program& program, const meaning::UserKernel* user,
                    const KernelOptions& kernel, const Leeway& leeway = {},
                    const std::vector<std::string>& moved = {});
EmittedText text_of(const MadeProgram& made, const KernelOptions& kernel,
                    const Leeway& leeway = {});

bool is_refused(const EmittedText& emitted);
/// For registers, or warps, or what else of the limits is no memory.
bool refused_for_limits(const EmittedText& emitted);
/// For shared memory.
bool refused_for_room(const EmittedText& emitted);
/// emit::kHandedProduct.
bool is_handed_product(const EmittedText& emitted);

}  // namespace twill
