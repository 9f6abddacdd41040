// What the order engine searches with: clauses and difference constraints in, models and lemmas
// out. Two kinds: the project's own solver (cdcl.hpp), and CaDiCaL with the difference logic
// plugged in (propagator.cpp), where CaDiCaL is new enough.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encoders/order/difference.hpp"
#include "encoders/sinks.hpp"
#include "engine/budget.hpp"
#include "engine/certificate/theory_lemmas.hpp"
#include "engine/order/search_bound.hpp"
#include "graph/verdict.hpp"

namespace twill {

class OrderSearcher : public ClauseSink {
 public:
  /// Takes over the facts, atoms and sums that `differences` has gained since the last call. To be
  /// called after adding clauses and before solve().
  virtual void take(const Differences& differences) = 0;
  /// Sets the parameters. What was learned is kept, so every clause and lemma so far must hold for
  /// the new values too: I may go down only where all weights are >= 0, D may go down always.
  virtual void set_parameters(Cycle ii, Cycle deadline) = 0;

  /// A clause that holds for another reason than the constraints taken, which is given: one of the
  /// lemmas.
  virtual void add_lemma(std::span<const int> literals, std::string reason) = 0;
  /// Asks the bound on the way, from the next solve() on; its lemmas join the others. False = this
  /// searcher does not: then its models are to be tried. `bound` must outlive the searcher.
  virtual bool keep_within(SearchBound& /*bound*/) { return false; }

  /// For the next solve() only, which looks among the models in which the literal is true: none of
  /// them is unknown, unless there is no model at all. To be called after take().
  virtual void assume(int literal) = 0;
  /// unknown = the budget is spent or `conflict_limit` conflicts (0 = none) were not enough.
  virtual Verdict solve(std::int64_t conflict_limit = 0) = 0;

  /// Of the last model, until a clause is added or the parameters change.
  virtual bool value(Lit literal) const = 0;
  /// The least difference between two nodes' values that the model's constraints allow, very
  /// negative if any. From node 0 on: the smallest rows.
  virtual Cycle least(int from, int to) const = 0;

  /// Everything that was added, and the theory lemmas used so far. A lemma's negation is a set of
  /// constraints (atoms, sums of true variables, and at most one atom's negation, over the
  /// integers) that with facts form a positive cycle: it holds for all rows at the parameters so
  /// far and, as they fall, later. Those of add_lemma() are among them.
  const MemoryCnf& clauses() const { return formula_; }
  const MemoryCnf& lemmas() const { return lemmas_.clauses; }
  /// After an answer unsat: which of clauses() are enough, with the lemmas, to be refuted? A
  /// superset of what the refutation used; all where that is not known.
  virtual std::vector<char> needed() { return std::vector<char>(formula_.clauses(), 1); }
  /// After an answer unsat: has the derivation been noted, and replayed by other code from clauses
  /// and lemmas (engine/order/hinted_proof.hpp)?
  virtual bool is_replayed() { return false; }
  /// Lemmas come with the steps of their cycles: for who will ask. Before the first take().
  void note_steps() { steps_ = &lemmas_.steps; }

  /// Nobody will ask for lemmas(), unless they have their steps: they may be forgotten, once they
  /// have so many literals.
  void forget_lemmas(std::size_t most_literals) { most_literals_ = most_literals; }

  /// From now on what is learned takes so many bytes at most, as literals are counted: a smaller
  /// database, and lemmas that are forgotten at the root once their part of the derivation has been
  /// replayed. (Pairs of literals are kept, and so are lemmas that somebody asks for with their
  /// steps, or that no derivation is noted of.) False = this searcher does not.
  virtual bool learn_within(std::int64_t /*bytes*/) { return false; }
  /// Have lemmas been forgotten that the refutation has used? Then is_replayed() alone confirms it.
  virtual bool has_forgotten() const { return false; }

  /// lemmas() with the steps of their cycles.
  const TheoryLemmas& explained_lemmas() const { return lemmas_; }

 protected:
  /// A lemma of which the theory has noted the steps, if anybody does.
  void record_cycle(std::span<const int> literals) {
    assert(are_known(literals));
    lemmas_.clauses.add_clause(literals);
    lemma_literals_ += literals.size();
    if (steps_ == nullptr) return;
    if (literals.empty()) steps_->drop();  // facts alone
    steps_->close();
  }
  void record_lemma(std::span<const int> literals, std::string reason) {
    assert(are_known(literals));
    lemmas_.reasons.emplace(lemmas_.clauses.clauses(), std::move(reason));
    lemmas_.clauses.add_clause(literals);
    lemma_literals_ += literals.size();
    if (steps_ != nullptr) steps_->close();
  }

  // Are they literals of the formula?
  bool are_known(std::span<const int> literals) const {
    return std::all_of(literals.begin(), literals.end(), [&](int l) {
      return l != 0 && l >= -formula_.variables() && l <= formula_.variables();
    });
  }

  MemoryCnf formula_;
  TheoryLemmas lemmas_;
  std::size_t lemma_literals_ = 0;            ///< of lemmas_
  std::optional<std::size_t> most_literals_;  ///< the same, at most; none = all are kept
  LemmaSteps* steps_ = nullptr;               ///< where lemmas' steps go; null = nobody asks
};

/// CaDiCaL through its interface for user propagators (Fazekas et al., SAT 2023), which versions
/// from 1.6 on have. Null where the CaDiCaL of this build has none. `budget` must outlive it.
std::unique_ptr<OrderSearcher> cadical_searcher(Budget& budget, std::uint64_t seed);
bool has_cadical_searcher();

}  // namespace twill
