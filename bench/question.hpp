// The question that solvers are compared on: is there a schedule at this I no
// longer than this L?
#pragma once

#include <cstdint>
#include <stop_token>

#include "engine/include/twill.hpp"

namespace twill::bench {

enum class Verdict { sat, unsat, unknown };
const char* to_string(Verdict verdict);

struct Answered {
  Verdict verdict = Verdict::unknown;
  bool by_bounds = false;  ///< refuted by an arithmetic bound, no formula built
  std::int64_t variables = 0, clauses = 0, conflicts = 0;
  double seconds = 0;
};

/// Decides the question with Twill's formulas under the limits, seed and
/// encoding of `options` (whose `ii` and `stages` are not read). The modulo
/// form asks the arithmetic bounds first; the straight-line forms are the
/// paper's program as CNF, and the literal one answers that program, not the
/// truth. A model of an exact form is verified. Precondition: ii >= 1, length
/// >= 1.
Answered decide(const Problem& problem, Cycle ii, Cycle length, const Options& options,
                const std::stop_token& stop);

}  // namespace twill::bench
