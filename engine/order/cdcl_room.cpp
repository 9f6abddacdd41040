// What is learned and kept: the better half of the clauses now and then, and within so many bytes,
// counted by literals, so that a search is the same on every machine.
#include <algorithm>
#include <cassert>
#include <utility>

#include "engine/order/cdcl.hpp"
#include "graph/log.hpp"

namespace twill {
namespace {

constexpr std::uint32_t kGlue = 3;  // learned clauses of so few levels are kept for good

}  // namespace

// Half is for the derivation. (Where lemmas have been forgotten it goes on beyond that: what it
// keeps are the clauses of the database, which is bounded, and an int a step.)
bool Cdcl::learn_within(std::int64_t bytes) {
  most_proof_ = std::min(kMostProof, static_cast<std::size_t>(bytes / 2));
  most_learned_ = bytes / 4 / kLearnedLiteral;
  most_lemmas_ = static_cast<std::size_t>(bytes / 4 / kLemmaLiteral);
  return true;
}

// Half of the learned clauses go, those of most levels first; for room, as many as halve the
// literals that there is room for, and then none is kept for good.
void Cdcl::reduce(bool for_room) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < store_.size(); ++i) {
    const Clause& c = store_[i];
    const std::span<const int> clause = literals(c.place);
    if (c.origin != kLearned || (c.glue <= kGlue && !for_room)) continue;
    const Reason& reason = reason_[variable(clause[0])];
    if (truth(clause[0]) > 0 && reason.kind == Reason::clause && reason.index == c.place) continue;
    candidates.push_back(i);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](std::size_t a, std::size_t b) { return store_[a].glue > store_[b].glue; });
  if (!for_room) candidates.resize(candidates.size() / 2);
  std::vector<char> dropped(store_.size(), 0);
  std::size_t drops = 0;
  for (const std::size_t i : candidates) {
    if (for_room && learned_literals_ <= most_learned_ / 2) break;
    dropped[i] = 1;
    ++drops;
    learned_literals_ -= static_cast<std::int64_t>(literals(store_[i].place).size());
  }
  candidates.resize(drops);
  learned_clauses_ -= static_cast<std::int64_t>(candidates.size());
  // Compact. Where a clause was, its new place is left in place of its size, or that it is gone;
  // reasons and watches, which name places, follow.
  constexpr int kGone = -2;
  std::vector<int> arena;
  std::vector<Clause> store;
  arena.reserve(arena_.size());
  for (std::size_t i = 0; i < store_.size(); ++i) {
    Clause c = store_[i];
    int& size = arena_[static_cast<std::size_t>(c.place)];
    const int* const begin = &size;
    const int used = size & kUsed, length = (size & ~kUsed) + 1;
    size = kGone;
    if (dropped[i]) {
      if (c.step >= 0) proof_.drop(c.step);
      continue;
    }
    c.place = static_cast<int>(arena.size());
    arena.push_back((length - 1) | used);
    arena.insert(arena.end(), begin + 1, begin + length);
    store.push_back(c);
    size = c.place;
  }
  for (std::size_t list = 0; list < watches_.size(); ++list) {
    const std::span<Watch> watches = watches_[list];
    for (Watch& w : watches)
      if (w.clause != Watch::kBinary) w.clause = arena_[static_cast<std::size_t>(w.clause)];
    const auto gone = std::remove_if(watches.begin(), watches.end(),
                                     [](const Watch& w) { return w.clause == kGone; });
    watches_.shorten(list, static_cast<std::size_t>(gone - watches.begin()));
  }
  for (const int l : trail_) {
    Reason& reason = reason_[variable(l)];
    if (reason.kind == Reason::clause)
      reason.index = arena_[static_cast<std::size_t>(reason.index)];
  }
  arena_ = std::move(arena);
  store_ = std::move(store);
  TWILL_LOG("reduced: ", candidates.size(), " learned clauses dropped, ", learned_clauses_,
            " kept");
  assert(trail_is_consistent() && watches_are_consistent());
}

bool Cdcl::can_forget() const {
  return steps_ == nullptr && (most_literals_ || (!unnoted_ && is_noted()));
}

// Lemmas are the reasons of what was decided since the root, and what a refutation is repeated by.
// At the root none is needed where nobody repeats one, or where the derivation so far has been
// replayed: so they go when half of their room is taken, which leaves the search what it is, and a
// restart for want of room hardly comes.
void Cdcl::forget() {
  const std::size_t most = most_lemmas_ / 2;
  if (lemma_literals_ <= std::min(most, most_literals_.value_or(most)) || !can_forget()) return;
  assert(level() == 0);
  if (!most_literals_) {
    note_roots();
    unnoted_ = !proof_.is_right();
    if (unnoted_) return;
    forgotten_ = true;
  }
  for (const int l : trail_)
    if (Reason& reason = reason_[variable(l)]; reason.kind == Reason::lemma) reason = {};
  TWILL_LOG("forgotten: ", lemmas().clauses(), " lemmas of ", lemma_literals_, " literals");
  lemmas_ = {};
  lemma_literals_ = 0;
}

}  // namespace twill
