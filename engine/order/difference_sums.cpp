#include "engine/order/difference_sums.hpp"

#include <algorithm>
#include <cassert>

#include "graph/index.hpp"

namespace twill {

void DifferenceSums::add(const DifferenceSum& sum) {
  const int index = static_cast<int>(sums_.size());
  sums_.push_back({sum.difference});
  for (const DifferenceSum::Term& term : sum.terms) {
    if (shares_.size() <= at(term.variable)) shares_.resize(at(term.variable) + 1);
    shares_[at(term.variable)].push_back({index, term.amount});
  }
}

void DifferenceSums::reset(Cycle ii, Cycle deadline) {
  entries_.clear();
  for (Sum& sum : sums_) {
    sum.weight = sum.difference.at(ii, deadline);
    sum.newest = -1;
  }
}

void DifferenceSums::assert_variable(int variable) {
  if (at(variable) >= shares_.size()) return;
  for (const Share& share : shares_[at(variable)]) {
    Sum& sum = sums_[at(share.sum)];
    entries_.push_back({share.sum, variable, share.amount, sum.newest});
    sum.newest = static_cast<int>(entries_.size()) - 1;
    sum.weight += share.amount;
  }
}

DifferenceSums::Arc DifferenceSums::arc(std::size_t entry) const {
  assert(entry < entries_.size());
  const Sum& sum = sums_[at(entries_[entry].sum)];
  Cycle weight = sum.weight;
  for (int later = sum.newest; later != static_cast<int>(entry);
       later = entries_[at(later)].previous)
    weight -= entries_[at(later)].amount;
  return {sum.difference.from, sum.difference.to, weight};
}

void DifferenceSums::explain(std::size_t entry, Cycle& slack, std::vector<int>& variables) const {
  assert(entry < entries_.size() && slack >= 0);
  for (int e = static_cast<int>(entry); e >= 0; e = entries_[at(e)].previous) {
    const Entry& one = entries_[at(e)];
    if (std::find(variables.begin(), variables.end(), one.variable) != variables.end()) continue;
    if (one.amount <= slack)
      slack -= one.amount;
    else
      variables.push_back(one.variable);
  }
}

void DifferenceSums::undo(std::size_t entries) {
  assert(entries <= entries_.size());
  while (entries_.size() > entries) {
    Sum& sum = sums_[at(entries_.back().sum)];
    assert(sum.newest == static_cast<int>(entries_.size()) - 1);
    sum.weight -= entries_.back().amount;
    sum.newest = entries_.back().previous;
    entries_.pop_back();
  }
}

}  // namespace twill
