#include "engine/order/question.hpp"

#include <stdexcept>

#include "graph/automorphism.hpp"
#include "graph/verify.hpp"

namespace twill::order {

OrderRequest request_of(const Search& search, bool rotated) {
  OrderRequest request;
  request.handover = search.handover;
  request.pins = search.pins;
  request.limits = search.limits;
  if (rotated) request.pinned = rotation_pivot(search.problem);
  if (search.choice.symmetry && search.pins.empty() && search.limits.precedences.empty())
    request.exchange = exchangeable_ops(search.problem);
  return request;
}

OrderRequest request_within(const Search& search, Cycle ii, Cycle deadline, Cycle stage_limit) {
  OrderRequest request = request_of(search, false);
  request.ii_low = request.ii_high = ii;
  request.stages = deadline / ii + 1;  // a zero-cycle op may start at `deadline` itself
  if (stage_limit > 0) request.stages = std::min(request.stages, stage_limit);
  request.deadline = true;
  return request;
}

Question::Question(const Search& search, OrderRequest request)
    : search_(search),
      request_(std::move(request)),
      solver_(search.budget, search.seed),
      formula_(solver_),
      encoding_(formula_, search.problem, request_, search.choice) {
  search.report.formula(formula_);
}

Answer Question::ask(Cycle ii, Cycle deadline, std::int64_t conflict_limit) {
  solver_.set_parameters(ii_ = ii, deadline_ = deadline);
  return answer(ii, {}, conflict_limit);
}

Answer Question::ask_closed(Cycle ii, std::int64_t conflict_limit) {
  solver_.set_parameters(ii_ = ii, deadline_ = 0);
  return answer(ii, encoding_.at_most_stages(request_.stages), conflict_limit);
}

Answer Question::answer(Cycle ii, std::span<const Lit> assumptions, std::int64_t conflict_limit) {
  for (;;) {
    solver_.take(encoding_.rows());
    const Cdcl::Answer found = solver_.solve(assumptions, conflict_limit);
    search_.report.tell();
    if (found == Cdcl::Answer::unknown) return {};
    if (found == Cdcl::Answer::unsat && !solver_.refuted())
      return {SatSolver::Answer::unsat,
              std::nullopt};  // under assumptions: no claim that needs proof
    if (found == Cdcl::Answer::unsat)
      return {refuted_by_cadical() ? SatSolver::Answer::unsat : SatSolver::Answer::unknown, {}};
    std::vector<Cycle> rows;
    for (int v = 0; v < static_cast<int>(search_.problem.ops.size()); ++v)
      rows.push_back(solver_.row(v));
    Schedule schedule = encoding_.decode(
        ii, [&](Lit l) { return solver_.value(l); }, rows);
    const bool open = encoding_.in_open_end(schedule);
    if (!open && encoding_.refine(schedule) > 0) {
      if (search_.evidence != nullptr) refinements_.push_back(std::move(schedule));
      continue;
    }
    const auto violation = verify(search_.problem, schedule);
    if (violation && open) return {SatSolver::Answer::sat, std::nullopt};
    if (violation)
      throw std::logic_error("the order form has a model that verify() refuses: " +
                             violation->text);
    return {SatSolver::Answer::sat, std::move(schedule)};
  }
}

bool Question::refuted_by_cadical() const {
  std::optional<ProofFile> proof;
  if (search_.evidence != nullptr) proof.emplace();
  SatSolver judge(search_.budget, search_.seed);
  judge.no_inprocessing();
  if (proof) judge.begin_proof(proof->file());
  for (int v = 0; v < solver_.clauses().variables(); ++v) judge.new_variable();
  for (const MemoryCnf* part : {&solver_.clauses(), &solver_.lemmas()})
    for (std::size_t i = 0; i < part->clauses(); ++i) judge.add_clause(part->clause(i));
  const SatSolver::Answer answer = judge.solve();
  if (answer == SatSolver::Answer::sat)
    throw std::logic_error("CaDiCaL does not confirm a refutation of the order engine");
  if (answer != SatSolver::Answer::unsat) return false;
  if (proof) {
    judge.end_proof();
    keep_evidence(*std::move(proof));
  }
  return true;
}

void Question::keep_evidence(ProofFile proof) const {
  Refutation r;
  r.serial = search_.serial;
  r.limits = search_.goals;
  r.ii = ii_;
  if (request_.deadline) r.deadline = deadline_;
  r.encoding = encoding_text(search_.choice);
  r.request = request_;
  r.refinements = refinements_;
  r.lemmas = solver_.lemmas();
  r.proof = std::move(proof);
  search_.evidence->keep(std::move(r));
}

}  // namespace twill::order
