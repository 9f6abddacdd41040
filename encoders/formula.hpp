// Where clauses go. A ClauseSink takes DIMACS clauses (memory, a file, a solver, a counter); a
// Formula is the one front that encoders write to: it folds constants, drops satisfied clauses and
// counts what it passes on.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encoders/literal.hpp"

namespace twill {

class ClauseSink {
 public:
  virtual ~ClauseSink() = default;
  /// The next unused DIMACS variable, 1, 2, 3, ...
  virtual int new_variable() = 0;
  /// Non-zero literals, no terminator. The empty clause is allowed.
  virtual void add_clause(std::span<const int> literals) = 0;
  /// Asked now and then by an encoder at work, also while it has nothing to say: a sink with a
  /// budget ends the work here by an exception.
  virtual void poll() {}
  /// At least so many variables and clauses are about to come, and tables of so many bytes beside
  /// them: a sink with a budget that does not allow them ends the work before they are made.
  virtual void expect(double variables, double clauses, double bytes) {
    static_cast<void>(variables), static_cast<void>(clauses), static_cast<void>(bytes);
  }
  /// sum of weights[i] * literals[i] <= bound, weights > 0, literals distinct variables. False =
  /// the sink knows clauses only, and an encoding is needed (pseudo-Boolean formats return true).
  virtual bool add_sum(std::span<const int> literals, std::span<const std::int64_t> weights,
                       std::int64_t bound) {
    static_cast<void>(literals), static_cast<void>(weights), static_cast<void>(bound);
    return false;
  }
};

/// Which clauses belong to which constraint.
class ClauseGroups {
 public:
  /// A constraint's description, in a text of all of them.
  struct Group {
    std::size_t begin = 0, end = 0;
  };
  /// From clause number `clause` (from 0) on, clauses belong to the constraint `group`.
  struct Mark {
    std::int64_t clause = 0;
    Group group;
  };
  const std::vector<Mark>& marks() const { return marks_; }
  /// "" = none in particular.
  std::string_view description(const Mark& mark) const {
    return std::string_view(text_).substr(mark.group.begin, mark.group.end - mark.group.begin);
  }

  Group current() const { return marks_.empty() ? Group{} : marks_.back().group; }
  void begin(std::int64_t clause, std::string_view description) {
    const std::size_t begin = text_.size();
    text_ += description;
    marks_.push_back({clause, {begin, text_.size()}});
  }
  void go_on(std::int64_t clause, const Group& group) { marks_.push_back({clause, group}); }

 private:
  std::string text_;
  std::vector<Mark> marks_;
};

class Formula {
 public:
  explicit Formula(ClauseSink& sink) : sink_(sink) {}

  Lit fresh() {
    ++variables_;
    tick();
    return Lit::of(sink_.new_variable());
  }

  /// At least one of the literals. Constants fold here: a true literal drops the clause, a false
  /// one is left out. While a guard is set, the clause holds only if the guard is true.
  void clause(std::span<const Lit> literals);
  void clause(std::initializer_list<Lit> literals) {
    clause(std::span<const Lit>(literals.begin(), literals.size()));
  }

  // Implications with logical names, so that encoders read as logic.
  void implies(Lit a, Lit b) { clause({~a, b}); }
  void implies(Lit a, Lit b, Lit c) { clause({~a, ~b, c}); }  ///< a and b imply c
  void unit(Lit a) { clause({a}); }

  /// Hands sum <= bound to a sink that takes sums, as they are; false = it does not, nothing
  /// happened. Literals are distinct variables, weights > 0. Never while a guard is set.
  bool native_sum(std::span<const Lit> literals, std::span<const std::int64_t> weights,
                  std::int64_t bound);

  /// A literal that a and b imply together (one direction only). No new variable where one of the
  /// two is constant.
  Lit implied_by_both(Lit a, Lit b);

  std::int64_t variables() const { return variables_; }
  std::int64_t clauses() const { return clauses_; }
  std::int64_t literals() const { return literals_; }

  /// One step of an encoder: asks the sink every few thousand of them (ClauseSink::poll()).
  void tick() {
    if (++steps_ % 4096 == 0) sink_.poll();
  }
  /// See ClauseSink::expect().
  void expect(double variables, double clauses, double bytes = 0) {
    sink_.expect(variables, clauses, bytes);
  }

  /// From now on `groups` learns which clauses belong to which group; it must outlive the encoding.
  void mark_groups(ClauseGroups& groups) { groups_ = &groups; }

  /// Every clause emitted while this object lives belongs to the group `description` and holds only
  /// if `guard` is true: selector literals of constraint groups, for explanations.
  class Guarded {
   public:
    Guarded(Formula& formula, Lit guard, std::string_view description = {})
        : formula_(formula), outer_(formula.guard_) {
      formula_.guard_ = guard;
      if (formula_.groups_ == nullptr) return;
      outer_group_ = formula_.groups_->current();
      formula_.groups_->begin(formula_.clauses_, description);
    }
    ~Guarded() {
      formula_.guard_ = outer_;
      if (formula_.groups_ != nullptr) formula_.groups_->go_on(formula_.clauses_, outer_group_);
    }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

   private:
    Formula& formula_;
    Lit outer_;
    ClauseGroups::Group outer_group_;
  };

 private:
  ClauseSink& sink_;
  Lit guard_ = kTrueLit;
  ClauseGroups* groups_ = nullptr;
  std::vector<int> buffer_;
  std::int64_t variables_ = 0, clauses_ = 0, literals_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace twill
