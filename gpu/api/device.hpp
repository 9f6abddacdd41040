// The device of a launch, and what its kernels multiply scores with.
#pragma once

#include <cmath>

namespace twill::gpu {

/// The current device's number of multiprocessors. Refuses (Refusal) one that is not of compute
/// capability 9.0.
int multiprocessors();

inline constexpr double kLog2E = 1.4426950408889634074;

/// The scale of an argument, where 0 stands for 1 / sqrt(head_dim).
inline double softmax_scale(float argument, int head_dim) {
  return argument > 0 ? static_cast<double>(argument) : 1 / std::sqrt(head_dim);
}

}  // namespace twill::gpu
