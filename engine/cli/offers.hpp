// What would help where there is no schedule: other options, tried by themselves.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "engine/cli/workload.hpp"

namespace twill::cli {

/// "with --registers auto: I = 4096", a line each, for a workload that was proved to have no
/// schedule with these flags: the register split, and sub-tiling of a TTGIR module, each where it
/// was not asked for. Each takes a few seconds at most; what is not found by then is not offered.
std::vector<std::string> offers(const WorkloadFlags& flags, const Workload& work,
                                const Options& options, const std::stop_token& stop);

}  // namespace twill::cli
