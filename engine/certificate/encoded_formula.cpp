#include "engine/certificate/encoded_formula.hpp"

#include <utility>

#include "graph/index.hpp"

namespace twill {
namespace {

// "0" for the origin, then the rows of ops, their stages, if there are any, and first rows of
// sequences by number.
std::vector<std::string> node_names(const Problem& problem, const Differences& rows) {
  std::vector<std::string> names = {"0"};
  const int ops = static_cast<int>(problem.ops.size());
  for (int node = 1, sequences = 0; node < rows.nodes(); ++node)
    if (node <= ops)
      names.push_back("row(" + problem.ops[at(node - 1)].id + ")");
    else if (rows.is_stage(node))
      names.push_back("stage(" + problem.ops[at(node - 1 - ops)].id + ")");
    else
      names.push_back("first(" + std::to_string(++sequences) + ")");
  return names;
}

}  // namespace

void describe(EncodedFormula& formula, const Problem& problem, const OrderRequest& request,
              OrderEncoding& encoding) {
  formula.nodes = node_names(problem, encoding.rows());
  DifferenceConstraints rows = encoding.release_rows();
  formula.facts = std::move(rows.facts);
  formula.atoms = std::move(rows.atoms);
  formula.sums = std::move(rows.sums);
  if (request.limits.lifetime < 0) return;
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
    for (Cycle a = 1; a < request.stages; ++a)
      formula.stages.push_back({encoding.stage_at_least(v, a).dimacs(), v, a});
}

}  // namespace twill
