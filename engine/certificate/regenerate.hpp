// The formula of a refutation, made again from the problem: what writes a certificate and what
// checks it both call this, and nothing else of the encoders.
#pragma once

#include <string>
#include <vector>

#include "encoders/difference.hpp"
#include "encoders/sinks.hpp"
#include "engine/certificate/evidence.hpp"

namespace twill {

/// A variable that is true exactly where op `op` is in stage `at_least` or a later one.
struct StageLiteral {
  int variable = 0;
  int op = 0;
  Cycle at_least = 0;
};

struct RegeneratedFormula {
  MemoryCnf cnf;
  std::vector<GroupMark> groups;      ///< which clauses belong to which constraint
  std::vector<std::string> nodes;     ///< of the difference constraints, by name
  std::vector<Difference> facts;      ///< order
  std::vector<DifferenceAtom> atoms;  ///< order
  std::vector<DifferenceSum> sums;    ///< order
  std::vector<StageLiteral> stages;   ///< order, where the sum of lifetimes is limited
};

/// `problem` is the serial problem where the refutation is about that. Throws InputError when the
/// encoding's text cannot be read.
RegeneratedFormula regenerate(const Problem& problem, const Refutation& refutation);

/// "p cnf", the clauses, the lemmas.
std::string dimacs_text(const MemoryCnf& cnf, const MemoryCnf& lemmas);
/// "first-last description", a line for each run of clauses (from 1) of one constraint.
std::string groups_text(const RegeneratedFormula& formula, const MemoryCnf& lemmas);
/// Facts, atoms and sums of the order form in words: "a12 row(S) - row(P) >= 512 - 1 I",
/// "s3 row(S) - first(1) >= 0 + 512 a7 + 256 a9".
std::string rows_text(const RegeneratedFormula& formula);

}  // namespace twill
