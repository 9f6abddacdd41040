// A program as one CUDA C++ file over the headers of gpu/hopper, and gpu/blackwell for Blackwell.
#pragma once

#include <string>
#include <variant>

#include "graph/emit/gluon.hpp"

namespace twill::emit {

/// The file, or why there is none: rules as of emit_gluon(); beside them what this back end does
/// not carry. Nothing is half written. The program must be one that judge() accepts; the kernel is
/// never a user's own function (EmitOptions::user must be null).
///
/// Every slot becomes a function; statements are those of the program in its order. A loop begins
/// again where no product is in flight, if there is such a place (cut_code.hpp).
std::variant<std::string, program::Refusal> emit_cuda(const program::Program& program,
                                                      const EmitOptions& options);

}  // namespace twill::emit
