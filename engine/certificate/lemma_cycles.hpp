// Why a lemma of difference logic holds: the constraints that its negation asserts and the facts
// contain a cycle whose weights sum to more than 0, while going round a cycle brings every row back
// to itself.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encoders/order/difference.hpp"
#include "engine/certificate/text_writer.hpp"
#include "engine/certificate/theory_lemmas.hpp"

namespace twill {

/// The difference constraints of one formula at fixed I and D. They must outlive this.
class DifferenceRows {
 public:
  DifferenceRows(int nodes, std::span<const Difference> facts,
                 std::span<const DifferenceAtom> atoms, std::span<const DifferenceSum> sums,
                 Cycle ii, Cycle deadline);

  struct Arc {
    int from = 0, to = 0;
    Cycle weight = 0;  ///< row(to) - row(from) >= weight
  };
  /// Fact `index`, if there is one.
  std::optional<Arc> fact(std::size_t index) const {
    return index < facts_.size() ? std::optional(facts_[index]) : std::nullopt;
  }
  /// What a literal that is true asserts of the rows: its atom's constraint, or (a negative
  /// literal) that the constraint does not hold over the integers. nullopt = no atom.
  std::optional<Arc> asserted(int literal) const {
    const auto v = static_cast<std::size_t>(literal < 0 ? -literal : literal);
    if (v >= atoms_.size() || atoms_[v].from < 0) return std::nullopt;
    const Arc& a = atoms_[v];
    return literal > 0 ? a : Arc{a.to, a.from, 1 - a.weight};
  }

  /// What sum `index`, if there is one, says where the lemma does not hold: its difference and the
  /// amounts of the variables that are then true.
  std::optional<Arc> sum(std::size_t index, std::span<const int> lemma) const;
  /// The sums with variables in the lemma, in rising order.
  std::vector<std::size_t> sums_within(std::span<const int> lemma) const;

  int nodes() const { return nodes_; }
  std::span<const Arc> facts() const { return facts_; }

 private:
  Arc arc(const Difference& d) const { return {d.from, d.to, d.at(ii_, deadline_)}; }

  int nodes_;
  Cycle ii_, deadline_;
  std::vector<Arc> facts_;
  std::span<const DifferenceSum> sums_;
  std::vector<Arc> atoms_;  // by variable; from -1 = none
};

/// Finds and writes cycles: "a12 f3 n7 s5" is atom 12, fact 3, the negation of atom 7 and sum 5, in
/// the order in which they are passed.
class CycleFinder {
 public:
  explicit CycleFinder(const DifferenceRows& rows);

  /// Writes the lemma with a positive cycle, as a line of write_lemmas() (proof_files.hpp) without
  /// its end. The cycle that passes these steps is taken if it is positive at these I and D, else
  /// any other. False: there is none.
  bool write(std::span<const int> lemma, std::span<const LemmaStep> steps, TextWriter& text);
  /// A cycle for the lemma, searched for; nullopt = there is none.
  std::optional<std::string> cycle(std::span<const int> lemma);

 private:
  // The longest path of facts to a node.
  struct Path {
    Cycle weight = 0;
    int last = -1;  // fact that it ends with; -1 = none
    bool reached = false;
  };
  using Paths = std::vector<Path>;
  const Paths& paths_from(int node);

  struct Step {
    DifferenceRows::Arc arc;
    LemmaStep what;
    Cycle distance = 0;
    std::size_t before = 0;
  };
  std::optional<DifferenceRows::Arc> arc_of(std::span<const int> lemma,
                                            const LemmaStep& step) const {
    return step.literal == 0 ? rows_.sum(static_cast<std::size_t>(step.sum), lemma)
                             : rows_.asserted(-step.literal);
  }
  bool take(std::span<const int> lemma, std::span<const LemmaStep> steps);
  void write_taken(std::span<const LemmaStep> steps, TextWriter& text);
  std::vector<LemmaStep> find_cycle(std::vector<Step>& steps);
  void write_path(int from, int to, TextWriter& text);
  std::optional<std::string> cycle_of_facts() const;

  const DifferenceRows& rows_;
  std::optional<std::string> contradiction_;  // a cycle of facts alone: then any lemma holds
  std::vector<Paths> paths_;                  // by the node that they begin at, once asked for
  std::vector<DifferenceRows::Arc> arcs_;     // of the steps taken
  std::vector<int> facts_;                    // scratch
};

/// Adds up a cycle as text: "" when it proves the lemma, else what is wrong with it.
std::string cycle_fault(const DifferenceRows& rows, std::span<const int> lemma,
                        std::string_view cycle);

}  // namespace twill
