// What is taken of a resource at every residue of a period: a step function, whose size is that of
// the number of steps, whatever the number of cycles.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "graph/problem.hpp"
#include "graph/wide.hpp"

namespace twill {

class Profile {
 public:
  /// Nothing is taken. period >= 1.
  Profile(Cycle period, Amount capacity) : period_(period), capacity_(capacity), steps_{{0, 0}} {}

  Amount capacity() const { return capacity_; }
  Cycle period() const { return period_; }

  /// Takes `amount` (negative: gives it back) in [begin, begin + length) of every period. begin may
  /// be negative, length > period goes round several times, length <= 0 takes nothing.
  void add(Cycle begin, Cycle length, Amount amount);

  Amount value(Cycle t) const;
  /// The most that is taken in [begin, begin + length); 0 where that is empty.
  Amount most(Cycle begin, Cycle length) const;
  /// The first t in [begin, begin + length) at which more is taken than the capacity.
  std::optional<Cycle> overflow(Cycle begin, Cycle length) const;
  /// What is taken above the capacity, but no more than `most`, summed over the cycles of
  /// [begin, begin + length), of at most one period.
  Wide excess(Cycle begin, Cycle length, Amount most) const;

  /// The first, or the last, t in [from, to] such that there is room for `amount` more in
  /// [t, t + length). nullopt = none.
  std::optional<Cycle> first_fit(Cycle from, Cycle to, Cycle length, Amount amount) const;
  std::optional<Cycle> last_fit(Cycle from, Cycle to, Cycle length, Amount amount) const;

  /// The first t after `after` at which another amount may be taken than before it.
  Cycle next_step(Cycle after) const;

 private:
  template <class See>
  void walk(Cycle begin, Cycle length, See&& see) const;

  struct Step {
    Cycle begin;  ///< to the next one's, or to the period's end
    Amount value;
  };
  std::size_t index(Cycle residue) const;
  std::size_t index_from(std::size_t near, Cycle residue) const;
  Cycle end(std::size_t step) const {
    return step + 1 < steps_.size() ? steps_[step + 1].begin : period_;
  }
  void raise(Cycle begin, Cycle end, Amount amount);

  Cycle period_;
  Amount capacity_;
  Amount always_ = 0;  ///< taken in every cycle, beside the steps
  std::vector<Step> steps_;
};

}  // namespace twill
