// The smallest sum of differences of values under difference constraints, kept up to date while
// constraints come and go, with the reason why it is not smaller: the dual of a minimum-cost flow.
//
// A constraint that the values miss is an arc that flow would gain by: units go round the cheapest
// residual cycles through it until none gains, and the values follow the distances found.
//
// Source: Ahuja, Magnanti and Orlin, "Network Flows" (1993), Sections 9.4 (duality), 9.7
// (successive shortest paths) and 9.11 (what changes when a cost does).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "graph/problem.hpp"
#include "graph/seldom.hpp"

namespace twill {

/// value(to) - value(from) >= weight.
struct FlowArc {
  int from = 0, to = 0;
  Cycle weight = 0;
};

class DifferenceFlow {
 public:
  /// All values 0, no constraints, no sum. No sum above `most` is of interest.
  DifferenceFlow(int nodes, std::int64_t most)
      : most_(most),
        values_(static_cast<std::size_t>(nodes), 0),
        out_(values_.size()),
        in_(values_.size()) {}

  /// One more constraint, `name` for the reason. False when the constraints contradict each other
  /// or the sum is above `most`: then reason() says why, and only undo() may come next.
  bool add(const FlowArc& arc, int name);
  /// value(to) - value(from) is one more term of the sum. There is a path of constraints between
  /// the two. False as add().
  bool count(int from, int to);

  /// The smallest sum, and values that have it.
  std::int64_t sum() const { return sum_; }
  const std::vector<Cycle>& values() const { return values_; }

  /// Names of constraints with how often they count: taken so often and added up, they say that the
  /// sum (or 0, where they contradict each other) is more than `most`.
  struct Step {
    int name = 0;
    std::int64_t times = 0;
  };
  std::vector<Step> reason() const;

  /// A point to come back to.
  void mark();
  /// To the point at which the mark after the first `marks` was set; it and later ones are gone.
  void undo(std::size_t marks);

 private:
  struct Arc {
    FlowArc arc;
    int name = 0;
    std::int64_t times = 0;
  };
  struct Mark {
    std::vector<Cycle> values;
    std::size_t arcs = 0, changes = 0;
    std::int64_t sum = 0;
  };
  using Hop = std::pair<std::size_t, bool>;  // an arc, and is it taken forward?

  Cycle slack(const Arc& a) const {
    return values_[static_cast<std::size_t>(a.arc.to)] -
           values_[static_cast<std::size_t>(a.arc.from)] - a.arc.weight;
  }
  bool reach(int source, int sink, Cycle limit);
  void push(int source, int sink, std::int64_t units);
  void change(std::size_t arc, std::int64_t by);
  bool consistent() const;

  Seldom seldom_;
  std::int64_t most_;
  std::int64_t sum_ = 0;
  std::vector<Cycle> values_;
  std::vector<Arc> arcs_;
  std::vector<std::vector<std::size_t>> out_, in_;
  std::vector<std::pair<std::size_t, std::int64_t>> changes_;  // of arcs' times
  std::vector<Mark> marks_;
  std::vector<Step> contradiction_;  // a positive cycle, if that was found last
  std::vector<Cycle> distance_;      // of reach(), and the path
  std::vector<Hop> by_;
  std::vector<char> done_;
};

}  // namespace twill
