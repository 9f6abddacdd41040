// Where the ops of a scheduled loop go: partition, stage and place in the iteration, as Triton's
// warp-specialisation passes read them.
//
// Slots become partitions: those of four warps and more first, then the rest. Partition 0, the
// default group that also runs what comes after the loop, is the slot that stores accumulators
// back, if one does: Triton lets at most two partitions share a buffer of tensor memory.
//
// Two kinds of ops do not go where their slot is, because Triton 3.9 takes them no other way. A
// load through pointers goes where its result is used: only loads by descriptor are handed from one
// partition to another ("cpasync not supported yet"). Of an inner loop that was scheduled as one
// op, the loads go to the slot of the variable-latency ops and the tensor memory products to the
// slot of the products: a partition with products may not be the default one, and tokens of tensor
// memory do not leave that. Both run on their own once they are issued, so the reservation of the
// inner loop holds as before.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/problem.hpp"
#include "graph/schedule.hpp"
#include "graph/ttgir/lower_ttgir.hpp"

namespace twill::ttgir {

/// Where an op of the body goes: the ids of its partitions, its stage, its place in the iteration.
struct Place {
  std::set<int> partitions;
  Cycle stage = 0;
  int cluster = 0;
  bool known = false;
};

/// Per node of the loop, the op of the problem that it became: its own or the chain that it is in;
/// -1 where it is none.
std::vector<int> problem_ops(const LoweredModule& lowered, const Problem& problem);

/// The narrow slot of fixed latency that issues tensor memory products, or -1.
int product_slot(const Problem& problem);

/// What a schedule must keep to for Triton's passes to take it: the tensor memory products of the
/// loop are issued by one partition (the product slot), and what ops after the loop read (tiles
/// that the loop yields, accumulators that it scales) comes from one, which becomes the default
/// group.
std::vector<Pin> partition_pins(const LoweredModule& lowered, const Problem& problem);

class Placer {
 public:
  Placer(const LoweredModule& lowered, const Problem& problem, const Schedule& schedule);

  const std::vector<int>& body() const { return body_; }
  const Place& place(int op) const { return places_.at(op); }
  /// Of an op inside an inner loop that is spread over partitions; else null: as the op around it.
  const std::set<int>* partitions_within(int op) const;
  /// Of such a loop: one set a result.
  const std::vector<std::set<int>>* outputs_within(int op) const;
  int partitions() const { return static_cast<int>(deepest_.size()); }
  const std::vector<Cycle>& deepest() const { return deepest_; }  ///< stage, by partition
  Cycle stages() const { return stage_count(schedule_); }
  /// Where an op's partition is not that of its slot, and why.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  bool is_spread(int op) const;
  std::vector<int> used_slots() const;
  void number_partitions();
  void number_clusters();
  void place_nodes();
  void note_users();
  void spread(int loop);
  std::set<int> seed(int op, const std::set<int>& own) const;
  void place_rest();
  void place_at_users(int op, Place& place);

  const LoweredModule& l_;
  const Module& m_;
  const Problem& problem_;
  const Schedule& schedule_;
  std::vector<int> body_;
  std::vector<int> index_;        // per node, op of the problem
  std::map<int, int> partition_;  // slot -> partition
  std::map<Cycle, int> cluster_;  // start modulo I -> cluster
  std::unordered_map<int, Place> places_;
  std::unordered_set<int> views_;
  std::unordered_map<int, std::vector<std::pair<int, int>>> users_;  // op -> user, op of the body
  std::unordered_map<int, std::set<int>> within_;
  std::unordered_map<int, std::vector<std::set<int>>> outputs_;
  std::vector<Cycle> deepest_;
  std::vector<std::string> remarks_;
};

}  // namespace twill::ttgir
