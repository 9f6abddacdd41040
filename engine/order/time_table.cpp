#include "engine/order/time_table.hpp"

#include <algorithm>
#include <cassert>

#include "graph/index.hpp"

namespace twill::order {

TimeTable::TimeTable(const Problem& problem, std::vector<StartLiterals> starts, bool noted)
    : problem_(problem), starts_(std::move(starts)), noted_(noted), uses_of_(problem.units.size()) {
  for (std::size_t v = 0; v < starts_.size(); ++v) {
    const StartLiterals& s = starts_[v];
    first_use_.push_back(uses_.size());
    for (const Reservation& r : problem.ops[v].reservations) {
      if (r.length <= 0 || r.amount <= 0) continue;
      uses_of_[at(r.unit)].push_back(static_cast<int>(uses_.size()));
      uses_.push_back({static_cast<int>(v), r.unit, r.offset, r.length, r.amount});
    }
    for (Cycle t = s.earliest + 1; t <= s.latest; ++t) {
      const auto variable = at(s.at_least(t));
      if (named_.size() <= variable) named_.resize(variable + 1);
      named_[variable] = {static_cast<int>(v), t};
    }
  }
  first_use_.push_back(uses_.size());
}

bool TimeTable::reset(Cycle /*ii*/, Cycle /*deadline*/) {
  trail_.clear();
  marks_.clear();
  records_.clear();
  reasons_.clear();
  Cycle horizon = 0;
  for (const Use& u : uses_)
    horizon = std::max(horizon, starts_[at(u.op)].latest + u.offset + u.length);
  taken_.assign(problem_.units.size(), std::vector<Amount>(static_cast<std::size_t>(horizon), 0));
  unit_changed_.assign(problem_.units.size(), 1);
  op_changed_.assign(starts_.size(), 1);
  windows_.clear();
  for (const StartLiterals& s : starts_) windows_.push_back({s.earliest, s.latest});
  root_ = windows_;
  for (const Use& u : uses_) {
    const Window& w = windows_[at(u.op)];
    if (take(u, w.high + u.offset, w.low + u.offset + u.length, false) >= 0) {
      lemma_.clear();
      return false;
    }
  }
  return true;
}

/// A cycle in which that is too much, or -1. It is taken in any case.
Cycle TimeTable::take(const Use& use, Cycle from, Cycle to, bool give_back) {
  if (from >= to) return -1;
  unit_changed_[at(use.unit)] = 1;
  std::vector<Amount>& taken = taken_[at(use.unit)];
  const Amount capacity = problem_.units[at(use.unit)].capacity;
  Cycle full = -1;
  for (Cycle t = from; t < to; ++t) {
    Amount& sum = taken[static_cast<std::size_t>(t)];
    sum += give_back ? -use.amount : use.amount;
    if (sum > capacity) full = t;
  }
  return full;
}

/// Takes, or gives back, what an op executes in any case in a window, beside what it does in a
/// wider one. Of the first use that is too much: its unit and cycle.
TimeTable::Overload TimeTable::take_between(int op, Window wide, Window narrow, bool give_back) {
  Overload overload;
  for (std::size_t i = first_use_[at(op)]; i < first_use_[at(op) + 1]; ++i) {
    const Use& u = uses_[i];
    const Cycle from = wide.high + u.offset, end = wide.low + u.offset + u.length;
    const Cycle now = narrow.high + u.offset, now_end = narrow.low + u.offset + u.length;
    const bool none = from >= end;
    const Cycle early = take(u, now, none ? now_end : from, give_back);
    const Cycle late = none ? -1 : take(u, end, now_end, give_back);
    if (overload.cycle < 0 && std::max(early, late) >= 0)
      overload = {u.unit, std::max(early, late)};
  }
  return overload;
}

bool TimeTable::move(int op, Window to) {
  Window& w = windows_[at(op)];
  trail_.push_back({op, w});
  const Overload overload = take_between(op, w, to, false);
  w = to;
  if (marks_.empty()) root_[at(op)] = to;
  op_changed_[at(op)] = 1;
  if (overload.cycle < 0) return true;
  lemma_.clear();
  explain_cycle(overload.unit, overload.cycle, problem_.units[at(overload.unit)].capacity, lemma_);
  return false;
}

bool TimeTable::assign(int literal) {
  const auto variable = static_cast<std::size_t>(literal < 0 ? -literal : literal);
  if (variable >= named_.size() || named_[variable].op < 0) return true;
  const auto [op, start] = named_[variable];
  const Window w = windows_[at(op)];
  if (literal > 0 && start > w.low) return move(op, {start, w.high});
  if (literal < 0 && start <= w.high) return move(op, {w.low, start - 1});
  return true;
}

void TimeTable::undo(std::size_t marks) {
  if (marks_.size() <= marks) return;
  const Mark mark = marks_[marks];
  marks_.resize(marks);
  while (trail_.size() > mark.trail) {
    const auto& [op, before] = trail_.back();
    take_between(op, before, windows_[at(op)], true);
    windows_[at(op)] = before;
    trail_.pop_back();
  }
  records_.resize(mark.records);
  reasons_.resize(mark.reasons);
}

// May the op not take this cycle, in which it does not execute in any case?
bool TimeTable::is_full(const Use& use, Cycle t) const {
  const Window& w = windows_[at(use.op)];
  if (w.high + use.offset <= t && t < w.low + use.offset + use.length) return false;
  return taken_[at(use.unit)][static_cast<std::size_t>(t)] + use.amount >
         problem_.units[at(use.unit)].capacity;
}

void TimeTable::propagate(std::vector<Implied>& implied) {
  for (std::size_t v = 0; v < windows_.size(); ++v) {
    const std::size_t before = implied.size();
    if (windows_[v].low < windows_[v].high) {
      push_up(static_cast<int>(v), implied);
      if (implied.size() == before || implied.back().literal != 0)
        push_down(static_cast<int>(v), implied);
    }
    op_changed_[v] = 0;
    if (implied.size() > before && implied.back().literal == 0) break;
  }
  std::fill(unit_changed_.begin(), unit_changed_.end(), char{0});
}

void TimeTable::push_up(int op, std::vector<Implied>& implied) {
  const Window w = windows_[at(op)];
  const StartLiterals& literals = starts_[at(op)];
  Cycle low = w.low;
  for (bool moved = true; moved && low <= w.high;) {
    moved = false;
    for (std::size_t i = first_use_[at(op)]; i < first_use_[at(op) + 1] && low <= w.high; ++i) {
      const Use& u = uses_[i];
      if (low == w.low && !unit_changed_[at(u.unit)] && !op_changed_[at(op)]) continue;
      Cycle t = low + u.offset + u.length - 1;
      while (t >= low + u.offset && !is_full(u, t)) --t;
      if (t < low + u.offset) continue;
      const std::size_t first = reasons_.size();
      // (What was implied just now has not implied the literals below it yet.)
      const Cycle from = t - u.offset - u.length + 1;
      after(op, from <= w.low ? from : low, reasons_);
      explain_cycle(u.unit, t, problem_.units[at(u.unit)].capacity - u.amount, reasons_);
      low = t - u.offset + 1;
      const int literal = literals.at_least(low);
      implied.push_back(
          {literal == StartLiterals::kFalse ? 0 : literal, static_cast<int>(records_.size())});
      records_.push_back({first, reasons_.size()});
      moved = true;
    }
  }
}

void TimeTable::push_down(int op, std::vector<Implied>& implied) {
  const Window w = windows_[at(op)];
  const StartLiterals& literals = starts_[at(op)];
  Cycle high = w.high;
  for (bool moved = true; moved && high >= w.low;) {
    moved = false;
    for (std::size_t i = first_use_[at(op)]; i < first_use_[at(op) + 1] && high >= w.low; ++i) {
      const Use& u = uses_[i];
      if (high == w.high && !unit_changed_[at(u.unit)] && !op_changed_[at(op)]) continue;
      Cycle t = high + u.offset;
      while (t < high + u.offset + u.length && !is_full(u, t)) ++t;
      if (t >= high + u.offset + u.length) continue;
      const std::size_t first = reasons_.size();
      const Cycle to = t - u.offset;
      before(op, to >= w.high ? to : high, reasons_);
      explain_cycle(u.unit, t, problem_.units[at(u.unit)].capacity - u.amount, reasons_);
      high = t - u.offset - u.length;
      const int literal = literals.at_least(high + 1);
      implied.push_back(
          {literal == StartLiterals::kTrue ? 0 : -literal, static_cast<int>(records_.size())});
      records_.push_back({first, reasons_.size()});
      moved = true;
    }
  }
}

std::span<const int> TimeTable::explain(int record) const {
  const Record& r = records_[at(record)];
  return std::span<const int>(reasons_).subspan(r.first, r.end - r.first);
}

/// The false literal "it starts before t", where that is not known of its window.
void TimeTable::after(int op, Cycle t, std::vector<int>& literals) const {
  const int literal = starts_[at(op)].at_least(t);
  assert(literal != StartLiterals::kFalse);
  if (literal != StartLiterals::kTrue) literals.push_back(-literal);
}

/// The false literal "it starts after t".
void TimeTable::before(int op, Cycle t, std::vector<int>& literals) const {
  const int literal = starts_[at(op)].at_least(t + 1);
  assert(literal != StartLiterals::kTrue);
  if (literal != StartLiterals::kFalse) literals.push_back(literal);
}

/// Why more than `above` of the unit is taken at t in any case: few literals, and those known
/// without a decision, are better.
void TimeTable::explain_cycle(int unit, Cycle t, Amount above, std::vector<int>& literals) {
  candidates_.clear();
  Amount sum = 0;
  for (const int i : uses_of_[at(unit)]) {
    const Use& u = uses_[at(i)];
    const Window& w = windows_[at(u.op)];
    if (t < w.high + u.offset || t >= w.low + u.offset + u.length) continue;
    const Window& root = root_[at(u.op)];
    const int cost =
        (t - u.offset - u.length + 1 > root.low ? 1 : 0) + (t - u.offset < root.high ? 1 : 0);
    candidates_.push_back({&u, cost});
  }
  std::stable_sort(
      candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
        if ((a.cost == 0) != (b.cost == 0)) return a.cost == 0;
        return a.use->amount * std::max(1, b.cost) > b.use->amount * std::max(1, a.cost);
      });
  std::size_t taken = 0;
  while (taken < candidates_.size() && sum <= above) sum += candidates_[taken++].use->amount;
  assert(sum > above);
  for (std::size_t i = taken; i-- > 0;) {
    const Candidate& c = candidates_[i];
    if (c.cost > 0 && sum - c.use->amount > above) {
      sum -= c.use->amount;
      continue;
    }
    after(c.use->op, t - c.use->offset - c.use->length + 1, literals);
    before(c.use->op, t - c.use->offset, literals);
  }
}

}  // namespace twill::order
