// Where the ops of a scheduled loop go: partition, stage and place in the iteration, as Triton's
// pipeliner and warp-specialisation passes read them.
//
// Slots become partitions: those of four warps and more first, then the rest. Partition 0 is the
// default group. Ops are placed by their slot, with exceptions, because Triton (3.7 to 3.9) takes
// them no other way:
// - what cannot be handed from one partition to another (pointers, masks of one bit, views of
//   buffers), loads through pointers ("cpasync not supported yet") and index arithmetic go where
//   they are used, in several partitions if need be (demand.hpp);
// - the region that is partitioned is the whole of the outermost loop that asks for it: of its
//   other ops the loads by descriptor go to the slot for loads, tensor memory products to the
//   slot for products, accesses of a buffer of tensor memory to the slot that has the loop's own,
//   all else to the default group;
// - of an inner loop that was scheduled as one op, loads and tensor memory products are apart in
//   the same way: a partition with products may not be the default one, and both run on their own
//   once they are issued, so the reservation of the inner loop holds as before.
//
// A load is asynchronous only if what uses it is of a later stage. Where the schedule has both in
// one, the load is issued an iteration earlier, if the schedule's judge accepts that: it takes one
// more buffer.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"
#include "graph/ttgir/demand.hpp"
#include "graph/ttgir/lower_ttgir.hpp"

namespace twill::ttgir {

/// Where an op of the body goes: its stage and its place in the iteration.
struct Place {
  Cycle stage = 0;
  int cluster = 0;
  bool known = false;
};

class Placer {
 public:
  Placer(const LoweredModule& lowered, const Problem& problem, const Schedule& schedule);

  const std::vector<int>& body() const { return body_; }
  int root() const { return root_; }
  const Place& place(int op) const { return places_.at(op); }
  bool has_place(int op) const { return places_.count(op) != 0; }
  /// Are there loops in the loop whose ops are placed one by one?
  bool opens_loops() const;
  /// Partitions of all ops in the region.
  const Demand& demand() const { return *demand_; }
  /// Of an op of the loop that the schedule placed: the partition of its slot.
  int own_partition(int op) const;
  int partitions() const { return static_cast<int>(partition_count_); }
  /// The op of the problem that an op of the loop became; -1: none.
  int problem_op(int op) const;
  bool is_view(int op) const { return views_.count(op) != 0; }
  /// Has these partitions execute each iteration as the text has it, but for loads through pointers
  /// ahead of it; the others as the schedule says.
  void keep_text_order(std::set<int> partitions);
  /// Ops with a partition by their slot.
  const std::unordered_map<int, int>& own() const { return own_; }
  /// An op outside the loop that reads results of the loop from several partitions: Triton hands
  /// on no results of a loop with stages. kNone: none does.
  int torn() const { return torn_; }
  /// The latest stage with an op, by partition.
  std::vector<Cycle> deepest() const;
  Cycle interval() const { return schedule_.initiation_interval; }
  Cycle stages() const;
  /// Where a product of a warp group (Hopper) is not of the last stage: all but the loads, and what
  /// they wait for, in one stage, loads as many stages ahead of it as they are of their first use.
  void gather_products();
  /// Has several loads of one stage with their uses issued an iteration earlier, where it can: the
  /// loads that Triton could copy on its own. With `partitioned`, only those through pointers.
  void issue_ahead(bool partitioned);
  /// Buffers that the deepest of the schedule's rings has, at least two.
  std::int64_t ring_depth() const;
  /// Where an op's partition is not that of its slot, and why.
  std::vector<std::string> remarks(bool partitioned) const;

 private:
  bool is_spread(int op) const;
  std::vector<int> used_slots() const;
  void number_partitions();
  void place_nodes();
  void order_by_text();
  std::set<int> loads_and_addresses() const;
  void place_rest();
  void assign_partitions();
  std::optional<std::set<int>> seed(int op, const std::set<int>& own) const;
  std::unordered_set<int> opened_loops() const;
  std::set<int> made_by_loop(int op) const;
  int loaded_in(int op, const std::unordered_map<int, int>& loaded) const;
  std::vector<int> late_loads(bool partitioned) const;
  bool issue_earlier(const std::vector<int>& loads);

  const LoweredModule& l_;
  const Module& m_;
  const Problem& problem_;
  Schedule schedule_;
  const int root_;
  std::vector<int> body_;
  std::vector<int> index_;        // per node, op of the problem
  std::map<int, int> partition_;  // slot -> partition
  std::size_t partition_count_ = 0;
  std::unordered_map<int, Place> places_;
  std::unordered_map<int, int> own_;         // op -> partition of its slot
  std::unordered_map<int, int> problem_op_;  // op -> op of the problem
  std::unordered_set<int> views_;
  std::unordered_map<int, std::vector<int>> users_;       // op of the body -> ops of it that use it
  std::unordered_map<int, std::vector<int>> next_users_;  // the same in the next iteration
  std::unordered_map<int, int> buffer_partition_;         // of tensor memory: value -> partition
  std::set<int> in_text_order_;                           // partitions
  std::optional<Demand> demand_;
  int torn_ = kNone;
  std::vector<std::string> said_;
};

}  // namespace twill::ttgir
