// What the search does with its SearchBound: what is assigned cannot be extended, or implies more.
#include <cassert>

#include "engine/order/cdcl.hpp"

namespace twill {

// Last, since it costs most.
bool Cdcl::propagate_bound() {
  while (bound_head_ < trail_.size())
    if (!bound_->assign(trail_[bound_head_++])) return refute_by_bound();
  implied_.clear();
  bound_->propagate(implied_);
  for (const SearchBound::Implied& i : implied_) {
    if (i.literal != 0 && truth(i.literal) > 0) continue;
    if (i.literal == 0 || truth(i.literal) < 0) {
      const std::span<const int> others = bound_->explain(i.record);
      conflict_.assign(others.begin(), others.end());
      if (i.literal != 0) conflict_.push_back(i.literal);
      assert(all_false(conflict_));
      if (bound_->is_noted()) record_lemma(conflict_, bound_->reason());
      return false;
    }
    assign(i.literal, {Reason::bound, i.record});
    if (level() > 0) continue;
    if (bound_->is_noted()) reason_literals(i.literal);  // recorded now: nobody asks at the root
    reason_[variable(i.literal)] = {};
  }
  return true;
}

bool Cdcl::refute_by_bound() {
  const std::span<const int> lemma = bound_->lemma();
  conflict_.assign(lemma.begin(), lemma.end());
  assert(all_false(conflict_));
  if (bound_->is_noted()) record_lemma(lemma, bound_->reason());
  return false;
}

}  // namespace twill
