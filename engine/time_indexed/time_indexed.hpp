// The time-indexed engine: parts of its search. See Engine in engine/search.hpp.
#pragma once

#include <optional>
#include <span>

#include "encoders/time_indexed/modulo.hpp"
#include "engine/search.hpp"

namespace twill::time_indexed {

/// Asks at initiation interval `ii` with starts in [0, ii * stages). Starts from the relaxation
/// without small values and adds detail while verify() refuses its models, so a sat answer is a
/// verified schedule and an unsat answer is exact. `pinned` as in ModuloRequest.
/// `first_detail` = kWithoutLifetimes where a refutation is likely.
Answer ask(const Search& search, Cycle ii, Cycle stages, int pinned,
           std::int64_t conflict_limit = 0, int first_detail = 0);

/// Quick attempts at a refutation leave out lifetimes, the largest part of a formula; a refutation
/// of what is left is one of the whole. Levels of detail from here on, see ModuloRequest.
inline constexpr int kWithoutLifetimes = -1;
inline constexpr std::int64_t kQuickConflicts = 2'000;
/// Spent on one question about a coarse copy of the loop, whose answer is only a start.
inline constexpr std::int64_t kCoarseConflicts = 20'000;

/// What all questions of a search have in common.
ModuloRequest request_of(const Search& search, Cycle ii, Cycle stages, int detail);

/// Where evidence is asked for, the proof of one formula: begin() before the first clause, keep()
/// after the refutation.
class Proving {
 public:
  Proving(const Search& search, SatSolver& solver) : search_(search), solver_(solver) {
    if (search.evidence == nullptr) return;
    proof_.emplace();
    solver.begin_proof(proof_->file());
  }
  /// `deadline` -1 = any length.
  void keep(const ModuloRequest& request, Cycle deadline);

 private:
  const Search& search_;
  SatSolver& solver_;
  std::optional<ProofFile> proof_;
};

/// A question about a coarse copy of a loop with about `rows` cycles in the bound.
struct CoarseProbe {
  Cycle rows = 0, stages = 0;
  std::int64_t conflicts = 0;  ///< that are spent on it at most
  bool operator==(const CoarseProbe&) const = default;
};
/// Those that are worth a try beside another engine's search.
std::span<const CoarseProbe> racing_probes();
/// The probe's question at about `ii`; its answer lifted to the problem's cycles by its orders
/// (graph/bounds/tighten.hpp), with I >= `low`, a proved bound. It may be longer than `ii`; none,
/// where the probe or the lift fails, proves nothing. The problem must be monotone_in_ii().
std::optional<Schedule> by_coarse_probe(const Search& search, const CoarseProbe& probe, Cycle low,
                                        Cycle ii);

// What Engine asks for; `limit` conflicts per question (0 = none).
Answer ask_complete(const Search& search, Cycle ii, Cycle& max_stages);
Interval smallest_interval(const Search& search, Cycle low);
LengthResult shortest_within(const Search& search, Cycle ii, Cycle low, Cycle high,
                             std::int64_t limit, const std::function<void(const Schedule&)>& found);
void shorten_by_coarse(const Search& search, Schedule& best, Cycle low);

}  // namespace twill::time_indexed
