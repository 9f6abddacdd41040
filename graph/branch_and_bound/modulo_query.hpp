// The branch and bound over orders (modulo_schedule.hpp): the search of its tree.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/branch_and_bound/modulo_node.hpp"
#include "graph/branch_and_bound/modulo_schedule.hpp"

namespace twill::modulo {

/// stopped = the stop token or the node limit came first.
enum class Outcome { found, refuted, stopped };

struct Answer {
  Outcome outcome = Outcome::refuted;
  std::vector<Cycle> start;  ///< found: per node of the instance
};

/// Is there a schedule of length <= deadline?
class Query {
 public:
  /// `nodes` is raised by the number of nodes searched. Precondition: instance.feasible() and
  /// instance.shortest() <= deadline. The references outlive this.
  Query(const Instance& instance, Cycle deadline, const ModuloScheduleOptions& options,
        std::atomic<std::int64_t>& nodes)
      : instance_(instance), options_(options), nodes_(nodes), root_(instance, deadline) {
    assert(instance.feasible() && instance.shortest() <= deadline);
  }

  Answer run();

 private:
  struct Subtree {
    std::vector<Decision> decisions;  // from the root
    Answer answer;
    bool open = true;  // may still be cut further
  };

  std::vector<Cycle> starts(const Node& node) const;
  /// The tree's first levels, in depth-first order.
  std::vector<Subtree> cut() const;
  /// Depth-first search; gives up when a subtree further left has won.
  Answer search(const Subtree& subtree, std::size_t index, const std::atomic<std::size_t>& winner);

  const Instance& instance_;
  const ModuloScheduleOptions& options_;
  std::atomic<std::int64_t>& nodes_;
  Node root_;
};

}  // namespace twill::modulo
