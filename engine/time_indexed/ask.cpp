// One question to CaDiCaL about the time-indexed form.
#include "engine/time_indexed/time_indexed.hpp"
#include "graph/verify.hpp"

namespace twill::time_indexed {

ModuloRequest request_of(const Search& search, Cycle ii, Cycle stages, int detail) {
  ModuloRequest request{search.placement, ii, stages};
  request.detail = std::max(detail, 0);
  request.lifetimes = detail > kWithoutLifetimes;
  return request;
}

void Proving::keep(const ModuloRequest& request, Cycle deadline) {
  if (!proof_) return;
  solver_.end_proof();
  Refutation r;
  r.about = search_.about;
  r.limits = search_.goals;
  r.ii = request.ii;
  r.deadline = deadline;
  r.encoding = encoding_text(search_.choice);
  r.request = request;
  r.proof = std::make_shared<const std::string>(proof_->bytes());
  proof_.reset();
  search_.evidence->keep(std::move(r));
}

Answer ask(const Search& search, Cycle ii, Cycle stages, int pinned, std::int64_t conflict_limit,
           int first_detail) {
  Answer answer;
  search.budget.complete([&] {
    for (int detail = first_detail;; ++detail) {
      SatSolver solver(search.budget, search.seed);
      Proving proving(search, solver);
      Formula formula(solver);
      ModuloRequest request = request_of(search, ii, stages, detail);
      request.pinned = pinned;
      const ModuloEncoding encoding =
          encode_modulo(formula, search.problem, request, search.choice);
      search.report.formula(formula);
      const bool quick = detail == kWithoutLifetimes;
      const Verdict verdict = solver.solve({}, quick ? kQuickConflicts : conflict_limit);
      search.report.tell();
      if (quick && verdict == Verdict::unknown && !search.budget.spent()) continue;
      if (verdict == Verdict::unsat) proving.keep(request, -1);
      if (verdict != Verdict::sat) return void(answer = {verdict, std::nullopt});
      Schedule schedule = encoding.decode(search.problem, [&](Lit l) { return solver.value(l); });
      const auto violation = verify(search.problem, schedule);
      if (!violation) return void(answer = {verdict, std::move(schedule)});
      if (!quick && !encoding.relaxed)
        throw std::logic_error("the exact formula has a model that verify() refuses: " +
                               violation->text);
    }
  });
  return answer;
}

}  // namespace twill::time_indexed
