// One relation "happens before" of a program's run: every order that it may have (judge.cpp argues
// why a few runs are enough).
#pragma once

#include <cstdint>
#include <vector>

#include "graph/program/judge_shape.hpp"

namespace twill::program::judged {

/// What all runs of a program have in common. The program must outlive it.
class Common {
 public:
  explicit Common(const Program& program);

  /// A storage whose addresses another one shares, or itself.
  struct Near {
    int storage = 0;
    /// Per copy of the other one and then of this: have they cells in common? Empty = too many.
    std::vector<char> meets;
  };

  const Program& program;
  std::vector<std::vector<int>> waits;  ///< per op
  std::vector<std::vector<int>> ends;   ///< per event: ends_of()
  std::vector<int> queue;               ///< per op; -1 = none
  int queues = 0;
  std::vector<int> writer;              ///< per storage
  std::vector<std::vector<Near>> near;  ///< per storage: its `shares`, then itself
  std::vector<std::int64_t> carried;    ///< per storage: largest distance of a read
};

/// Do a copy of one storage and a copy of another, or the same, have cells in common?
bool meet(const Program& program, int s, std::int64_t i, int t, std::int64_t j);

/// The first thing that is wrong in some order of a run of n iterations. `cut`: into tiles,
/// wherever. `words` is room to work in; whoever judges many runs gives the same one.
Finding check_run(const Common& common, int n, std::vector<std::uint64_t>& words, bool cut = false);

}  // namespace twill::program::judged
