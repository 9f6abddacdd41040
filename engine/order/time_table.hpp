// Units of any capacity over the cycles of one schedule that does not wrap around: what ops take in
// the cycles in which they execute wherever they start in their windows (compulsory parts) may not
// exceed the capacity, and moves the windows of others. Starts are order literals, "v starts at t
// or later". What is implied is explained where it is, cycle by cycle, so that what is learned
// holds in other places too.
//
// Source: Lahrichi, "Scheduling: the notions of hump, compulsory parts and their use in cumulative
// problems", C. R. Acad. Sci. 294, 1982; Schutt, Feydy, Stuckey and Wallace, "Explaining the
// cumulative propagator", Constraints 16, 2011 (pointwise explanations).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/order/search_bound.hpp"
#include "graph/problem.hpp"

namespace twill::order {

/// The starts that an op may have, and the literals that say which: variable first + i is "it
/// starts at earliest + 1 + i or later", up to latest.
struct StartLiterals {
  Cycle earliest = 0, latest = 0;
  int first = 0;

  static constexpr int kTrue = INT32_MAX, kFalse = -INT32_MAX;
  /// "It starts at t or later": a variable, or one of the two constants.
  int at_least(Cycle t) const {
    if (t <= earliest) return kTrue;
    if (t > latest) return kFalse;
    return first + static_cast<int>(t - earliest) - 1;
  }
};

class TimeTable final : public SearchBound {
 public:
  /// `problem` must outlive it. The clauses must say that "at t + 1 or later" implies "at t or
  /// later", and a false literal must be told as such. Offsets and starts are >= 0. `noted`: what
  /// it says is kept among the lemmas, for who will confirm a refutation.
  TimeTable(const Problem& problem, std::vector<StartLiterals> starts, bool noted = false);

  bool reset(Cycle ii, Cycle deadline) override;
  bool assign(int literal) override;
  void propagate(std::vector<Implied>& implied) override;
  std::span<const int> explain(int record) const override;
  std::span<const int> lemma() const override { return lemma_; }
  bool is_noted() const override { return noted_; }
  std::string reason() const override { return {}; }
  void mark() override { marks_.push_back({trail_.size(), records_.size(), reasons_.size()}); }
  void undo(std::size_t marks) override;

 private:
  struct Use {
    int op, unit;
    Cycle offset, length;
    Amount amount;
  };
  struct Window {
    Cycle low, high;
  };
  struct Was {
    int op;
    Window window;
  };
  struct Overload {
    int unit = 0;
    Cycle cycle = -1;
  };
  struct Record {
    std::size_t first, end;  // in reasons_
  };
  struct Mark {
    std::size_t trail, records, reasons;
  };
  struct Named {  // by variable
    int op = -1;
    Cycle start = 0;
  };

  bool move(int op, Window to);
  Cycle take(const Use& use, Cycle from, Cycle to, bool give_back);
  Overload take_between(int op, Window wide, Window narrow, bool give_back);
  void push_up(int op, std::vector<Implied>& implied);
  void push_down(int op, std::vector<Implied>& implied);
  bool is_full(const Use& use, Cycle t) const;
  void explain_cycle(int unit, Cycle t, Amount above, std::vector<int>& literals);
  void after(int op, Cycle t, std::vector<int>& literals) const;
  void before(int op, Cycle t, std::vector<int>& literals) const;

  const Problem& problem_;
  std::vector<StartLiterals> starts_;
  bool noted_;
  std::vector<Named> named_;
  std::vector<Use> uses_;                   // by op
  std::vector<std::size_t> first_use_;      // by op
  std::vector<std::vector<int>> uses_of_;   // by unit
  std::vector<std::vector<Amount>> taken_;  // by unit and cycle
  std::vector<Window> windows_, root_;
  std::vector<char> unit_changed_, op_changed_;
  std::vector<Was> trail_;
  std::vector<Mark> marks_;
  std::vector<Record> records_;
  std::vector<int> reasons_, lemma_;
  struct Candidate {
    const Use* use;
    int cost;  // literals that are not known at the root
  };
  std::vector<Candidate> candidates_;  // scratch
};

}  // namespace twill::order
