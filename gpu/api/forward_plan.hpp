// The division of a call of twill_fmha_forward into work.
#pragma once

#include <cstdint>

#include "gpu/hopper/forward/work.hpp"
#include "gpu/twill_gpu.h"

namespace twill::gpu {

/// The work of checked arguments: tiles, their order, and whether blocks share K and V.
ForwardWork forward_work(const twill_fmha_forward_arguments& arguments);

/// The clusters of a launch on a device with so many multiprocessors.
int forward_clusters(const ForwardWork& work, int processors);

/// What the cluster with most to do has to do: key blocks of `keys` rows, and one a tile for its
/// beginning and end.
std::int64_t longest_share(const ForwardWork& work, int keys, int clusters);

/// Pairs causal tiles where that leaves the cluster with most to do less. Every cluster takes units
/// in a fixed order, so that no counter is needed.
void balance(ForwardWork& work, int keys, int clusters);

}  // namespace twill::gpu
