#include "engine/certificate/regenerate.hpp"

namespace twill {
namespace {

// Passes on what is within the limit.
class LimitedSink : public ClauseSink {
 public:
  LimitedSink(MemoryCnf& cnf, const FormulaLimit& limit) : cnf_(cnf), left_(limit) {}
  int new_variable() override {
    if (--left_.variables < 0) throw FormulaTooLarge();
    return cnf_.new_variable();
  }
  void add_clause(std::span<const int> literals) override {
    left_.literals -= static_cast<std::int64_t>(literals.size());
    if (--left_.clauses < 0 || left_.literals < 0) throw FormulaTooLarge();
    cnf_.add_clause(literals);
  }

 private:
  MemoryCnf& cnf_;
  FormulaLimit left_;
};

}  // namespace

EncodedFormula regenerate(const Problem& problem, const Refutation& refutation,
                          const FormulaLimit& limit) {
  EncodedFormula result;
  const EncodingChoice choice = parse_encoding(refutation.encoding);
  const LimitedProblem within = limit_problem(problem, refutation.limits);
  LimitedSink sink(result.cnf, limit);
  Formula formula(sink);
  formula.mark_groups(result.groups);
  if (const auto* order = std::get_if<OrderRequest>(&refutation.request)) {
    OrderRequest request = *order;
    request.limits = within.placement;
    OrderEncoding encoding(formula, within.problem, request, choice);
    const auto [full_ii, full_after] = request.full_units;
    for (std::size_t i = 0; i <= refutation.refinements.size(); ++i) {
      if (full_ii > 0 && full_after == static_cast<std::int64_t>(i))
        encoding.add_full_units(full_ii);
      if (i < refutation.refinements.size()) encoding.refine(refutation.refinements[i]);
    }
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
