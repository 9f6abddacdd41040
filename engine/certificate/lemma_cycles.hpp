// Why a lemma of difference logic holds: the constraints that its negation asserts and the facts
// contain a cycle whose weights sum to more than 0, while going round a cycle brings every row back
// to itself.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encoders/difference.hpp"

namespace twill {

/// The difference constraints of one formula at fixed I and D.
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
  std::optional<Arc> fact(std::size_t index) const;
  /// What a literal that is true asserts of the rows: its atom's constraint, or (a negative
  /// literal) that the constraint does not hold over the integers. nullopt = no atom.
  std::optional<Arc> asserted(int literal) const;

  /// What sum `index`, if there is one, says where the lemma does not hold: its difference and the
  /// amounts of the variables that are then true.
  std::optional<Arc> sum(std::size_t index, std::span<const int> lemma) const;
  /// The sums with variables in the lemma, in rising order.
  std::vector<std::size_t> sums_within(std::span<const int> lemma) const;
  /// The first of those with most variables in it, two at least; and is the variable in a sum?
  std::optional<std::size_t> sum_with_most(std::span<const int> lemma) const;
  bool in_sum(int variable, std::size_t index) const;

  int nodes() const { return nodes_; }
  std::size_t facts() const { return facts_.size(); }

 private:
  std::vector<std::size_t> uses_of_sums(std::span<const int> lemma) const;

  int nodes_;
  std::vector<Arc> facts_;
  std::vector<std::optional<Arc>> atoms_;  // by variable
  struct Sum {
    Arc arc;
    std::vector<DifferenceSum::Term> terms;
  };
  std::vector<Sum> sums_;
  std::vector<std::vector<std::size_t>> sums_of_;  // by variable
};

/// Finds and writes cycles: "a12 f3 n7 s5" is atom 12, fact 3, the negation of atom 7 and sum 5, in
/// the order in which they are passed.
class CycleFinder {
 public:
  explicit CycleFinder(const DifferenceRows& rows);

  /// A cycle for the lemma, or nullopt when there is none.
  std::optional<std::string> cycle(std::span<const int> lemma) const;

 private:
  struct Entry {
    Cycle weight = 0;
    int first = -1;  // fact that the longest path begins with
    bool reached = false;
  };
  const Entry& entry(int from, int to) const {
    return paths_[static_cast<std::size_t>(from) * static_cast<std::size_t>(rows_.nodes()) +
                  static_cast<std::size_t>(to)];
  }
  Entry& entry(int from, int to) {
    return const_cast<Entry&>(std::as_const(*this).entry(from, to));
  }
  struct Step {
    DifferenceRows::Arc arc;
    std::string name;
    Cycle distance = 0;
    std::size_t before = 0;
  };
  std::optional<std::string> cycle_in_order(std::span<const Step> steps) const;
  std::optional<std::string> cycle_as_learned(std::span<const int> lemma) const;
  std::optional<std::string> cycle_of(std::vector<Step>& steps) const;
  void append_path(int from, int to, std::string& text) const;
  std::optional<std::string> cycle_of_facts() const;

  const DifferenceRows& rows_;
  std::optional<std::string> contradiction_;  // a cycle of facts alone: then any lemma holds
  std::vector<Entry> paths_;                  // longest paths of facts, where there is none
};

/// Adds up a cycle as text: "" when it proves the lemma, else what is wrong with it.
std::string cycle_fault(const DifferenceRows& rows, std::span<const int> lemma,
                        std::string_view cycle);

}  // namespace twill
