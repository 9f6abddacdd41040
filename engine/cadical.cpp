#include "engine/cadical.hpp"

#include <algorithm>
#include <cadical.hpp>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "graph/error.hpp"

namespace twill {

std::string cadical_version() {
  const std::string own = CaDiCaL::Solver::version();
  // Debian builds 1.5.3 with the version string "sc2021": then the version that the build found
  // for the library (FindCaDiCaL.cmake) is named first.
  const std::string found = TWILL_CADICAL_VERSION;
  const bool number = !own.empty() && own.front() >= '0' && own.front() <= '9';
  return number || found.empty() ? own : found + " (calls itself " + own + ")";
}

// Counts conflicts through learned clauses (1.5.3 has no statistics to read) and ends the search
// when the budget is spent.
struct SatSolver::Impl : CaDiCaL::Terminator, CaDiCaL::Learner {
  explicit Impl(Budget& b) : budget(b) {}
  bool terminate() override { return budget.spent(); }
  bool learning(int) override {
    budget.count_conflict();
    if (learned != nullptr) learned->push_back('a');
    return learned != nullptr;
  }
  // A literal as 2 v or 2 v + 1, seven bits a byte, the lowest first; 0 ends the clause.
  void learn(int literal) override {
    unsigned rest = 2 * static_cast<unsigned>(std::abs(literal)) + (literal < 0 ? 1U : 0U);
    for (; rest > 127; rest >>= 7) learned->push_back(static_cast<char>((rest & 127U) | 128U));
    learned->push_back(static_cast<char>(rest));
  }

  Budget& budget;
  std::string* learned = nullptr;
  CaDiCaL::Solver solver;
};

SatSolver::SatSolver(Budget& budget, std::uint64_t seed)
    : impl_(std::make_unique<Impl>(budget)), budget_(budget) {
  impl_->solver.set("quiet", 1);
  // Of 3.0: it would want every variable declared. (Options that a version has not are passed
  // over.)
  impl_->solver.set("factor", 0);
  // Order literals that default to false make early starts the first guess.
  impl_->solver.set("phase", 0);
  impl_->solver.set("seed", static_cast<int>(seed % 2'000'000'000));
  impl_->solver.connect_terminator(impl_.get());
  impl_->solver.connect_learner(impl_.get());
}

SatSolver::~SatSolver() {
  impl_->solver.disconnect_terminator();
  impl_->solver.disconnect_learner();
}

void SatSolver::no_inprocessing() {
  impl_->solver.set("inprocessing", 0);
  // Refutations that are only repeated are short: what makes learned clauses shorter costs more
  // than it saves. (Five questions of four graphs: 430 million instructions with, 380 without; of
  // ten times longer ones a fiftieth more.)
  impl_->solver.set("shrink", 0);
  impl_->solver.set("eagersubsume", 0);
  // Of later versions: what else they derive, which note_learned() would not be told.
  impl_->solver.set("preprocesslight", 0);
  impl_->solver.set("otfs", 0);
}

void SatSolver::note_learned(std::string& proof) {
  impl_->learned = &proof;
}

bool SatSolver::learned_is_proof() {
  const std::string_view version = CaDiCaL::Solver::version();  // tested: 1.5.3 and 1.9.5
  return version == "sc2021" || version.starts_with("1.");
}

void SatSolver::begin_proof(const std::string& path, bool binary) {
  impl_->solver.set("binary", binary ? 1 : 0);
  if (!impl_->solver.trace_proof(path.c_str()))
    throw InputError(path, "file", "a proof", "cannot be written");
}

void SatSolver::begin_proof(std::FILE* file, bool binary) {
  impl_->solver.set("binary", binary ? 1 : 0);
  impl_->solver.trace_proof(file, "proof");
}

void SatSolver::end_proof() {
  impl_->solver.close_proof_trace();
}

void SatSolver::add_clause(std::span<const int> literals) {
  if (++clauses_ % 4096 == 0 && budget_.spent()) throw Budget::Spent{};
  for (const int l : literals) impl_->solver.add(l);
  impl_->solver.add(0);
}

void SatSolver::poll() {
  if (budget_.spent()) throw Budget::Spent{};
}

void SatSolver::expect(double variables, double clauses, double bytes) {
  expect_within(budget_, variables, clauses, bytes);
}

Verdict SatSolver::solve(std::span<const Lit> assumptions, std::int64_t conflict_limit) {
  if (budget_.spent()) return Verdict::unknown;
  for (const Lit l : assumptions) {
    if (l.is_false()) return Verdict::unsat;
    if (!l.is_true()) impl_->solver.assume(l.dimacs());
  }
  std::int64_t limit = conflict_limit > 0 ? conflict_limit : -1;
  const std::int64_t left = budget_.conflicts_left();
  if (left >= 0) limit = limit < 0 ? left : std::min(limit, left);
  limit = std::min<std::int64_t>(limit, std::numeric_limits<int>::max());
  impl_->solver.limit("conflicts", static_cast<int>(limit));
  switch (impl_->solver.solve()) {
    case 10: return Verdict::sat;
    case 20: return Verdict::unsat;
    default: return Verdict::unknown;
  }
}

bool SatSolver::value(Lit literal) const {
  if (literal.is_constant()) return literal.is_true();
  // A variable that is in no clause is free: read it as false, and its negation as true.
  const int code = literal.dimacs();
  const int variable = std::abs(code);
  const bool truth = variable <= impl_->solver.vars() && impl_->solver.val(variable) > 0;
  return code > 0 ? truth : !truth;
}

bool SatSolver::failed(Lit assumption) const {
  if (assumption.is_constant()) return assumption.is_false();
  return impl_->solver.failed(assumption.dimacs());
}

void SatSolver::print_statistics() {
  impl_->solver.set("quiet", 0);
  impl_->solver.statistics();
  impl_->solver.set("quiet", 1);
}

}  // namespace twill
