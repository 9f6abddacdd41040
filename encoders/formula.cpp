#include "encoders/formula.hpp"

namespace twill {

void Formula::clause(std::span<const Lit> literals) {
  tick();
  buffer_.clear();
  for (const Lit l : literals) {
    if (l.is_true()) return;
    if (!l.is_false()) buffer_.push_back(l.dimacs());
  }
  if (!guard_.is_constant()) buffer_.push_back((~guard_).dimacs());
  ++clauses_;
  literals_ += static_cast<std::int64_t>(buffer_.size());
  sink_.add_clause(buffer_);
}

bool Formula::native_sum(std::span<const Lit> literals, std::span<const std::int64_t> weights,
                         std::int64_t bound) {
  if (!guard_.is_constant()) return false;
  buffer_.clear();
  for (const Lit l : literals) buffer_.push_back(l.dimacs());
  if (!sink_.add_sum(buffer_, weights, bound)) return false;
  ++clauses_;
  literals_ += static_cast<std::int64_t>(buffer_.size());
  return true;
}

Lit Formula::implied_by_both(Lit a, Lit b) {
  if (a.is_true() || a == b) return b;
  if (b.is_true()) return a;
  if (a.is_false() || b.is_false() || a == ~b) return kFalseLit;
  const Lit c = fresh();
  implies(a, b, c);
  return c;
}

}  // namespace twill
