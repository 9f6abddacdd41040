// What a kernel's launch must fit in, checked here: Triton accepts more than the device runs, or
// drops what it cannot do.
#pragma once

#include <optional>
#include <vector>

#include "graph/program/loop_view.hpp"

namespace twill::emit {

// Of a block, on Hopper and on Blackwell; sources in limits.cpp.
inline constexpr int kMostThreads = 1'024;
inline constexpr int kRegisterFile = 65'536;                      ///< of an SM
inline constexpr int kLeastRegisters = 24, kMostRegisters = 240;  ///< of a thread
inline constexpr int kRegisterStep = 8;                           ///< of setmaxnreg
inline constexpr Amount kBarrierBytes = 8;
inline constexpr Amount kMostShared = 232'448;  ///< bytes: 227 KiB

/// A group of warps with code of its own.
struct Partition {
  int warps = 0;
  int registers = 0;  ///< a thread, asked for; of the default partition what is needed
};

struct Launch {
  Partition first;                 ///< the default partition
  std::vector<Partition> workers;  ///< in the order of the kernel's list
  Amount shared_bytes = 0;         ///< buffers and barriers
  Amount tmem_columns = 0;         ///< of the one allocation; 0 = none
  int barriers = 0;
};

/// What the launch comes to, as Triton 3.9 lays it out.
struct LaunchFacts {
  int threads = 0;           ///< with the workers' warps padded to whole warpgroups
  int registers = 0;         ///< a thread at launch: 65,536 / threads, a multiple of 8
  int first_registers = 0;   ///< what the default partition has once the workers gave theirs back
  std::vector<int> workers;  ///< what each has: the most of its warpgroup, a multiple of 8
};

LaunchFacts launch_facts(const Launch& launch);

/// Per worker the warpgroup that it lies in: wider ones come first.
std::vector<int> warpgroups(const Launch& launch);

/// Rule "limits", with Refusal::needs_shared.
program::Refusal no_shared_memory(const std::string& text);

/// The first limit that is broken. Rule "limits".
std::optional<program::Refusal> check_limits(const Launch& launch);

}  // namespace twill::emit
