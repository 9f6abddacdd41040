#include "tests/support/unit_propagation.hpp"

namespace twill::test {
namespace {

/// Passes over all clauses until nothing changes. False: a clause is empty.
bool close(const MemoryCnf& cnf, Assignment& assignment) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < cnf.clauses(); ++i) {
      int open = 0, last = 0;
      bool satisfied = false;
      for (const int literal : cnf.clause(i)) {
        const int value = assignment.of(literal);
        satisfied = satisfied || value > 0;
        if (value == 0 && literal != last) {
          ++open;
          last = literal;
        }
      }
      if (satisfied || open > 1) continue;
      if (open == 0) return false;
      assignment.set(last);
      changed = true;
    }
  }
  return true;
}

bool search(const MemoryCnf& cnf, Assignment assignment) {
  if (!close(cnf, assignment)) return false;
  for (std::size_t i = 0; i < cnf.clauses(); ++i) {
    bool satisfied = false;
    int open = 0;
    for (const int literal : cnf.clause(i)) {
      satisfied = satisfied || assignment.of(literal) > 0;
      if (assignment.of(literal) == 0) open = literal;
    }
    if (satisfied) continue;
    for (const int literal : {open, -open}) {
      Assignment next = assignment;
      next.set(literal);
      if (search(cnf, std::move(next))) return true;
    }
    return false;
  }
  return true;
}

/// False: the assumptions contradict each other or a constant.
bool assume(Assignment& assignment, std::span<const Lit> assumptions) {
  for (const Lit literal : assumptions) {
    if (assignment.of(literal) < 0) return false;
    if (!literal.is_constant()) assignment.set(literal.dimacs());
  }
  return true;
}

}  // namespace

std::optional<Assignment> propagate(const MemoryCnf& cnf, std::span<const Lit> assumptions) {
  Assignment assignment(cnf.variables());
  if (!assume(assignment, assumptions) || !close(cnf, assignment)) return std::nullopt;
  return assignment;
}

bool satisfiable(const MemoryCnf& cnf, std::span<const Lit> assumptions) {
  Assignment assignment(cnf.variables());
  return assume(assignment, assumptions) && search(cnf, std::move(assignment));
}

}  // namespace twill::test
