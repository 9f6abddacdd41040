// One formula of the order form with its solver, asked again and again at falling I or falling D.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encoders/order/order.hpp"
#include "engine/order/lifetime_limit.hpp"
#include "engine/order/memory.hpp"
#include "engine/order/searcher.hpp"
#include "engine/search.hpp"

namespace twill::order {

/// A search of so many conflicts is long: its formulas get clauses that others do without, which
/// may so find another one of several schedules (OrderRequest::full_units).
inline constexpr std::int64_t kLong = 12'000;

class IncrementalSolver {
 public:
  /// `request.ii_low` .. `request.ii_high` as order_range_allowed() permits. Throws Budget::Spent.
  IncrementalSolver(const Search& search, OrderRequest request);

  /// At initiation interval `ii`, with lengths up to `deadline` where the request has one. I and D
  /// may only fall from call to call. Schedules are verified; a refutation has been repeated from
  /// the clauses and lemmas, by CaDiCaL or, where it took kLong conflicts and there is no evidence
  /// to keep, step by step (HintedProof). `conflict_limit` 0 = none. Throws Budget::Spent.
  Answer ask(Cycle ii, Cycle deadline = 0, std::int64_t conflict_limit = 0);
  /// The same where only a schedule counts: a refutation is not repeated and proves nothing.
  Answer look(Cycle ii, Cycle deadline, std::int64_t conflict_limit);
  /// The same near `schedule`, one of this formula's at an I that is not smaller: only ops that are
  /// `free` may change slots, or the order in which they begin and end with others.
  Answer look_near(const Schedule& schedule, const std::vector<char>& free, Cycle ii,
                   std::int64_t conflict_limit, Cycle deadline = 0);

  /// From now on it is asked by look() and look_near() alone: what was learned is kept for no
  /// proof, and its room stays small (kMostLemmas).
  void only_look() { solver_->forget_lemmas(kMostLemmas); }

  /// Have models overflowed a resource?
  bool overflowed() const { return encoding_.overflowed(); }
  /// Would OrderRequest::at_once have added little?
  bool nearly_complete() const { return encoding_.nearly_complete(); }

 private:
  static constexpr std::size_t kMostLemmas = 1 << 22;  // literals, of four bytes
  void fall_to(Cycle ii, Cycle deadline);
  Verdict solve(std::int64_t conflict_limit, std::span<const int> assumptions);
  void add_full_units(Cycle ii);
  Answer look(std::int64_t conflict_limit, std::span<const int> assumptions);
  std::optional<Schedule> model();  // refined, or none after new clauses
  bool within_limit();              // the model; else one more lemma
  bool refuted_by_cadical();
  void keep_evidence(std::string proof);

  const Search& search_;
  OrderRequest request_;
  std::unique_ptr<OrderSearcher> solver_;
  CountedClauses counted_;
  ClauseGroups groups_;  // where evidence is kept
  Formula formula_;
  OrderEncoding encoding_;
  std::optional<LifetimeLimit> lifetime_;
  bool bounded_ = false;               // the solver keeps within it
  std::int64_t limit_lemmas_ = 0;      // of models that are not
  Cycle ii_;                           // of the question that was asked last, and
  Cycle deadline_ = kMaxStart;         // its bound on the length
  std::vector<Schedule> refinements_;  // models that were refined, where evidence is kept
  bool refuted_ = false;               // for good, as I and D only fall
  std::int64_t spent_ = 0;             // conflicts of this formula
  bool full_units_left_ = false;       // clauses that it has not, and gets once it takes long
};

/// What all questions of a search have in common. Symmetries are broken: exchangeable sub-tiles
/// come in one order, and where the schedule may be rotated (`rotated`) one op is in row 0.
OrderRequest request_of(const Search& search, bool rotated);

/// Schedules at `ii` that are no longer than `deadline`, within the stages of the search.
OrderRequest request_within(const Search& search, Cycle ii, Cycle deadline);

/// The smallest rows of a model.
std::vector<Cycle> least_rows(const OrderSearcher& solver, const Differences& rows, int ops);
/// The smallest stages, none below 0, where they are integers.
std::vector<Cycle> least_stages(const OrderSearcher& solver, const Differences& rows, int ops);

}  // namespace twill::order
