// Barriers in shared memory that count arrivals and the bytes of TMA.
#pragma once

#include "gpu/emulator/state.hpp"

namespace twill::gpu::emulator {

Mbarrier& mbarrier(Block& block, std::uint32_t address);
/// The same for use by the running thread (TMA: by the async proxy), which must see the
/// initialisation.
Mbarrier& visible_mbarrier(Block& block, std::uint32_t address, bool tma = false);
/// Ends the phase if nothing is missing.
void settle(Mbarrier& b);
/// One arrival.
void arrive(Mbarrier& b);

}  // namespace twill::gpu::emulator
