// Difference constraints between rows, and literals that stand for them.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <unordered_map>
#include <utility>
#include <vector>

#include "encoders/formula.hpp"
#include "graph/problem.hpp"

namespace twill {

/// x(to) - x(from) >= weight + turns * I - deadlines * D - halves * floor(I / 2), where x is the
/// row or the stage of an op. I (the initiation interval) and D (the largest length allowed) are
/// parameters: the same constraint is looked at for many values of them.
///
/// Node 0 is the origin, whose row and stage are 0. The rows of ops come next, one for all ops that
/// start together. The stages follow in the same order, if there are any; no constraint joins rows
/// and stages. Last come the first rows of sequences (order/sequence.cpp).
///
/// Constraints on stages have a weight only: their cycles do not depend on the parameters. For
/// rows, where all weights are >= 0, a simple cycle with at most one half that is positive at some
/// I is positive at every smaller I: with turns in all >= 1 it is positive at any I, and else it
/// does not fall as I falls.
struct Difference {
  int from = 0, to = 0;
  Cycle weight = 0;
  Cycle turns = 0;
  int deadlines = 0;
  int halves = 0;  ///< of facts only
  bool operator==(const Difference&) const = default;

  /// The right side at given parameters.
  Cycle at(Cycle ii, Cycle deadline) const {
    return weight + turns * ii - deadlines * deadline - halves * (ii / 2);
  }
};

/// A literal that, when true, asserts its difference constraint; when false nothing is asserted, so
/// it stands in clauses in positive polarity only. Lemmas read it as equivalent to the constraint,
/// which no such clause can tell apart.
struct DifferenceAtom {
  Difference difference;
  int variable = 0;  ///< DIMACS
};

/// x(to) - x(from) >= the difference's right side + the amounts of all variables that are true: a
/// constraint of its own for every set of them. The difference alone is a fact, amounts are > 0.
struct DifferenceSum {
  struct Term {
    int variable = 0;  ///< DIMACS
    Cycle amount = 0;
  };
  Difference difference;
  std::vector<Term> terms;
};

/// All constraints and atoms of one formula, for every I in [ii_low, ii_high].
class Differences {
 public:
  /// Rows of `ops` ops lie in [0, I). With `stages` every op has a stage too, any integer.
  Differences(Formula& f, int ops, Cycle ii_low, Cycle ii_high, bool stages = false);
  /// The same, where op v starts with op leaders[v], which is its own leader.
  Differences(Formula& f, const std::vector<int>& leaders, Cycle ii_low, Cycle ii_high,
              bool stages);

  int node(int op) const { return node_[static_cast<std::size_t>(op)]; }
  int stage_node(int op) const { return starts_ + node(op); }
  bool is_row(int node) const { return node > 0 && node <= starts_; }
  bool is_stage(int node) const { return stages_ && node > starts_ && node <= 2 * starts_; }
  /// A node of its own, for a row.
  int new_node() { return nodes_++; }
  int nodes() const { return nodes_; }

  /// The literal of a constraint: constant where all rows in [0, I) and all stages satisfy it, or
  /// none do, for every I of the range; a constraint met before keeps its literal.
  Lit atom(const Difference& difference);
  /// The constraint holds always.
  void fact(const Difference& difference);
  /// The constraints hold always; so does the difference, which is made a fact.
  void sum(DifferenceSum sum);

  const std::vector<Difference>& facts() const { return facts_; }
  const std::vector<DifferenceAtom>& atoms() const { return atoms_; }
  const std::vector<DifferenceSum>& sums() const { return sums_; }

 private:
  struct Hash {
    std::size_t operator()(const Difference& d) const;
  };

  Formula& f_;
  std::vector<int> node_;  // by op
  int starts_ = 0, nodes_ = 1;
  bool stages_;
  Cycle ii_low_, ii_high_;
  std::vector<Difference> facts_;
  std::vector<DifferenceAtom> atoms_;
  std::vector<DifferenceSum> sums_;
  // Freed all at once: node by node, those of millions of atoms take seconds.
  std::unique_ptr<std::pmr::monotonic_buffer_resource> room_ =
      std::make_unique<std::pmr::monotonic_buffer_resource>();
  std::pmr::unordered_map<Difference, Lit, Hash> known_{room_.get()};
};

}  // namespace twill
