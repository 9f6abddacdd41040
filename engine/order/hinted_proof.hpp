// A derivation, noted step by step with the reasons of each step and replayed by code that shares
// nothing with the solver: is what it claims to be unsatisfiable so?
//
// Every clause that is learned is implied by reverse unit propagation: once its literals are false,
// one of the clauses before it after the other implies a literal more, until one is false. The
// solver knows which those are and says so, hence nothing is searched for: a replay takes a small
// part of the time of the search, where a solver or a checker without such hints takes as long as
// it or longer. Source: Cruz-Filipe, Heule, Hunt, Kaufmann and Schneider-Kamp, "Efficient Certified
// RAT Verification", CADE 2017 (LRAT). A wrong hint proves nothing, and costs the proof.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_set>
#include <vector>

#include "encoders/sinks.hpp"

namespace twill {

class HintedProof {
 public:
  /// Of clauses and lemmas, which may grow. Both must outlive it.
  HintedProof(const MemoryCnf& clauses, const MemoryCnf& lemmas)
      : clauses_(clauses), lemmas_(lemmas) {}
  HintedProof(const HintedProof&) = delete;
  HintedProof& operator=(const HintedProof&) = delete;

  /// The reasons of the next step, about in the order in which they imply: one of the clauses, a
  /// lemma, an earlier step, or two literals that are one of the clauses or steps.
  void by_clause(std::size_t clause) { hints_.push_back(tagged(clause, kClause)); }
  void by_lemma(std::size_t lemma) { hints_.push_back(tagged(lemma, kLemma)); }
  void by_step(int step) { hints_.push_back(tagged(static_cast<std::size_t>(step), kStep)); }
  void by_pair(int a, int b) { hints_.insert(hints_.end(), {kPair, a, b}); }

  /// A step: this clause, of variables of the clauses, holds by the reasons named since the last
  /// one. The empty one is a refutation. Returns its number.
  int derive(std::span<const int> clause);
  /// No later step has this one as its reason.
  void drop(int step);
  /// Of a clause nothing is left but these two literals: the others are false by steps so far.
  void shortened(std::size_t clause, int a, int b);

  /// Replays what has not been: was every step right so far? Then no step to come needs a lemma
  /// that only earlier ones have named.
  bool is_right();
  /// Has the empty clause been derived, and was every step right? Replays what has not been.
  bool refuted();
  /// Bytes that it takes.
  std::size_t bytes() const;

 private:
  enum Tag : int { kClause, kLemma, kStep, kPair };  // in the lowest two bits of a hint
  enum Event : int { kDerive, kDrop, kShortened };
  static constexpr std::size_t kMostNoted = 1 << 20;  // ints of events
  static constexpr int kNone = -1;
  static int tagged(std::size_t index, Tag tag) { return static_cast<int>(index << 2) | tag; }
  static std::size_t slot(int literal) {
    return 2 * static_cast<std::size_t>(literal < 0 ? -literal : literal) + (literal < 0 ? 1 : 0);
  }
  static std::uint64_t pair_of(int a, int b);

  void replay_when_long() {
    if (noted_.size() >= kMostNoted) replay();
  }
  void replay();
  void take_pairs();
  bool follows(std::span<const int> clause, std::span<const int> hints);
  /// What the first of the hints says: a literal, 0 = it is false, kTrue = nothing that is new; not
  /// known = two literals of it or more are open.
  struct Implied {
    int literal;
    bool known;
  };
  static constexpr int kTrue = std::numeric_limits<int>::max();
  Implied implied_by(std::span<const int> hints) const;
  void keep(std::span<const int> clause);
  void compact();
  void set(int literal) { truth_[slot(literal)] = 1, truth_[slot(-literal)] = -1; }
  void unset(int literal) { truth_[slot(literal)] = truth_[slot(-literal)] = 0; }

  const MemoryCnf& clauses_;
  const MemoryCnf& lemmas_;
  std::vector<int> hints_, noted_;  // of the next step; events that have not been replayed
  int steps_ = 0;

  // As far as it has been replayed:
  bool right_ = true, refuted_ = false;
  std::vector<signed char> truth_;           // per literal
  std::vector<int> assumed_;                 // literals that are true for one step
  std::vector<std::size_t> open_;            // its hints that have implied nothing
  std::unordered_set<std::uint64_t> pairs_;  // clauses and steps of two literals
  std::size_t clauses_seen_ = 0;             // for pairs_
  std::vector<int> place_;                   // per step, in kept_; kNone = it is not there
  std::vector<int> kept_;                    // step, size, literals; kNone for the step = dropped
  std::size_t dropped_ = 0;                  // ints of kept_
};

}  // namespace twill
