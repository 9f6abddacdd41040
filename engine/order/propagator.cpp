// The order engine's search by CaDiCaL itself, with difference logic as a user propagator.
//
// Source: Fazekas, Niemetz, Preiner, Kirchweger, Szeider and Biere, "IPASIR-UP: User Propagators
// for CDCL", SAT 2023. CaDiCaL tells of the assignments to the variables of atoms and sums, asks
// for what follows from them, and for reasons only where it analyses a conflict. Debian 12's
// version has no such interface: then there is no searcher here.
#include "engine/order/searcher.hpp"

#if TWILL_CADICAL_PROPAGATOR

#include <algorithm>
#include <cadical.hpp>
#include <cassert>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/order/difference_theory.hpp"

namespace twill {
namespace {

class CadicalSearcher final : public OrderSearcher,
                              private CaDiCaL::ExternalPropagator,
                              private CaDiCaL::Terminator,
                              private CaDiCaL::Learner {
 public:
  CadicalSearcher(Budget& budget, std::uint64_t seed) : budget_(budget) {
    solver_.set("quiet", 1);
    solver_.set("factor", 0);  // of 3.0: it would want every variable declared
    solver_.set("phase", 0);   // early stages and undecided orders first
    solver_.set("chrono", 0);  // levels are left in the order in which they were entered
    solver_.set("ilb", 0);     // every question begins at the root, as restart_theory() takes it
    solver_.set("ilbassumptions", 0);
    solver_.set("seed", static_cast<int>(seed % 2'000'000'000));
    solver_.connect_terminator(this);
    solver_.connect_learner(this);
    solver_.connect_external_propagator(this);
  }
  CadicalSearcher(const CadicalSearcher&) = delete;
  CadicalSearcher& operator=(const CadicalSearcher&) = delete;
  ~CadicalSearcher() override {
    solver_.disconnect_external_propagator();
    solver_.disconnect_learner();
    solver_.disconnect_terminator();
  }

  int new_variable() override {
    values_.push_back(0);
    record_of_.push_back(0);
    observed_.push_back(0);
    return formula_.new_variable();
  }

  void add_clause(std::span<const int> literals) override {
    if (formula_.clauses() % 4096 == 4095 && budget_.spent()) throw Budget::Spent{};
    formula_.add_clause(literals);
    add(literals);
  }
  void poll() override {
    if (budget_.spent()) throw Budget::Spent{};
  }
  void expect(double variables, double clauses, double bytes) override {
    expect_within(budget_, variables, clauses, bytes);
  }
  void add_lemma(std::span<const int> literals, std::string reason) override {
    record_lemma(literals, std::move(reason));
    add(literals);
  }

  void take(const Differences& differences) override {
    if (!theory_) {
      theory_.emplace(differences.nodes(), values_);
      if (steps_ != nullptr) theory_->note_steps(*steps_);
    }
    for (; facts_taken_ < differences.facts().size(); ++facts_taken_)
      theory_->add_fact(differences.facts()[facts_taken_]);
    for (; atoms_taken_ < differences.atoms().size(); ++atoms_taken_) {
      theory_->add_atom(differences.atoms()[atoms_taken_]);
      observe(differences.atoms()[atoms_taken_].variable);
    }
    for (; sums_taken_ < differences.sums().size(); ++sums_taken_) {
      theory_->add_sum(differences.sums()[sums_taken_]);
      for (const DifferenceSum::Term& term : differences.sums()[sums_taken_].terms)
        observe(term.variable);
    }
    nodes_ = differences.nodes();
    stale_ = true;
  }

  void set_parameters(Cycle ii, Cycle deadline) override {
    ii_ = ii;
    deadline_ = deadline;
    stale_ = true;
  }

  void assume(int literal) override { assumptions_.push_back(literal); }

  Verdict solve(std::int64_t conflict_limit) override {
    const std::vector<int> assumptions = std::exchange(assumptions_, {});
    if (stale_) restart_theory();
    if (!consistent_) return Verdict::unsat;
    if (budget_.spent()) return Verdict::unknown;
    std::int64_t limit = conflict_limit > 0 ? conflict_limit : -1;
    const std::int64_t left = budget_.conflicts_left();
    if (left >= 0) limit = limit < 0 ? left : std::min(limit, left);
    limit = std::min<std::int64_t>(limit, std::numeric_limits<int>::max());
    solver_.limit("conflicts", static_cast<int>(limit));
    for (const int literal : assumptions) solver_.assume(literal);
    switch (solver_.solve()) {
      case 10: return Verdict::sat;
      case 20:
        if (std::any_of(assumptions.begin(), assumptions.end(),
                        [&](int literal) { return solver_.failed(literal); }))
          return Verdict::unknown;
        consistent_ = false;
        return Verdict::unsat;
      default: return Verdict::unknown;
    }
  }

  bool value(Lit literal) const override {
    if (literal.is_constant()) return literal.is_true();
    const int code = literal.dimacs();
    const int variable = std::abs(code);
    const bool truth = variable <= solver_.vars() && solver_.val(variable) > 0;
    return code > 0 ? truth : !truth;
  }
  Cycle least(int from, int to) const override {
    assert(!least_.empty());  // there is a model
    return least_[static_cast<std::size_t>(from) * static_cast<std::size_t>(nodes_) +
                  static_cast<std::size_t>(to)];
  }

 private:
  struct Level {
    std::size_t trail, asserted;
    DifferenceTheory::Mark theory;
  };

  void add(std::span<const int> literals) {
    for (const int l : literals) solver_.add(l);
    solver_.add(0);
  }

  void observe(int variable) {
    char& observed = observed_[static_cast<std::size_t>(variable)];
    if (observed != 0) return;
    observed = 1;
    solver_.add_observed_var(variable);
  }

  static std::size_t variable_of(int literal) {
    return static_cast<std::size_t>(std::abs(literal));
  }

  // The theory at new parameters or with more constraints, at the root.
  void restart_theory() {
    back_to(0);
    stale_ = false;
    std::vector<int> decided;
    if (!theory_->reset(ii_, deadline_, decided)) {
      record_cycle({});
      consistent_ = false;
      return;
    }
    for (const int literal : decided) {
      if (values_[variable_of(literal)] == (literal > 0 ? 1 : -1)) continue;
      if (steps_ != nullptr) steps_->add_literal(literal);
      record_cycle({&literal, 1});
      add({&literal, 1});
    }
    asserted_ = 0;
    queue_.clear();
    clause_.clear();
    conflict_ = false;
  }

  void back_to(std::size_t level) {
    if (levels_.size() <= level) return;
    const Level target = levels_[level];
    levels_.resize(level);
    for (; trail_.size() > target.trail; trail_.pop_back()) values_[variable_of(trail_.back())] = 0;
    asserted_ = std::min(target.asserted, target.trail);
    theory_->undo(target.theory);
    std::erase_if(queue_, [&](const DifferenceTheory::Decided& d) {
      return static_cast<std::size_t>(d.record) >= target.theory.records;
    });
    conflict_ = false;
    for (const int literal : fixed_) assigned(literal);
    if (level == 0) fixed_.clear();
  }

  void assigned(int literal) {
    signed char& value = values_[variable_of(literal)];
    if (value != 0) return;
    value = literal > 0 ? 1 : -1;
    trail_.push_back(literal);
  }

  // For asserts.
  bool all_false(const std::vector<int>& literals) const {
    return std::all_of(literals.begin(), literals.end(), [&](int literal) {
      return values_[variable_of(literal)] == (literal > 0 ? -1 : 1);
    });
  }

  // Which becomes a lemma.
  std::vector<int> reason_of(const DifferenceTheory::Decided& decided) {
    std::vector<int> clause;
    if (steps_ != nullptr) steps_->add_literal(decided.literal);
    theory_->explain(decided.record, clause);
    for (int& v : clause) v = -v;
    assert(all_false(clause));
    clause.insert(clause.begin(), decided.literal);
    record_cycle(clause);
    return clause;
  }

  // The next literal of the trail goes to the theory, with its sums, since a level may begin at any
  // time. False: clause_ holds what is false.
  bool assert_next() {
    assert(!conflict_ && asserted_ < trail_.size());
    const int literal = trail_[asserted_++];
    if (literal < 0) return true;
    bool consistent = theory_->assert_atom(literal, queue_);
    while (consistent && theory_->sums_pending()) consistent = theory_->assert_sums(queue_);
    if (consistent) return true;
    clause_.clear();
    for (const int v : theory_->conflict()) clause_.push_back(-v);
    assert(all_false(clause_));
    record_cycle(clause_);
    conflict_ = true;
    return false;
  }

  // --- CaDiCaL's side. Its versions differ in two signatures: what one has not is never called.
  void notify_assignment(int literal, bool fixed) {
    assigned(literal);
    // CaDiCaL does not tell it again when the level at which it was told is left.
    if (fixed && !levels_.empty()) fixed_.push_back(literal);
  }
  void notify_assignment(const std::vector<int>& literals) {
    for (const int literal : literals) assigned(literal);
  }
  void notify_new_decision_level() override {
    levels_.push_back({trail_.size(), asserted_, theory_->mark()});
  }
  void notify_backtrack(std::size_t level) override { back_to(level); }

  int cb_propagate() override {
    for (;;) {
      if (conflict_) return 0;
      while (!queue_.empty()) {
        const DifferenceTheory::Decided next = queue_.front();
        queue_.erase(queue_.begin());
        if (values_[variable_of(next.literal)] != 0) continue;
        record_of_[variable_of(next.literal)] = next.record;
        if (levels_.empty()) reason_of(next);  // at the root nobody may ask
        return next.literal;
      }
      if (asserted_ == trail_.size() || !assert_next()) return 0;
    }
  }

  int cb_add_reason_clause_lit(int propagated) override {
    if (explained_ != propagated) {
      explained_ = propagated;
      clause_ = reason_of({propagated, record_of_[variable_of(propagated)]});
      given_ = 0;
    }
    if (given_ < clause_.size()) return clause_[given_++];
    explained_ = 0;
    return 0;
  }

  bool cb_has_external_clause() {
    while (!conflict_ && asserted_ < trail_.size()) assert_next();
    given_ = 0;
    return conflict_;
  }
  bool cb_has_external_clause(bool& forgettable) {
    forgettable = true;
    return cb_has_external_clause();
  }
  int cb_add_external_clause_lit() override {
    if (given_ < clause_.size()) return clause_[given_++];
    // It is given once. At the root nothing is left of which to go back.
    if (levels_.empty()) consistent_ = false;
    return 0;
  }

  bool cb_check_found_model(const std::vector<int>& model) override {
    for (const int literal : model)
      if (variable_of(literal) < observed_.size() && observed_[variable_of(literal)] != 0)
        assigned(literal);
    while (!conflict_ && asserted_ < trail_.size()) assert_next();
    if (conflict_) return false;
    least_.clear();
    for (int a = 0; a < nodes_; ++a)
      for (int b = 0; b < nodes_; ++b) least_.push_back(theory_->least(a, b));
    return true;
  }

  bool terminate() override { return budget_.spent(); }
  bool learning(int) override {
    budget_.count_conflict();
    return false;
  }
  void learn(int) override {}

  Budget& budget_;
  mutable CaDiCaL::Solver solver_;      // asking for a value is not const there
  std::vector<signed char> values_{0};  // per variable, of those observed
  std::vector<char> observed_{0};
  std::vector<int> record_of_{0};  // of what was propagated
  std::optional<DifferenceTheory> theory_;
  std::size_t facts_taken_ = 0, atoms_taken_ = 0, sums_taken_ = 0;
  int nodes_ = 0;
  bool stale_ = true, consistent_ = true;
  Cycle ii_ = 1, deadline_ = 0;

  std::vector<int> assumptions_;

  std::vector<int> trail_, fixed_;
  std::vector<Level> levels_;
  std::size_t asserted_ = 0;  // trail literals that the theory has seen
  std::vector<DifferenceTheory::Decided> queue_;
  std::vector<int> clause_;  // conflict or reason that is being given
  std::size_t given_ = 0;
  int explained_ = 0;  // literal whose reason that is
  bool conflict_ = false;

  std::vector<Cycle> least_;  // of the last model
};

}  // namespace

bool has_cadical_searcher() {
  return true;
}

std::unique_ptr<OrderSearcher> cadical_searcher(Budget& budget, std::uint64_t seed) {
  return std::make_unique<CadicalSearcher>(budget, seed);
}

}  // namespace twill

#else

namespace twill {

bool has_cadical_searcher() {
  return false;
}

std::unique_ptr<OrderSearcher> cadical_searcher(Budget&, std::uint64_t) {
  return nullptr;
}

}  // namespace twill

#endif
