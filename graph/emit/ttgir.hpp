// A program as TTGIR text with its partitions, buffers and barriers in place, for Hopper and
// Blackwell.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/emit/gluon.hpp"

namespace twill::emit {

/// The Triton whose text is written. The format is not kept from version to version.
inline constexpr std::string_view kTritonOfTtgir = "3.9.0";

/// The file, or why there is none: rules as of emit_gluon(), and "ttgir" for a statement that is
/// not written in TTGIR yet. Nothing is half written. The program must be one that judge() accepts.
///
/// The kernel does what the one of emit_gluon() does, statement for statement: it is made of that
/// one's statements (kernel_tree.hpp). Triton takes it from here to machine code; none of its
/// passes on TTGIR is needed.
///
/// `trips`: for this number of iterations alone, which must be less than the slots' stages; -1: for
/// all others. Of kernels that ask themselves for their number of iterations it must be -1.
std::variant<GluonKernel, program::Refusal> emit_ttgir(const program::Program& program,
                                                       const EmitOptions& options, int trips = -1);

/// The same of a function of several loops one behind the other, as emit_gluon() has them.
std::variant<GluonKernel, program::Refusal> emit_ttgir(const std::vector<SequencePart>& parts,
                                                       const EmitOptions& options, int trips = -1);

}  // namespace twill::emit
