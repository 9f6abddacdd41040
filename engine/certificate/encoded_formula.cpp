#include "engine/certificate/encoded_formula.hpp"

#include <utility>

#include "graph/index.hpp"

namespace twill {
namespace {

// "0" for the origin, then the rows of ops, their stages, if there are any, and first rows of
// sequences by number.
std::vector<std::string> node_names(const Problem& problem, const Differences& rows) {
  std::vector<std::string> names(at(rows.nodes()));
  names[0] = "0";
  // The last op to give a node its name is the first that starts there.
  for (int v = static_cast<int>(problem.ops.size()) - 1; v >= 0; --v) {
    const std::string& op = problem.ops[at(v)].id;
    names[at(rows.node(v))] = "row(" + op + ")";
    if (const int stage = rows.stage_node(v); rows.is_stage(stage))
      names[at(stage)] = "stage(" + op + ")";
  }
  int sequences = 0;
  for (int node = 1; node < rows.nodes(); ++node)
    if (!rows.is_row(node) && !rows.is_stage(node))
      names[at(node)] = "first(" + std::to_string(++sequences) + ")";
  return names;
}

}  // namespace

void describe(EncodedFormula& formula, const Problem& problem, const OrderRequest& request,
              const OrderEncoding& encoding) {
  formula.nodes = node_names(problem, encoding.rows());
  formula.facts = encoding.rows().facts();
  formula.atoms = encoding.rows().atoms();
  formula.sums = encoding.rows().sums();
  if (request.limits.lifetime < 0) return;
  for (int v = 0; v < static_cast<int>(problem.ops.size()); ++v)
    for (Cycle a = 1; a < request.stages; ++a)
      formula.stages.push_back(
          {encoding.stage_at_least(v, a).dimacs(), v, a, encoding.rows().node(v)});
}

}  // namespace twill
