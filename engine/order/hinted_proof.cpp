#include "engine/order/hinted_proof.hpp"

#include <algorithm>
#include <utility>

namespace twill {

std::uint64_t HintedProof::pair_of(int a, int b) {
  const auto [low, high] = std::minmax(a, b);
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(low)) << 32 |
         static_cast<std::uint32_t>(high);
}

int HintedProof::derive(std::span<const int> clause) {
  noted_.insert(noted_.end(), {kDerive, static_cast<int>(clause.size())});
  noted_.insert(noted_.end(), clause.begin(), clause.end());
  noted_.push_back(static_cast<int>(hints_.size()));
  noted_.insert(noted_.end(), hints_.begin(), hints_.end());
  hints_.clear();
  replay_when_long();
  return steps_++;
}

void HintedProof::drop(int step) {
  noted_.insert(noted_.end(), {kDrop, step});
}

void HintedProof::shortened(std::size_t clause, int a, int b) {
  noted_.insert(noted_.end(), {kShortened, static_cast<int>(clause), a, b});
}

bool HintedProof::is_right() {
  replay();
  return right_;
}

bool HintedProof::refuted() {
  replay();
  return right_ && refuted_;
}

std::size_t HintedProof::bytes() const {
  constexpr std::size_t kPairBytes = 40;  // a node and its bucket
  return (hints_.capacity() + noted_.capacity() + place_.capacity() + kept_.capacity()) *
             sizeof(int) +
         truth_.capacity() + pairs_.size() * kPairBytes;
}

void HintedProof::replay() {
  const std::vector<int> noted = std::exchange(noted_, {});
  truth_.resize(2 * static_cast<std::size_t>(clauses_.variables()) + 2, 0);
  take_pairs();
  for (std::size_t i = 0; right_ && i < noted.size();) {
    const int event = noted[i++];
    if (event == kDrop) {
      int& place = place_[static_cast<std::size_t>(noted[i++])];
      if (place == kNone) continue;
      int* const kept = kept_.data() + place;
      kept[0] = place = kNone;
      dropped_ += static_cast<std::size_t>(kept[1]) + 2;
      continue;
    }
    if (event == kShortened) {
      const auto clause = static_cast<std::size_t>(noted[i]);
      const int a = noted[i + 1], b = noted[i + 2];
      i += 3;
      for (const int l : clauses_.clause(clause))
        right_ = right_ && (l == a || l == b || truth_[slot(l)] < 0);
      pairs_.insert(pair_of(a, b));
      continue;
    }
    const std::span<const int> clause{noted.data() + i + 1, static_cast<std::size_t>(noted[i])};
    i += clause.size() + 1;
    const std::span<const int> hints{noted.data() + i + 1, static_cast<std::size_t>(noted[i])};
    i += hints.size() + 1;
    right_ = follows(clause, hints);
    keep(clause);
  }
  if (dropped_ > kept_.size() / 2) compact();
}

void HintedProof::take_pairs() {
  for (; clauses_seen_ < clauses_.clauses(); ++clauses_seen_)
    if (const auto clause = clauses_.clause(clauses_seen_); clause.size() == 2)
      pairs_.insert(pair_of(clause[0], clause[1]));
}

// Reverse unit propagation by the hints alone. Those that do not imply yet have another turn, as
// long as something is implied.
bool HintedProof::follows(std::span<const int> clause, std::span<const int> hints) {
  assumed_.clear();
  bool holds = false;
  for (const int l : clause) {
    if (truth_[slot(l)] > 0) holds = true;
    if (truth_[slot(l)] != 0) continue;
    set(-l);
    assumed_.push_back(-l);
  }
  open_.clear();
  for (std::size_t i = 0; i < hints.size(); i += hints[i] == kPair ? 3 : 1) open_.push_back(i);
  for (bool more = true; more && !holds;) {
    more = false;
    std::size_t left = 0;
    for (std::size_t i = 0; i < open_.size() && !holds; ++i) {
      const auto [implied, known] = implied_by(hints.subspan(open_[i]));
      if (!known) open_[left++] = open_[i];
      if (!known || implied == kTrue) continue;
      if (implied == 0) {
        holds = true;
      } else {
        set(implied);
        assumed_.push_back(implied);
        more = true;
      }
    }
    open_.resize(left);
  }
  for (const int l : assumed_) unset(l);
  return holds;
}

HintedProof::Implied HintedProof::implied_by(std::span<const int> hints) const {
  const auto index = static_cast<std::size_t>(hints[0] >> 2);
  std::span<const int> reason;
  switch (hints[0] & 3) {
    case kClause:
    case kLemma: {
      const MemoryCnf& cnf = (hints[0] & 3) == kClause ? clauses_ : lemmas_;
      if (index >= cnf.clauses()) return {kTrue, true};  // lemmas may have been forgotten
      reason = cnf.clause(index);
      break;
    }
    case kPair:
      reason = hints.subspan(1, 2);
      if (!pairs_.contains(pair_of(reason[0], reason[1]))) return {kTrue, true};
      break;
    default:
      if (index >= place_.size() || place_[index] == kNone) return {kTrue, true};
      const int* const kept = kept_.data() + place_[index];
      reason = {kept + 2, static_cast<std::size_t>(kept[1])};
  }
  int open = 0;
  for (const int l : reason) {
    if (truth_[slot(l)] > 0) return {kTrue, true};
    if (truth_[slot(l)] < 0 || l == open) continue;
    if (open != 0) return {0, false};
    open = l;
  }
  return {open, true};
}

void HintedProof::keep(std::span<const int> clause) {
  place_.push_back(kNone);
  if (clause.empty()) refuted_ = true;
  // (One that is false by then makes the next conflict the last.)
  if (clause.size() == 1 && truth_[slot(clause[0])] == 0) set(clause[0]);
  if (clause.size() == 2) pairs_.insert(pair_of(clause[0], clause[1]));
  if (clause.size() <= 2) return;
  place_.back() = static_cast<int>(kept_.size());
  kept_.insert(kept_.end(), {static_cast<int>(place_.size()) - 1, static_cast<int>(clause.size())});
  kept_.insert(kept_.end(), clause.begin(), clause.end());
}

void HintedProof::compact() {
  std::vector<int> kept;
  kept.reserve(kept_.size() - dropped_);
  for (std::size_t i = 0; i < kept_.size();) {
    const auto end = i + static_cast<std::size_t>(kept_[i + 1]) + 2;
    if (kept_[i] != kNone) {
      place_[static_cast<std::size_t>(kept_[i])] = static_cast<int>(kept.size());
      kept.insert(kept.end(), kept_.begin() + static_cast<std::ptrdiff_t>(i),
                  kept_.begin() + static_cast<std::ptrdiff_t>(end));
    }
    i = end;
  }
  kept_ = std::move(kept);
  dropped_ = 0;
}

}  // namespace twill
