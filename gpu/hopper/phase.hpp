// The phases of a software-pipelined loop of two stages.
#pragma once

namespace twill::gpu {

/// prologue: stage 0 of the first iteration; epilogue: stage 1 of the last.
enum class Phase : unsigned char { prologue, steady, epilogue };

}  // namespace twill::gpu
