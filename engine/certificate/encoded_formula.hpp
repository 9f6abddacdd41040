// A formula with what its clauses and literals mean, as a certificate tells it: what the order
// engine had when it refuted, and what is made again from the problem when that is checked.
#pragma once

#include <string>
#include <vector>

#include "encoders/order/order.hpp"
#include "encoders/sinks.hpp"

namespace twill {

/// A variable that is true exactly where op `op` is in stage `at_least` or a later one.
struct StageLiteral {
  int variable = 0;
  int op = 0;
  Cycle at_least = 0;
  int row = 0;  ///< node of the op's row
  bool operator==(const StageLiteral&) const = default;
};

struct EncodedFormula {
  MemoryCnf cnf;
  ClauseGroups groups;                ///< which clauses belong to which constraint
  std::vector<std::string> nodes;     ///< of the difference constraints, by name
  std::vector<Difference> facts;      ///< order
  std::vector<DifferenceAtom> atoms;  ///< order
  std::vector<DifferenceSum> sums;    ///< order
  std::vector<StageLiteral> stages;   ///< order, where the sum of lifetimes is limited
};

/// Fills in everything but the clauses and their groups.
void describe(EncodedFormula& formula, const Problem& problem, const OrderRequest& request,
              const OrderEncoding& encoding);

}  // namespace twill
