// A small conflict-driven clause-learning solver with difference logic inside: the searcher of the
// order engine. It finds models and lemmas; what it claims to be unsatisfiable is refuted again by
// CaDiCaL, from the clauses and the lemmas, or its derivation is replayed (hinted_proof.hpp).
//
// Sources: Marques-Silva and Sakallah 1999 (learning), Moskewicz et al. 2001 (watched literals,
// activities), Een and Sorensson 2003 (MiniSat's incremental scheme), Audemard and Simon 2009
// (clause quality), Nieuwenhuis, Oliveras and Tinelli 2006 (theories with lazy explanations).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "engine/order/difference_theory.hpp"
#include "engine/order/hinted_proof.hpp"
#include "engine/order/searcher.hpp"
#include "engine/order/watch_lists.hpp"
#include "graph/random.hpp"
#include "graph/seldom.hpp"

namespace twill {

class Cdcl : public OrderSearcher {
 public:
  struct Pace {
    std::int64_t restart = 50;     ///< conflicts, times the Luby sequence
    std::int64_t more_kept = 300;  ///< learned clauses, after each time that some are dropped
  };
  /// `budget` must outlive the solver. Different seeds, different search, same answers. The pace
  /// is Pace{} at first and kPatient once it has taken kMany conflicts.
  Cdcl(Budget& budget, std::uint64_t seed) : Cdcl(budget, seed, Pace{}) { tires_ = true; }
  Cdcl(Budget& budget, std::uint64_t seed, Pace pace);
  /// Where a search is as long as this, a refutation is left, and takes a third fewer conflicts
  /// with fewer restarts and more that is kept (bench/results/hard.md).
  static constexpr std::int64_t kMany = 12'000;
  static constexpr Pace kPatient = {250, 1'000};

  /// For learn_within(): what a literal takes at most, of a learned clause with its watches and
  /// their room to grow, and of a lemma with its end, while the list is copied to a longer one.
  static constexpr std::int64_t kLearnedLiteral = 48, kLemmaLiteral = 24;

  int new_variable() override;
  /// At any time; the search goes back to its root first. Throws Budget::Spent like every sink of
  /// the engine.
  void add_clause(std::span<const int> literals) override;
  void poll() override;
  void expect(double variables, double clauses, double bytes) override;
  void add_lemma(std::span<const int> literals, std::string reason) override;
  bool keep_within(SearchBound& bound) override;
  void take(const Differences& differences) override;
  void set_parameters(Cycle ii, Cycle deadline) override;
  void assume(int literal) override { assumptions_.push_back(literal); }
  Verdict solve(std::int64_t conflict_limit = 0) override;
  bool value(Lit literal) const override;
  Cycle least(int from, int to) const override { return theory_->least(from, to); }
  std::vector<char> needed() override;
  bool learn_within(std::int64_t bytes) override;
  bool has_forgotten() const override { return forgotten_; }
  bool is_replayed() override { return proof_.refuted(); }
  std::int64_t conflicts() const { return conflicts_; }
  /// Literals of learned clauses of three literals or more, and of lemmas.
  std::int64_t learned_literals() const { return learned_literals_; }
  std::size_t lemma_literals() const { return lemma_literals_; }

 private:
  // A clause of more than two literals is named by its place in the arena: its size, with a bit
  // that says whether anything was derived by it, and then its literals. Shorter ones are not
  // there: two literals are all in the watches and the reasons.
  static constexpr int kUsed = 1 << 30;
  static constexpr int kLearned = -1, kLemma = -2;
  static constexpr std::size_t kMostProof = std::size_t{256} << 20;  // bytes
  struct Clause {
    int place = 0;
    std::uint32_t glue = 0;
    int origin = kLearned;  // which of clauses() it is, or one of these two
    int step = -1;          // of proof_, where it is learned
  };
  struct Reason {
    enum Kind : std::uint8_t { none, binary, clause, record, lemma, bound, formula } kind = none;
    int index = -1;  // binary: the other literal, false; formula: which of clauses(), for proof_
  };
  struct Level {
    std::size_t trail;
    std::size_t asserted;  // trail literals that the theory had seen
    std::size_t bounded;   // and the bound
    DifferenceTheory::Mark theory;
    std::size_t assumed;  // assumptions that were true before, or are decided here
  };

  static std::size_t slot(int literal) {
    return 2 * static_cast<std::size_t>(literal < 0 ? -literal : literal) + (literal < 0 ? 1 : 0);
  }
  static std::size_t variable(int literal) {
    return static_cast<std::size_t>(literal < 0 ? -literal : literal);
  }
  signed char truth(int literal) const { return truth_[slot(literal)]; }
  int level() const { return static_cast<int>(levels_.size()); }
  std::span<int> literals(int clause) {
    int* const size = arena_.data() + clause;
    return {size + 1, static_cast<std::size_t>(*size & ~kUsed)};
  }
  std::span<const int> literals(int clause) const {
    const int* const size = arena_.data() + clause;
    return {size + 1, static_cast<std::size_t>(*size & ~kUsed)};
  }

  void use_binary(int a, int b) { met_[variable(a)] = met_[variable(b)] = 1; }
  void use(int clause) { arena_[static_cast<std::size_t>(clause)] |= kUsed; }

  void insert(std::span<const int> literals, int origin);  // at the root
  void assign(int literal, Reason reason);
  bool propagate();  // false: conflict_ holds the false clause
  bool propagate_clauses();
  bool propagate_theory();
  bool propagate_bound();
  bool refute_by_bound();  // false, and conflict_ holds the lemma
  void backtrack(int level);
  Reason attach(std::span<const int> clause, int origin, std::uint32_t glue);  // for clause[0]
  void analyze();  // conflict_ -> learned_, back_level_, glue_
  std::span<const int> reason_literals(int literal);
  bool redundant(int literal);
  void mark(std::size_t variable, char state);
  void reduce(bool for_room);
  void restart_theory();
  bool can_forget() const;
  bool has_many_lemmas() const { return lemma_literals_ > most_lemmas_ && can_forget(); }
  void forget();  // at the root

  // The derivation (cdcl_proof.cpp), where a refutation may have to be replayed.
  bool is_noted() const {
    return steps_ == nullptr && bound_ == nullptr && !most_literals_ &&
           (forgotten_ || proof_.bytes() < most_proof_);
  }
  void note_learned();  // learned_, before it goes back
  void note_refuted();
  void note_roots();
  void note_root(int literal, const Reason& reason);
  void note_shortened(int clause);  // to the first two of buffer_
  void name_reason(int literal, const Reason& reason);
  Reason newest_lemma() const { return {Reason::lemma, static_cast<int>(lemmas().clauses()) - 1}; }
  void refute_by_lemma();  // the newest

  void bump(std::size_t variable);
  void heap_up(std::size_t at);
  void heap_down(std::size_t at);
  void heap_insert(std::size_t variable);
  int next_decision();
  Verdict search(std::int64_t conflict_limit);

  // For asserts (cdcl_invariants.cpp). The first three are cheap.
  bool all_false(std::span<const int> literals) const;
  bool explains(std::span<const int> reason, int literal) const;
  bool learned_is_asserting() const;
  bool trail_is_consistent() const;
  bool heap_is_ordered() const;
  bool watches_are_consistent() const;
  bool is_model() const;

  Budget& budget_;
  Pace pace_;
  bool tires_ = false;  // the pace changes
  bool shuffled_;       // initial order of variables
  SplitMix64 random_;
  bool consistent_ = true;
  bool theory_stale_ = true;
  Cycle ii_ = 1, deadline_ = 0;
  std::vector<signed char> values_{0};    // per variable, for the theory
  std::vector<signed char> truth_{0, 0};  // per literal
  std::unique_ptr<DifferenceTheory> theory_;
  SearchBound* bound_ = nullptr;
  std::size_t facts_taken_ = 0, atoms_taken_ = 0, sums_taken_ = 0;

  std::vector<int> arena_;
  std::vector<Clause> store_;
  // How a clause of clauses() came in; kStored also where it did not, being true at the root.
  enum Entry : char { kStored, kShortened, kBinary };
  std::vector<Entry> entry_;
  std::vector<char> met_{0};  // per variable: in a binary clause that something was derived by
  WatchLists watches_;        // per literal
  std::vector<int> trail_, assumptions_;
  std::vector<Level> levels_;
  std::size_t clause_head_ = 0, theory_head_ = 0, bound_head_ = 0;
  std::vector<int> level_of_{0};
  std::vector<Reason> reason_{{}};
  std::vector<signed char> phase_{-1}, best_phase_;

  std::vector<double> activity_{0};
  double increment_ = 1;
  std::vector<std::uint32_t> heap_;
  std::vector<int> heap_at_{-1};

  std::vector<int> conflict_, learned_, buffer_;
  Reason conflict_by_;  // of conflict_: as if of its first literal
  HintedProof proof_{formula_, lemmas_.clauses};
  std::vector<std::size_t> resolved_, redundant_;  // variables whose reasons learned_ has used
  struct RootReason {
    int literal;
    Reason reason;  // of no clause that is kept
  };
  std::vector<RootReason> root_reasons_;  // in the order of the trail
  std::size_t roots_noted_ = 0, root_reasons_noted_ = 0;
  int step_ = -1;  // of what was learned last
  std::vector<char> seen_{0};
  std::vector<std::size_t> touched_;
  std::vector<DifferenceTheory::Decided> decided_;
  std::vector<SearchBound::Implied> implied_;
  int back_level_ = 0;
  std::uint32_t glue_ = 0;
  std::vector<std::uint64_t> level_stamp_{0};
  std::uint64_t stamp_ = 0;
  std::int64_t conflicts_ = 0, learned_clauses_ = 0, keep_ = 4000;
  std::int64_t learned_literals_ = 0;
  // learn_within()
  std::int64_t most_learned_ = std::numeric_limits<std::int64_t>::max();
  std::size_t most_lemmas_ = std::numeric_limits<std::size_t>::max(), most_proof_ = kMostProof;
  bool forgotten_ = false;  // lemmas of a noted derivation
  bool unnoted_ = false;    // a step is missing in proof_, or was not right
  Seldom seldom_;
};

}  // namespace twill
