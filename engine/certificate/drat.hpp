// An independent checker of refutations: does a DRAT proof show that a CNF has no model? Shares no
// code with any solver.
//
// Every clause of a DRAT proof is either implied by reverse unit propagation (RUP: its negation
// leads to a conflict) or a resolution asymmetric tautology on its first literal (RAT: so is every
// resolvent on it); adding it keeps the formula satisfiable if it was. Deletions only save time;
// deleting the reason of a literal that holds is passed over, as drat-trim does, which is sound,
// because the argument is about the clauses that are kept.
//
// The proof is read forward without checking until unit propagation alone refutes the clauses, then
// checked backward from there: only what the refutation needs, with needed clauses propagated first
// (Heule, Hunt and Wetzler, "Trimming while Checking Clausal Proofs", FMCAD 2013).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "engine/certificate/drat_proof.hpp"

namespace twill {

struct DratVerdict {
  bool accepted = false;
  std::string reason;       ///< why not, "" when accepted
  std::size_t place = 0;    ///< of the step at fault: line (text) or byte (binary)
  std::size_t steps = 0;    ///< read up to the refutation
  std::size_t checked = 0;  ///< additions that the refutation needs
};

/// Checks `proof` against `formula`: DIMACS clauses, each ended by 0. Anything may be in the bytes;
/// variables that the formula does not have are allowed (extended resolution). Needs memory for
/// formula and proof; time is about that of the solver that wrote it.
DratVerdict check_drat(std::span<const int> formula, std::string_view proof, ProofFormat format);

}  // namespace twill
