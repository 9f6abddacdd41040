// The goal `lifetime` in the order engine: the stages and orders assigned so far decide how small
// the sum of all lifetimes can be, by a flow (graph/bounds/difference_flow.hpp). Where that is more
// than the goal allows, what the flow uses of them is the reason: a lemma, so that neither the
// formula nor the number of questions depends on the cycles.
//
// The flow's constraints are between starts, rows and ends, where start = row + stage I:
//   start(v) + distance I + hold <= end(u) for each use (u, v), and the sum is that of end - start;
//   the delays of rule 1 and the length, between starts;
//   facts and atoms of difference logic, between rows;
//   start(v) - row(v) between the least stage times I and the greatest.
// So the recurrences count at the root already (the lifetimes round one sum to distance times I),
// stages as soon as their literals are known, and where everything is assigned the sum is exact.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encoders/order/order.hpp"
#include "engine/order/search_bound.hpp"
#include "graph/bounds/difference_flow.hpp"

namespace twill::order {

class LifetimeLimit final : public SearchBound {
 public:
  /// Schedules whose lifetimes sum to at most `most`, within `stages` stages that are literals.
  /// `reasons` = they will be asked for. Problem and encoding must outlive it.
  LifetimeLimit(const Problem& problem, const OrderEncoding& encoding, Cycle stages,
                std::int64_t most, bool reasons)
      : problem_(problem), encoding_(encoding), stages_(stages), most_(most), reasons_(reasons) {}

  bool reset(Cycle ii, Cycle deadline) override;
  bool assign(int literal) override;
  std::span<const int> lemma() const override { return lemma_; }
  std::string reason() const override { return reason_; }
  void mark() override { flow_->mark(); }
  void undo(std::size_t marks) override { flow_->undo(marks); }

  /// Where all stages and orders are assigned: rows of a schedule with the smallest sum.
  std::vector<Cycle> rows() const;

 private:
  int ops() const { return static_cast<int>(problem_.ops.size()); }
  // Of the flow: the rows, which under this limit are one an op, the starts and the ends.
  int start_node(int v) const { return 1 + ops() + v; }
  int end_node(int v) const { return 1 + 2 * ops() + v; }
  bool add(const FlowArc& arc, std::string name, int literal);
  bool refuse();

  const Problem& problem_;
  const OrderEncoding& encoding_;
  Cycle stages_;
  std::int64_t most_;
  bool reasons_;
  struct Step {  // of a reason
    FlowArc arc;
    std::string name;  // "" = a bound on a stage
    int literal = 0;   // that asserts it; 0 = it holds always
  };
  std::vector<Step> steps_;
  std::vector<int> step_of_;  // by literal, as slots 2 v and 2 v + 1; -1 = none
  std::optional<DifferenceFlow> flow_;
  std::vector<int> lemma_;
  std::string reason_;
};

}  // namespace twill::order
