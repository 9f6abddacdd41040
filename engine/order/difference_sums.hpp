// Constraints whose weight grows with the variables that are true (DifferenceSum), for the
// difference-logic solver: each change gives an arc that is heavier than the last one.
#pragma once

#include <cstddef>
#include <vector>

#include "encoders/order/difference.hpp"

namespace twill {

class DifferenceSums {
 public:
  void add(const DifferenceSum& sum);

  /// Nothing is true; weights are taken at I and D from here on.
  void reset(Cycle ii, Cycle deadline);

  /// Sum `sum` with one more of its variables true.
  struct Entry {
    int sum = 0;
    int variable = 0;
    Cycle amount = 0;
    int previous = -1;  ///< entry of the same sum
  };
  /// The variable has become true: appends an entry for each sum that it is a term of.
  void assert_variable(int variable);
  /// An index into the entries: the weight of its sum with that entry and those before it.
  struct Arc {
    int from = 0, to = 0;
    Cycle weight = 0;
  };
  Arc arc(std::size_t entry) const;
  int sum(std::size_t entry) const { return entries_[entry].sum; }
  /// Has its sum no later entry?
  bool newest(std::size_t entry) const {
    return sums_[static_cast<std::size_t>(entries_[entry].sum)].newest == static_cast<int>(entry);
  }

  /// Adds variables that are not among those yet and give the entry's weight less at most `slack`,
  /// from which what was left out is taken off.
  void explain(std::size_t entry, Cycle& slack, std::vector<int>& variables) const;

  std::size_t entries() const { return entries_.size(); }
  /// Back to so many entries.
  void undo(std::size_t entries);

 private:
  struct Sum {
    Difference difference;
    Cycle weight = 0;  // of its difference and the variables that are true
    int newest = -1;   // entry
  };
  struct Share {
    int sum;
    Cycle amount;
  };
  std::vector<Sum> sums_;
  std::vector<std::vector<Share>> shares_;  // by variable
  std::vector<Entry> entries_;
};

}  // namespace twill
