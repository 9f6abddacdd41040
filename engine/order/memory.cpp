#include "engine/order/memory.hpp"

#include <algorithm>
#include <vector>

#include "engine/order/difference_theory.hpp"
#include "graph/bounds/coincidence.hpp"
#include "graph/index.hpp"
#include "graph/log.hpp"

namespace twill::order {
namespace {

// By what the lists of Cdcl, DifferenceTheory, Differences and OrderLifetimes have for each: a list
// that grows is there twice for a while, maps have a node each.
constexpr std::int64_t kVariable = 200, kClause = 64, kLiteral = 12, kAtom = 320, kTerm = 64;
// Of an atom's, what the difference logic and the search have: the rest is taken by then.
constexpr std::int64_t kSearchedAtom = 260;
// What the lists of any solver have room for, and code that is touched for the first time.
constexpr std::int64_t kAnyway = 8 << 20;

}  // namespace

std::int64_t FormulaCount::bytes() const {
  return kVariable * variables + kClause * clauses + kLiteral * literals +
         (kAtom - kSearchedAtom) * atoms + search_bytes();
}

std::int64_t FormulaCount::search_bytes() const {
  return kAnyway + kSearchedAtom * atoms + kTerm * terms +
         static_cast<std::int64_t>(DifferenceTheory::most_bytes(static_cast<std::size_t>(nodes)));
}

std::int64_t FormulaCount::learned_bytes(std::int64_t memory_limit) const {
  if (memory_limit <= 0) return kMostLearned;
  return std::clamp((memory_limit - bytes()) / 2, kLeastLearned, kMostLearned);
}

// (Where more ops share a start than here, the request speaks of starts, and there are more nodes.)
CountedClauses::CountedClauses(ClauseSink& solver, Budget& budget, const Problem& problem,
                               const OrderRequest& request)
    : solver_(solver), budget_(budget), before_(resident_memory()) {
  const std::vector<int> leader = leaders(problem);
  int rows = 0;
  for (int v = 0; v < static_cast<int>(leader.size()); ++v) rows += leader[at(v)] == v ? 1 : 0;
  count_.nodes = 1 + rows * (request.stages == 0 ? 2 : 1);
  look();
}

int CountedClauses::new_variable() {
  ++count_.variables;
  return solver_.new_variable();
}

void CountedClauses::add_clause(std::span<const int> literals) {
  ++count_.clauses;
  count_.literals += static_cast<std::int64_t>(literals.size());
  solver_.add_clause(literals);
}

void CountedClauses::poll() {
  look();
  solver_.poll();
}

void CountedClauses::expect(double variables, double clauses, double bytes) {
  solver_.expect(variables, clauses, bytes);
}

void CountedClauses::complete(const Differences& rows) {
  count_.nodes = rows.nodes();
  count_.atoms = static_cast<std::int64_t>(rows.atoms().size());
  for (const DifferenceSum& sum : rows.sums())
    count_.terms += static_cast<std::int64_t>(sum.terms.size());
  TWILL_LOG("memory of a formula: ", (resident_memory() - before_) >> 20, " MiB, its search ",
            count_.search_bytes() >> 20, " MiB more at most, what is learned ",
            count_.learned_bytes(budget_.memory_limit()) >> 20, " MiB at most, ", count_.clauses,
            " clauses, ", count_.nodes, " nodes, ", count_.atoms, " atoms");
  if (!budget_.room_for(count_.search_bytes())) throw Budget::Spent{};
}

void CountedClauses::look() {
  const std::int64_t bytes = count_.bytes();
  if (budget_.has_room(bytes)) return;
  const std::int64_t taken = std::max<std::int64_t>(0, resident_memory() - before_);
  if (!budget_.room_for(std::max<std::int64_t>(0, bytes - taken))) throw Budget::Spent{};
}

}  // namespace twill::order
