// What would help where there is no schedule: other options, tried by themselves.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "engine/cli/workload.hpp"
#include "engine/include/twill_emit.hpp"

namespace twill::cli {

/// "with --registers auto: I = 4096", a line each, for a workload that was proved to have no
/// schedule with these flags: the register split, and sub-tiling of a TTGIR module, each where it
/// was not asked for. Each takes a few seconds at most; what is not found by then is not offered.
std::vector<std::string> offers(const WorkloadFlags& flags, const Workload& work,
                                const Options& options, const std::stop_token& stop);

/// "--subtile M=2 makes it faster: I = 2048, not 3913", for the loop of a module whose kernel was
/// written without sub-tiles, where a kernel of sub-tiles is written, too, and is faster; else
/// "". What takes more than some thousands of conflicts is not tried.
std::string faster_kernel(const WorkloadFlags& flags, Cycle interval, const KernelOptions& kernel,
                          const ProgramOptions& options, const std::stop_token& stop);

/// "replayed in time it takes 2566 clocks an iteration, with --turns 2074 (I = 2048)", for a
/// program without turns that a replay with the machine's costs of barriers says is slower than I
/// by more than one part in 50, where turns help as much and its kernel can be written with them;
/// else "". `merge`: as the program was derived (DeriveOptions).
std::string faster_with_turns(const MadeProgram& made, const KernelOptions& kernel, bool merge);

}  // namespace twill::cli
