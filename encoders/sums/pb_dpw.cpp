// Dynamic polynomial watchdog: Paxian, Reimer and Becker, "Dynamic Polynomial Watchdog Encoding for
// Solving Weighted MaxSAT", SAT 2018.
//
// The global polynomial watchdog (pb_gpw.cpp) whose tare is p variables, one in every bucket but
// the last: any bound is an output of the last bucket and p tare literals, to assume. Auxiliary
// variables: p for the tare, and the outputs of the buckets' trees, of the merges with the carried
// halves and of those with the tare. Clauses: the pairs of each node, and p + 1 unit clauses that
// fix the bound. Unit propagation: consistent, not arc consistent. Smaller bounds by assumption:
// any, but not after a bound's literals were added as unit clauses, since another bound has another
// tare.
#include "encoders/sums/pseudo_boolean.hpp"
#include "encoders/sums/watchdog.hpp"

namespace twill {

LaterBound later_dpw(Formula& f, const PseudoBoolean& sum) {
  const int top = watchdog_top(sum.terms);
  std::vector<Lit> tare(static_cast<std::size_t>(top));
  for (Lit& l : tare) l = f.fresh();
  const auto limit = static_cast<std::size_t>(sum.bound >> top) + 1;
  const Unary last = watchdog_buckets(f, sum.terms, tare, limit);
  return AssumableBound(sum.bound, false, [top, tare, last](std::int64_t bound) {
    const std::int64_t multiple = (bound >> top) + 1;
    const std::int64_t rest = (multiple << top) - (bound + 1);
    std::vector<Lit> literals;
    for (std::size_t b = 0; b < tare.size(); ++b)
      literals.push_back(rest >> b & 1 ? tare[b] : ~tare[b]);
    if (multiple <= static_cast<std::int64_t>(last.size()))
      literals.push_back(~last[static_cast<std::size_t>(multiple - 1)]);
    return literals;
  });
}

}  // namespace twill
