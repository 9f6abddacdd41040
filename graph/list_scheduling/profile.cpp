#include "graph/list_scheduling/profile.hpp"

#include <algorithm>
#include <cassert>

#include "graph/divide.hpp"

namespace twill {

// (Without branches: where it goes is chance.)
std::size_t Profile::index(Cycle residue) const {
  const Step* here = steps_.data();
  for (std::size_t left = steps_.size(); left > 1;) {
    const std::size_t half = left / 2;
    here = here[half].begin <= residue ? here + half : here;
    left -= half;
  }
  return static_cast<std::size_t>(here - steps_.data());
}

// The step of `residue`, which is `near` or a little behind it.
std::size_t Profile::index_from(std::size_t near, Cycle residue) const {
  constexpr std::size_t kNear = 16;
  const std::size_t end = std::min(near + kNear, steps_.size());
  for (std::size_t i = near + 1; i < end; ++i)
    if (steps_[i].begin > residue) return i - 1;
  return end == steps_.size() ? end - 1 : index(residue);
}

// At either end a step begins, or no longer does since it has the value of the one before. What
// lies behind moves once for both.
void Profile::raise(Cycle begin, Cycle end, Amount amount) {
  if (begin >= end) return;
  std::size_t first = index(begin);  // the first step that is raised, where it begins at `begin`
  const bool new_first = steps_[first].begin != begin;
  const bool no_first =
      !new_first && first > 0 && steps_[first].value + amount == steps_[first - 1].value;
  std::size_t last = steps_.size();  // the first one behind `end`, where that begins there
  bool new_last = false, no_last = false;
  Amount behind = 0;
  if (end < period_) {
    last = index_from(first, end);
    behind = steps_[last].value;
    new_last = steps_[last].begin != end;
    no_last = !new_last && behind == steps_[last - 1].value + amount;
    if (new_last) ++last;
  }
  if (new_first) ++first;
  // Whole steps, as they were: [first, last) are raised, and a new first one has the value before.
  const Amount before = new_first ? steps_[first - 1].value : 0;
  for (std::size_t i = first; i < last; ++i) steps_[i].value += amount;
  const int by_first = (new_first ? 1 : 0) - (no_first ? 1 : 0);
  const int by_last = (new_last ? 1 : 0) - (no_last ? 1 : 0);
  const std::size_t kept = first + (no_first ? 1 : 0);  // moves by by_first,
  const std::size_t rest = last + (no_last ? 1 : 0);    // by by_first + by_last
  const std::size_t size = steps_.size();
  const auto moved = [](std::size_t i, int by) {
    return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(i) + by);
  };
  if (by_first + by_last > 0) steps_.resize(moved(size, by_first + by_last));
  const auto move = [&](std::size_t from, std::size_t to, int by) {
    if (from >= to || by == 0) return;
    Step* const data = steps_.data();
    if (by < 0)
      std::copy(data + from, data + to, data + from + by);
    else
      std::copy_backward(data + from, data + to, data + to + by);
  };
  if (by_first < 0) move(kept, last, by_first);
  move(rest, size, by_first + by_last);
  if (by_first > 0) move(kept, last, by_first);
  if (by_first + by_last < 0) steps_.resize(moved(size, by_first + by_last));
  if (new_first) steps_[first] = {begin, before + amount};
  if (new_last) steps_[moved(last, by_first)] = {end, behind};
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

/// What is taken in the cycles from `begin` on, in order, and from when to when, counted from
/// there, while `see` says so.
template <class See>
void Profile::walk(Cycle begin, Cycle length, See&& see) const {
  const Cycle first = mod(begin, period_), end = first + std::min(length, period_);
  std::size_t i = index(first);
  for (Cycle t = first; t < end; ++i) {
    if (i == steps_.size()) i = 0;
    const Cycle next = std::min(end, t + this->end(i) - mod(t, period_));
    if (!see(always_ + steps_[i].value, t - first, next - first)) return;
    t = next;
  }
}

Amount Profile::most(Cycle begin, Cycle length) const {
  Amount most = length > 0 ? always_ : 0;
  walk(begin, length, [&](Amount taken, Cycle, Cycle) {
    most = std::max(most, taken);
    return true;
  });
  return most;
}

std::optional<Cycle> Profile::overflow(Cycle begin, Cycle length) const {
  std::optional<Cycle> when;
  walk(begin, length, [&](Amount taken, Cycle from, Cycle) {
    if (taken > capacity_) when = begin + from;
    return !when;
  });
  return when;
}

Wide Profile::excess(Cycle begin, Cycle length, Amount most) const {
  Wide sum = 0;
  walk(begin, length, [&](Amount taken, Cycle from, Cycle to) {
    const Amount above = std::min(most, taken - capacity_);
    if (above > 0) sum += Wide{above} * (to - from);
    return true;
  });
  return sum;
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
