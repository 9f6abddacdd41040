// Addresses of mbarriers.
#pragma once

#include <optional>

#include "graph/program/storages.hpp"

namespace twill::program {

/// Gives every barrier of `draft` an address in kBarrierMemory: behind all storages, or where these
/// leave a gap. Barriers share nothing. A program without such a memory has no addresses. Refusal
/// "placement" where there is no room. Storages must be placed, phases known.
std::optional<Refusal> place_barriers(Draft& draft);

}  // namespace twill::program
