#include "engine/order/incremental_solver.hpp"

#include <cassert>
#include <stdexcept>
#include <utility>

#include "engine/order/cdcl.hpp"
#include "engine/order/order.hpp"
#include "graph/bounds/automorphism.hpp"
#include "graph/divide.hpp"
#include "graph/index.hpp"
#include "graph/log.hpp"
#include "graph/verify.hpp"

namespace twill::order {

OrderRequest request_of(const Search& search, bool rotated) {
  OrderRequest request{search.placement};
  if (rotated) request.pinned = rotation_pivot(search.problem);
  if (search.choice.symmetry && !request.limits.single_out())
    request.exchange = exchangeable_ops(search.problem);
  if (const int first = exchanged_op(search.problem, request);
      first >= 0 && first != request.pinned) {
    auto exchanges = exchanges_from(search.problem, request.exchange, first);
    request.further_exchanges.assign(exchanges.begin() + 1, exchanges.end());
  }
  return request;
}

OrderRequest request_within(const Search& search, Cycle ii, Cycle deadline) {
  OrderRequest request = request_of(search, false);
  request.ii_low = request.ii_high = ii;
  request.stages = stages_within(search, ii, deadline);
  request.deadline = true;
  return request;
}

namespace {

std::unique_ptr<OrderSearcher> searcher_of(const Search& search) {
  std::unique_ptr<OrderSearcher> searcher;
  if (through_cadical(search.engine))
    searcher = cadical_searcher(search.budget, search.seed);
  else
    searcher = std::make_unique<Cdcl>(search.budget, search.seed);
  if (search.evidence != nullptr) searcher->note_steps();
  return searcher;
}

Formula formula_into(ClauseSink& sink, ClauseGroups* groups) {
  Formula formula(sink);
  if (groups != nullptr) formula.mark_groups(*groups);
  return formula;
}

}  // namespace

std::vector<Cycle> least_rows(const OrderSearcher& solver, const Differences& rows, int ops) {
  std::vector<Cycle> least;
  for (int v = 0; v < ops; ++v) least.push_back(solver.least(0, rows.node(v)));
  return least;
}

std::vector<Cycle> least_stages(const OrderSearcher& solver, const Differences& rows, int ops) {
  std::vector<Cycle> stages;
  for (int v = 0; v < ops; ++v) {
    const int node = rows.stage_node(v);
    Cycle least = std::max<Cycle>(0, solver.least(0, node));
    for (int u = 0; u < ops; ++u) least = std::max(least, solver.least(rows.stage_node(u), node));
    stages.push_back(least);
  }
  return stages;
}

IncrementalSolver::IncrementalSolver(const Search& search, OrderRequest request)
    : search_(search),
      request_(std::move(request)),
      solver_(searcher_of(search)),
      counted_(*solver_, search.budget, search.problem, request_),
      formula_(formula_into(counted_, search.evidence != nullptr ? &groups_ : nullptr)),
      encoding_(formula_, search.problem, request_, search.choice),
      ii_(request_.ii_high) {
  counted_.complete(encoding_.rows());
  solver_->learn_within(counted_.count().learned_bytes(search.budget.memory_limit()));
  search.report.formula(formula_);
  TWILL_LOG("formula: I = ", request_.ii_low, " to ", request_.ii_high, ", ", request_.stages,
            " stages (0 = any), ", formula_.variables(), " variables, ", formula_.clauses(),
            " clauses");
  if (const std::int64_t most = request_.limits.lifetime; most >= 0) {
    lifetime_.emplace(search.problem, encoding_, request_.stages, most, search.evidence != nullptr);
    bounded_ = solver_->keep_within(*lifetime_);
  }
  const Cycle full_at = std::exchange(request_.full_units.ii, 0);
  full_units_left_ = encoding_.has_full_units(ii_);
  if (full_at > 0 && encoding_.has_full_units(full_at)) add_full_units(full_at);
}

// What holds at this I holds at smaller ones, and none other is asked from now on.
void IncrementalSolver::add_full_units(Cycle ii) {
  full_units_left_ = false;
  request_.full_units = {ii, static_cast<std::int64_t>(refinements_.size())};
  encoding_.add_full_units(ii);
  search_.report.formula(formula_);
  TWILL_LOG("waits beside full units: ", formula_.clauses(), " clauses now");
}

Answer IncrementalSolver::ask(Cycle ii, Cycle deadline, std::int64_t conflict_limit) {
  Answer answer = look(ii, deadline, conflict_limit);
  if (answer.verdict != Verdict::unsat || refuted_) return answer;
  // CaDiCaL takes as long as the search. Where that was long its derivation is replayed instead.
  // So it is, too, where lemmas were forgotten for room, which CaDiCaL would lack.
  const bool forgotten = solver_->has_forgotten();
  refuted_ = ((spent_ >= kLong || forgotten) && solver_->is_replayed()) ||
             (!forgotten && refuted_by_cadical());
  return refuted_ ? answer : Answer{};
}

Answer IncrementalSolver::look(Cycle ii, Cycle deadline, std::int64_t conflict_limit) {
  if (refuted_) return {Verdict::unsat, std::nullopt};
  fall_to(ii, deadline);
  return look(conflict_limit, {});
}

// What has been learned holds for smaller parameters only.
void IncrementalSolver::fall_to(Cycle ii, Cycle deadline) {
  assert(request_.ii_low <= ii && ii <= ii_);
  assert(!request_.deadline || (deadline >= 0 && deadline <= deadline_));
  solver_->set_parameters(ii_ = ii, deadline_ = deadline);
}

// The atoms that hold in a schedule are its orders. Stages, which follow from rows, are left open,
// and so is how far rows are from the deadline.
Answer IncrementalSolver::look_near(const Schedule& schedule, const std::vector<char>& free,
                                    Cycle ii, std::int64_t conflict_limit, Cycle deadline) {
  assert(free.size() == search_.problem.ops.size());
  assert(schedule.initiation_interval >= ii);
  const Cycle period = schedule.initiation_interval;
  const Cycle origin = request_.pinned < 0 ? 0 : schedule.start[at(request_.pinned)];
  const auto stays = [&](int op) { return free[at(op)] == 0; };
  std::vector<int> assumptions;
  const int ops = static_cast<int>(search_.problem.ops.size());
  for (int v = 0; v < ops; ++v) {
    const Lit slot = encoding_.on(v, schedule.warp[at(v)]);
    if (stays(v) && !slot.is_constant()) assumptions.push_back(slot.dimacs());
  }
  const Differences& rows = encoding_.rows();
  std::vector<Cycle> row(at(rows.nodes()), 0);
  std::vector<char> fixed(at(rows.nodes()), 0);  // as ops that start there stay, and the origin
  fixed[0] = 1;
  for (int v = 0; v < ops; ++v) {
    row[at(rows.node(v))] = mod(schedule.start[at(v)] - origin, period);
    if (stays(v)) fixed[at(rows.node(v))] = 1;
  }
  for (const DifferenceAtom& atom : rows.atoms()) {
    const auto [from, to] = std::pair(atom.difference.from, atom.difference.to);
    if (atom.difference.deadlines == 0 && fixed[at(from)] != 0 && fixed[at(to)] != 0 &&
        row[at(to)] - row[at(from)] >= atom.difference.at(period, 0))
      assumptions.push_back(atom.variable);
  }
  fall_to(ii, deadline);
  return look(conflict_limit, assumptions);
}

Answer IncrementalSolver::look(std::int64_t conflict_limit, std::span<const int> assumptions) {
  const std::int64_t before = limit_lemmas_;
  for (;;) {
    // A lemma of lifetimes is a conflict too, though the solver has not met it as one.
    const std::int64_t lemmas = limit_lemmas_ - before;
    if (lemmas > 0 && (search_.budget.spent() || (conflict_limit > 0 && lemmas >= conflict_limit)))
      return {};
    const Verdict found = solve(conflict_limit, assumptions);
    search_.report.tell();
    TWILL_LOG("question: I = ", ii_, request_.deadline ? ", D = " + std::to_string(deadline_) : "",
              ", ", assumptions.size(), " assumptions, limit ", conflict_limit, ": ",
              to_string(found), ", ", search_.budget.conflicts(), " conflicts in all, ",
              solver_->lemmas().clauses(), " lemmas");
    if (found == Verdict::unknown) return {};
    if (found == Verdict::unsat) return {Verdict::unsat, std::nullopt};
    if (auto schedule = model()) return {Verdict::sat, std::move(schedule)};
  }
}

// A search that is as long as this gets clauses that most do without: those that end before are
// what they were.
Verdict IncrementalSolver::solve(std::int64_t conflict_limit, std::span<const int> assumptions) {
  for (std::int64_t left = conflict_limit;;) {
    if (full_units_left_ && spent_ >= kLong) {
      full_units_left_ = encoding_.has_full_units(ii_);
      if (full_units_left_) add_full_units(ii_);
    }
    const std::int64_t first = kLong - spent_;
    const bool pause = full_units_left_ && (left == 0 || first < left);
    solver_->take(encoding_.rows());
    for (const int literal : assumptions) solver_->assume(literal);
    const std::int64_t before = search_.budget.conflicts();
    const Verdict found = solver_->solve(pause ? first : left);
    const std::int64_t taken = search_.budget.conflicts() - before;
    spent_ += taken;
    if (found != Verdict::unknown || !pause || taken < first || search_.budget.spent())
      return found;
    if (left > 0) left -= taken;
  }
}

std::optional<Schedule> IncrementalSolver::model() {
  const Differences& rows = encoding_.rows();
  const int ops = static_cast<int>(search_.problem.ops.size());
  if (lifetime_ && !within_limit()) return std::nullopt;
  const std::vector<Cycle> row = lifetime_ ? lifetime_->rows() : least_rows(*solver_, rows, ops);
  Schedule schedule = encoding_.decode(
      ii_, [&](Lit l) { return solver_->value(l); }, row,
      request_.stages == 0 ? least_stages(*solver_, rows, ops) : std::vector<Cycle>{});
  if (encoding_.refine(schedule) > 0) {
    search_.report.formula(formula_);
    TWILL_LOG("the model overflows a resource: ", formula_.clauses(), " clauses now");
    if (search_.evidence != nullptr) refinements_.push_back(std::move(schedule));
    return std::nullopt;
  }
  if (const auto violation = verify(search_.problem, schedule))
    throw std::logic_error("the order form has a model that verify() refuses: " + violation->text);
  return schedule;
}

bool IncrementalSolver::within_limit() {
  if (bounded_) return true;
  bool within = lifetime_->reset(ii_, deadline_);
  for (int v = 1; within && v <= solver_->clauses().variables(); ++v)
    within = lifetime_->assign(solver_->value(Lit::of(v)) ? v : -v);
  if (within) return true;
  solver_->add_lemma(lifetime_->lemma(), lifetime_->reason());
  ++limit_lemmas_;
  search_.budget.count_conflict();
  return false;
}

bool IncrementalSolver::refuted_by_cadical() {
  std::string learned;
  std::optional<ProofFile> traced;
  SatSolver cadical(search_.budget, search_.seed);
  cadical.no_inprocessing();
  if (search_.evidence != nullptr && SatSolver::learned_is_proof())
    cadical.note_learned(learned);
  else if (search_.evidence != nullptr)
    cadical.begin_proof(traced.emplace().file());
  for (int v = 0; v < solver_->clauses().variables(); ++v) cadical.new_variable();
  const MemoryCnf &clauses = solver_->clauses(), &lemmas = solver_->lemmas();
  const std::vector<char> needed = solver_->needed();  // what proves them unsatisfiable proves all
  for (std::size_t i = 0; i < clauses.clauses(); ++i)
    if (needed[i] != 0) cadical.add_clause(clauses.clause(i));
  for (std::size_t i = 0; i < lemmas.clauses(); ++i) cadical.add_clause(lemmas.clause(i));
  const Verdict answer = cadical.solve();
  TWILL_LOG("CaDiCaL on the clauses and ", lemmas.clauses(),
            " lemmas: ", answer == Verdict::unsat ? "refuted" : "not refuted");
  if (answer == Verdict::sat)
    throw std::logic_error("CaDiCaL does not confirm a refutation of the order engine");
  if (answer != Verdict::unsat) return false;
  if (traced) {
    cadical.end_proof();
    learned = traced->bytes();
  }
  if (search_.evidence != nullptr) keep_evidence(std::move(learned));
  return true;
}

void IncrementalSolver::keep_evidence(std::string proof) {
  Refutation r;
  r.about = search_.about;
  r.limits = search_.goals;
  r.ii = ii_;
  if (request_.deadline) r.deadline = deadline_;
  r.encoding = encoding_text(search_.choice);
  r.request = request_;
  r.refinements = std::move(refinements_);
  // Copies take the room that they need. (If what grew were kept where it is, later formulas would
  // be allocated on pages that nobody has touched, which takes time.)
  const auto formula = std::make_shared<EncodedFormula>();
  formula->cnf = solver_->clauses();
  formula->groups = groups_;
  describe(*formula, search_.problem, request_, encoding_);
  r.formula = formula;
  r.lemmas = std::make_shared<const TheoryLemmas>(solver_->explained_lemmas());
  r.proof = std::make_shared<const std::string>(std::move(proof));
  search_.evidence->keep(std::move(r));
}

}  // namespace twill::order
