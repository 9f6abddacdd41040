// Which partitions of a warp-specialised region an op is needed in.
//
// Ops of two kinds: those with a partition of their own, and those that go where they are used
// (index arithmetic, views, masks, loads through pointers), in several partitions if need be. The
// sets of the latter are the smallest ones that hold the partitions of all that use them, through
// loop variables and results of loops, too.
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

class Demand {
 public:
  /// `root` is the loop that is partitioned whole. `opened` are the loops, root among them, whose
  /// ops are placed one by one; other ops with regions are placed as one. `own` are the
  /// partitions of ops that have theirs. An op that nobody uses goes to that of `otherwise` of
  /// the nearest loop around it that is named there.
  Demand(const Module& module, int root, std::unordered_set<int> opened,
         const std::unordered_map<int, std::set<int>>& own,
         const std::map<int, std::set<int>>& otherwise);

  /// Ops of the opened loops, in the order of the text, without root.
  const std::vector<int>& ops() const { return ops_; }
  bool is_opened(int op) const { return opened_.count(op) != 0; }
  /// Of one of ops(), or of root: of an opened loop those of all that is in it.
  const std::set<int>& partitions(int op) const { return partitions_.at(op); }
  /// Of an opened loop: the partitions that make each of its results; of a token the one that has
  /// its buffer when an iteration begins.
  std::vector<std::set<int>> outputs(int loop) const;
  /// The partitions that have a token's buffer next: those of the first op that takes it, in the
  /// next iteration if need be. None: nobody in the region.
  std::set<int> takers(int token) const;

 private:
  void collect(int loop);
  void need(int value, const std::set<int>& ids);
  void grow(int op, const std::set<int>& ids);
  void settle();
  std::set<int> made_in(int value, std::unordered_set<int>& seen) const;
  int loop_of_argument(int value) const;
  const std::vector<int>& body(int loop) const;
  int yielded(int loop, int k) const;

  const Module& m_;
  const int root_;
  const std::unordered_set<int> opened_;
  std::unordered_set<int> has_own_;
  std::vector<int> ops_;
  std::unordered_map<int, std::set<int>> partitions_;
  std::unordered_map<int, std::set<int>> needed_;  // per value
  std::unordered_map<int, int> first_user_;        // value -> the first of ops() that reads it
  std::vector<int> grown_;                         // ops whose operands are to be asked for
};

/// Can a value be handed from one partition to another, as Triton does it, through shared memory?
/// Numbers and tiles of numbers are; pointers, masks of one bit, descriptors and views of buffers
/// are not. A buffer that is filled where it is allocated is, and so is a token.
bool can_be_handed_on(const Module& module, int value);

}  // namespace twill::ttgir
