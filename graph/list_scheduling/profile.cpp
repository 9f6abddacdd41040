#include "graph/list_scheduling/profile.hpp"

#include <algorithm>
#include <cassert>

#include "graph/divide.hpp"

namespace twill {

std::size_t Profile::index(Cycle residue) const {
  const auto after = std::upper_bound(steps_.begin(), steps_.end(), residue,
                                      [](Cycle t, const Step& step) { return t < step.begin; });
  return static_cast<std::size_t>(after - steps_.begin()) - 1;
}

// A step begins at `residue` from now on; its index.
std::size_t Profile::split(Cycle residue) {
  if (residue == period_) return steps_.size();
  const std::size_t here = index(residue);
  if (steps_[here].begin == residue) return here;
  steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(here) + 1,
                {residue, steps_[here].value});
  return here + 1;
}

// Two neighbours of one value become one.
void Profile::merge(std::size_t step) {
  if (step == 0 || step >= steps_.size() || steps_[step].value != steps_[step - 1].value) return;
  steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(step));
}

void Profile::raise(Cycle begin, Cycle end, Amount amount) {
  if (begin >= end) return;
  const std::size_t first = split(begin), last = split(end);
  for (std::size_t i = first; i < last; ++i) steps_[i].value += amount;
  merge(last);
  merge(first);
}

void Profile::add(Cycle begin, Cycle length, Amount amount) {
  if (length <= 0 || amount == 0) return;
  always_ += amount * (length / period_);
  const Cycle first = mod(begin, period_), end = first + length % period_;
  raise(first, std::min(end, period_), amount);
  raise(0, end - period_, amount);
}

Amount Profile::value(Cycle t) const {
  return always_ + steps_[index(mod(t, period_))].value;
}

Amount Profile::most(Cycle begin, Cycle length) const {
  if (length <= 0) return 0;
  Amount most = 0;
  const Cycle first = mod(begin, period_), end = first + std::min(length, period_);
  std::size_t i = index(first);
  for (Cycle t = first; t < end; ++i) {
    if (i == steps_.size()) i = 0;
    most = std::max(most, steps_[i].value);
    t += this->end(i) - mod(t, period_);
  }
  return always_ + most;
}

std::optional<Cycle> Profile::overflow(Cycle begin, Cycle length) const {
  if (length <= 0) return std::nullopt;
  const Cycle first = mod(begin, period_), end = first + std::min(length, period_);
  std::size_t i = index(first);
  for (Cycle t = first; t < end; ++i) {
    if (i == steps_.size()) i = 0;
    if (always_ + steps_[i].value > capacity_) return begin + (t - first);
    t += this->end(i) - mod(t, period_);
  }
  return std::nullopt;
}

std::optional<Cycle> Profile::first_fit(Cycle from, Cycle to, Cycle length, Amount amount) const {
  if (length <= 0 || amount <= 0) return from <= to ? std::optional(from) : std::nullopt;
  const Amount turns = amount * (length / period_);
  const Cycle rest = length % period_;
  if (turns > 0 && most(0, period_) + turns > capacity_) return std::nullopt;
  if (rest == 0) return from <= to ? std::optional(from) : std::nullopt;
  const Amount allowed = capacity_ - amount - turns - always_;
  // Everything from `fits` to `t` has room.
  Cycle fits = from, t = from;
  std::size_t i = index(mod(from, period_));
  while (fits <= to) {
    if (i == steps_.size()) i = 0;
    const Cycle next = t + this->end(i) - mod(t, period_);
    if (steps_[i].value > allowed)
      fits = next;
    else if (next >= fits + rest)
      return fits;
    if (next - from > 2 * period_) return std::nullopt;
    t = next;
    ++i;
  }
  return std::nullopt;
}

std::optional<Cycle> Profile::last_fit(Cycle from, Cycle to, Cycle length, Amount amount) const {
  if (length <= 0 || amount <= 0) return from <= to ? std::optional(to) : std::nullopt;
  const Amount turns = amount * (length / period_);
  const Cycle rest = length % period_;
  if (turns > 0 && most(0, period_) + turns > capacity_) return std::nullopt;
  if (rest == 0) return from <= to ? std::optional(to) : std::nullopt;
  const Amount allowed = capacity_ - amount - turns - always_;
  // Everything from `t` to `fits` has room.
  Cycle fits = to + rest, t = fits;
  std::size_t i = index(mod(t - 1, period_));
  while (fits - rest >= from) {
    const Cycle begin = t - 1 - (mod(t - 1, period_) - steps_[i].begin);
    if (steps_[i].value > allowed)
      fits = begin;
    else if (begin <= fits - rest)
      return fits - rest;
    if (to + rest - begin > 2 * period_) return std::nullopt;
    t = begin;
    i = i == 0 ? steps_.size() - 1 : i - 1;
  }
  return std::nullopt;
}

Cycle Profile::next_step(Cycle after) const {
  const Cycle residue = mod(after, period_);
  return after + end(index(residue)) - residue;
}

}  // namespace twill
