// What the searches for a kernel's program share (kernel_program.cpp).
#pragma once

#include "engine/include/twill_emit.hpp"

namespace twill {

/// Behind the reason why there is nothing, where not all was tried.
inline constexpr const char* kNotAllTried = "; the time was over before all schedules were tried";

/// `now` is of the problem of `first` with more asked: what satisfies that satisfies the problem as
/// it is, too. So `now` is as good as `first` where I and L are, else feasible; what is proved is
/// what is proved of `first`.
void take_bounds(MadeProgram& now, const MadeProgram& first);

}  // namespace twill
