// What can become of a bound after its sum has been encoded, as types: a caller that wants to lower
// a bound later cannot ask for it where the encoding does not allow it.
//
// The distinction of assumptions and clauses is that of RustSAT's trait Monotone (Jabs, SAT 2025);
// that of encodings with and without it goes back to Martins, Joshi, Manquinho and Lynce,
// "Incremental Cardinality Constraints for MaxSAT", CP 2014.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "encoders/formula.hpp"

namespace twill {

/// The bound is part of what the auxiliary variables mean: another bound is another encoding. The
/// constraint with the bound asked for has been emitted.
struct FinalBound {};

/// A smaller bound is more clauses over the variables that exist, for good ("by units"). The
/// constraint with the bound asked for has been emitted.
class TightenableBound {
 public:
  using Emit = std::function<void(Formula&, std::int64_t)>;
  TightenableBound(std::int64_t upper, Emit emit) : upper_(upper), emit_(std::move(emit)) {}
  /// sum <= bound from now on; bounds above the present one change nothing.
  void tighten(Formula& f, std::int64_t bound) {
    if (bound >= upper_) return;
    upper_ = bound;
    emit_(f, bound);
  }
  std::int64_t upper() const { return upper_; }

 private:
  std::int64_t upper_;
  Emit emit_;
};

/// Any bound up to `upper` is a set of literals to assume. Nothing holds until they are assumed, or
/// added as unit clauses.
class AssumableBound {
 public:
  using Literals = std::function<std::vector<Lit>(std::int64_t)>;
  AssumableBound(std::int64_t upper, bool monotone, Literals literals)
      : upper_(upper), monotone_(monotone), literals_(std::move(literals)) {}
  /// All of these true = the sum is at most min(bound, upper). A bound < 0 gives the false literal.
  std::vector<Lit> at_most(std::int64_t bound) const {
    if (bound < 0) return {kFalseLit};
    return literals_(bound < upper_ ? bound : upper_);
  }
  std::int64_t upper() const { return upper_; }
  /// The literals of a bound may be added as unit clauses and those of smaller bounds still be
  /// used.
  bool monotone() const { return monotone_; }

 private:
  std::int64_t upper_;
  bool monotone_;
  Literals literals_;
};

using LaterBound = std::variant<FinalBound, TightenableBound, AssumableBound>;

}  // namespace twill
