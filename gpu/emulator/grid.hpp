// What orders the writes of TMA to global memory, by all blocks of a grid that run at once. A write
// is over for those who know of it: its thread after the full bulk wait, others by a counter that
// is released after it and acquired before, in scopes that have both (PTX ISA, "Release and acquire
// patterns"). Ordinary accesses of global memory are not seen.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "gpu/emulator/core.hpp"
#include "gpu/emulator/machine.hpp"

namespace twill::gpu::emulator {

/// A block's place in the grid.
struct Place {
  int block = 0, cluster = 0;
  bool has(Scope scope, const Place& other) const {
    return scope == Scope::gpu || (scope == Scope::cluster && cluster == other.cluster) ||
           block == other.block;
  }
};

/// A counter in global memory, to which blocks add.
class Counter {
 public:
  void release(const Place& at, Scope scope, const Known& known) {
    releases_.push_back({at, scope});
    learn(told_.launch, known.launch);
  }
  /// What is wrong, "" if nothing; then `known` knows what was released.
  std::string acquire(const Place& at, Scope scope, Known& known) const {
    for (const auto& [from, released] : releases_)
      if (!from.has(released, at) || !at.has(scope, from))
        return "a counter that block " + std::to_string(from.block) +
               " has released is acquired by block " + std::to_string(at.block) +
               ", which is not in the scope of both";
    learn(known.launch, told_.launch);
    return "";
  }

 private:
  struct Release {
    Place at;
    Scope scope;
  };
  std::vector<Release> releases_;
  Known told_;
};

/// Writes of TMA, by lines of 16 bytes.
class GridOrder {
 public:
  /// The thread that is agent `agent` of the launch starts its write number `count`. Sums that must
  /// come out the same every time need additions in a known order, others do not.
  std::string start(const void* to, std::uint32_t bytes, std::uint32_t agent, std::uint32_t count,
                    bool adds, bool ordered_sums, const Known& known) {
    const auto at = reinterpret_cast<std::uintptr_t>(to);
    for (std::uintptr_t line = at / 16; line * 16 < at + bytes; ++line) {
      std::vector<Write>& writes = lines_[line];
      std::erase_if(writes, [&](const Write& one) {
        return one.agent < known.launch.size() && known.launch[one.agent] >= one.count;
      });
      for (const Write& one : writes)
        if (!adds || !one.adds || ordered_sums)
          return std::string("two writes of TMA to one place in global memory") +
                 (adds && one.adds ? ", additions in no known order" : ", and nothing orders them");
      writes.push_back({agent, count, adds});
    }
    return "";
  }

 private:
  struct Write {
    std::uint32_t agent, count;
    bool adds;
  };
  std::unordered_map<std::uintptr_t, std::vector<Write>> lines_;
};

}  // namespace twill::gpu::emulator
