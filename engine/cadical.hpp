// CaDiCaL as a clause sink and an incremental solver. Nothing else names CaDiCaL but
// order/propagator.cpp; this uses what 1.5.3 (Debian 12) and later versions have in common.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "encoders/formula.hpp"
#include "engine/budget.hpp"
#include "graph/verdict.hpp"

namespace twill {

/// Version of the linked CaDiCaL, "2.1.3" or, of Debian's, "1.5.3 (calls itself sc2021)".
std::string cadical_version();

class SatSolver : public ClauseSink {
 public:
  /// `budget` must outlive the solver; it is polled during search and while clauses are added
  /// (where it ends the work by throwing Budget::Spent).
  SatSolver(Budget& budget, std::uint64_t seed);
  ~SatSolver() override;

  /// Writes a DRAT proof of what follows to a file, in text or binary. Call before the first
  /// clause, and end_proof() after the last answer. Without assumptions, an unsat answer's proof is
  /// complete. Throws InputError when the file cannot be written.
  void begin_proof(const std::string& path, bool binary = true);
  /// The same into an open file, which must outlive the solver or end_proof().
  void begin_proof(std::FILE* file, bool binary = true);
  void end_proof();

  /// Search alone, before the first clause: for what is known to be refuted in little time.
  void no_inprocessing();
  /// From now on what is learned goes to `proof`, which must outlive the solver, as additions of
  /// binary DRAT. Where there is search alone and nothing is assumed that is all of a proof, at a
  /// fraction of the cost of begin_proof(): what else CaDiCaL derives is propagated units.
  void note_learned(std::string& proof);
  /// Is that so with this CaDiCaL? Only where it has been tested.
  static bool learned_is_proof();

  int new_variable() override { return ++variables_; }
  void add_clause(std::span<const int> literals) override;
  void poll() override;
  void expect(double variables, double clauses, double bytes) override;

  /// Decides the clauses under the assumptions; constant assumptions are folded. unknown = the
  /// budget is spent, or `conflict_limit` (0 = none) conflicts were not enough.
  Verdict solve(std::span<const Lit> assumptions = {}, std::int64_t conflict_limit = 0);
  /// Truth of a literal in the model of the last sat answer.
  bool value(Lit literal) const;
  /// Did the assumption take part in the last unsat answer?
  bool failed(Lit assumption) const;
  /// CaDiCaL's own statistics, on standard output, which is the only way 1.5.3 tells them.
  void print_statistics();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  Budget& budget_;
  int variables_ = 0;
  std::int64_t clauses_ = 0;
};

}  // namespace twill
