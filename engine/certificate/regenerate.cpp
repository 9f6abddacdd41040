#include "engine/certificate/regenerate.hpp"

namespace twill {

EncodedFormula regenerate(const Problem& problem, const Refutation& refutation) {
  EncodedFormula result;
  const EncodingChoice choice = parse_encoding(refutation.encoding);
  const LimitedProblem within = limited(problem, refutation.limits);
  Formula formula(result.cnf);
  formula.mark_groups(result.groups);
  if (const auto* order = std::get_if<OrderRequest>(&refutation.request)) {
    OrderRequest request = *order;
    request.limits = within.placement;
    OrderEncoding encoding(formula, within.problem, request, choice);
    for (const Schedule& model : refutation.refinements) encoding.refine(model);
    describe(result, within.problem, request, encoding);
  } else {
    ModuloRequest request = std::get<ModuloRequest>(refutation.request);
    request.limits = within.placement;
    const ModuloEncoding encoding = encode_modulo(formula, within.problem, request, choice);
    if (refutation.deadline >= 0) {
      const auto group = Formula::Guarded(formula, kTrueLit, "the length asked for");
      formula.unit(encoding.at_most_length(refutation.deadline));
    }
  }
  return result;
}

}  // namespace twill
