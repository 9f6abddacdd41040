// What the solver's asserts ask. Cheap ones look at one clause, the others at everything.
#include <algorithm>

#include "engine/order/cdcl.hpp"

namespace twill {

// Is every one of them false?
bool Cdcl::all_false(std::span<const int> literals) const {
  return std::all_of(literals.begin(), literals.end(), [&](int l) { return truth(l) < 0; });
}

// Does this explain a literal of the trail: is all of it false, and not since a later level?
bool Cdcl::explains(std::span<const int> reason, int literal) const {
  const int when = level_of_[variable(literal)];
  return truth(literal) > 0 && all_false(reason) &&
         std::all_of(reason.begin(), reason.end(),
                     [&](int l) { return level_of_[variable(l)] <= when; });
}

// Before going back: is the learned clause false, with one literal of this level, one of the level
// to go back to, and none between them? Then it implies its first literal there.
bool Cdcl::learned_is_asserting() const {
  if (!all_false(learned_) || level_of_[variable(learned_[0])] != level()) return false;
  if (learned_.size() == 1) return back_level_ == 0;
  return level_of_[variable(learned_[1])] == back_level_ && back_level_ < level() &&
         std::all_of(learned_.begin() + 1, learned_.end(),
                     [&](int l) { return level_of_[variable(l)] <= back_level_; });
}

// Do values, levels, reasons and the heap agree with the trail?
bool Cdcl::trail_is_consistent() const {
  std::vector<std::size_t> position(values_.size(), 0);  // on the trail, from 1 on
  std::size_t next_level = 0;
  for (std::size_t i = 0; i < trail_.size(); ++i) {
    const int l = trail_[i];
    const std::size_t v = variable(l);
    if (position[v] != 0) return false;
    position[v] = i + 1;
    bool decided = false;
    for (; next_level < levels_.size() && levels_[next_level].trail == i; ++next_level)
      decided = true;
    if (truth(l) != 1 || truth(-l) != -1 || values_[v] != (l > 0 ? 1 : -1)) return false;
    if (level_of_[v] != static_cast<int>(next_level)) return false;
    const Reason& reason = reason_[v];
    if (decided && reason.kind != Reason::none) return false;
    const auto earlier = [&](int other) {
      return truth(other) < 0 && position[variable(other)] != 0 && position[variable(other)] <= i;
    };
    if (reason.kind == Reason::binary && !earlier(reason.index)) return false;
    if (reason.kind == Reason::clause || reason.kind == Reason::lemma) {
      const std::span<const int> clause =
          reason.kind == Reason::clause ? literals(reason.index)
                                        : lemmas().clause(static_cast<std::size_t>(reason.index));
      if (clause[0] != l || !std::all_of(clause.begin() + 1, clause.end(), earlier)) return false;
    }
  }
  for (std::size_t v = 1; v < values_.size(); ++v) {
    if (position[v] != 0) continue;
    if (values_[v] != 0 || truth_[2 * v] != 0 || truth_[2 * v + 1] != 0) return false;
    if (heap_at_[v] < 0) return false;  // nobody would decide it
  }
  return next_level == levels_.size() && heap_is_ordered();
}

bool Cdcl::heap_is_ordered() const {
  for (std::size_t at = 0; at < heap_.size(); ++at) {
    if (heap_at_[heap_[at]] != static_cast<int>(at)) return false;
    if (at > 0 && activity_[heap_[(at - 1) / 2]] < activity_[heap_[at]]) return false;
  }
  return true;
}

// Where clauses have been propagated: is every one watched by its first two literals and by no
// others, and is a watched literal false only while another one has been true for as long?
bool Cdcl::watches_are_consistent() const {
  const bool done = clause_head_ == trail_.size();
  std::size_t binaries = 0, watches = 0;
  const auto rightly_false = [&](int watched, int other) {
    if (!done || truth(watched) >= 0) return true;
    return truth(other) > 0 && level_of_[variable(other)] <= level_of_[variable(watched)];
  };
  for (std::size_t list = 0; list < watches_.size(); ++list) {
    const int watched = list % 2 == 0 ? static_cast<int>(list / 2) : -static_cast<int>(list / 2);
    for (const Watch& w : watches_[list]) {
      if (w.clause == Watch::kBinary) {
        ++binaries;
        if (!rightly_false(watched, w.blocker)) return false;
        continue;
      }
      ++watches;
      const std::span<const int> c = literals(w.clause);
      if (c[0] != watched && c[1] != watched) return false;
      if (std::find(c.begin(), c.end(), w.blocker) == c.end()) return false;
      const int other = c[0] == watched ? c[1] : c[0];
      if (!rightly_false(watched, w.blocker) && !rightly_false(watched, other)) return false;
    }
  }
  return binaries % 2 == 0 && watches == 2 * store_.size();
}

// Is every clause true, now that every variable has a value?
bool Cdcl::is_model() const {
  if (trail_.size() + 1 != values_.size()) return false;
  for (std::size_t i = 0; i < formula_.clauses(); ++i) {
    const std::span<const int> clause = formula_.clause(i);
    if (all_false(clause)) return false;
  }
  return true;
}

}  // namespace twill
