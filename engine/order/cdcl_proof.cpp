// What the solver notes of its derivation, so that a refutation can be replayed.
#include <algorithm>

#include "engine/order/cdcl.hpp"

namespace twill {

// Reasons imply in this order: those of literals that others of the clause imply, each after those
// that imply it, then those of the conflict's level from the oldest on, and what was false at last.
void Cdcl::note_learned() {
  step_ = -1;
  if (!is_noted()) {
    unnoted_ = true;
    return;
  }
  note_roots();
  const auto name = [&](std::size_t v) {
    const int literal = static_cast<int>(v);
    name_reason(values_[v] > 0 ? literal : -literal, reason_[v]);
  };
  std::for_each(redundant_.begin(), redundant_.end(), name);
  std::for_each(resolved_.rbegin(), resolved_.rend(), name);
  name_reason(conflict_.front(), conflict_by_);
  step_ = proof_.derive(learned_);
}

void Cdcl::note_refuted() {
  if (!is_noted()) return;
  note_roots();
  name_reason(conflict_.empty() ? 0 : conflict_.front(), conflict_by_);
  proof_.derive({});
}

void Cdcl::refute_by_lemma() {
  conflict_by_ = newest_lemma();
  consistent_ = false;
  note_refuted();
}

// Each literal of the root is a step of its own. What was learned is one already.
void Cdcl::note_roots() {
  const std::size_t end = levels_.empty() ? trail_.size() : levels_.front().trail;
  for (; roots_noted_ < end; ++roots_noted_) {
    const int literal = trail_[roots_noted_];
    Reason reason = reason_[variable(literal)];
    if (reason.kind == Reason::none && root_reasons_noted_ < root_reasons_.size() &&
        root_reasons_[root_reasons_noted_].literal == literal)
      reason = root_reasons_[root_reasons_noted_++].reason;
    if (reason.kind == Reason::none) continue;
    name_reason(literal, reason);
    proof_.derive({&literal, 1});
  }
}

void Cdcl::note_root(int literal, const Reason& reason) {
  if (is_noted()) root_reasons_.push_back({literal, reason});
}

void Cdcl::note_shortened(int clause) {
  if (!is_noted()) return;
  note_roots();
  proof_.shortened(static_cast<std::size_t>(clause), buffer_[0], buffer_[1]);
}

void Cdcl::name_reason(int literal, const Reason& reason) {
  const auto index = static_cast<std::size_t>(reason.index);
  switch (reason.kind) {
    case Reason::binary: proof_.by_pair(literal, reason.index); break;
    case Reason::formula:
      if (reason.index >= 0) proof_.by_clause(index);
      break;
    case Reason::lemma: proof_.by_lemma(index); break;
    case Reason::clause: {  // they are in the order of their places
      const auto clause =
          std::lower_bound(store_.begin(), store_.end(), reason.index,
                           [](const Clause& c, int place) { return c.place < place; });
      if (clause->origin >= 0) proof_.by_clause(static_cast<std::size_t>(clause->origin));
      if (clause->step >= 0) proof_.by_step(clause->step);
      break;
    }
    default: break;
  }
}

}  // namespace twill
