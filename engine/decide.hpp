// One question to the engine: is there a schedule at this I no longer than this L? What solvers are
// compared on; the search proper is solve().
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "engine/include/twill.hpp"
#include "graph/verdict.hpp"

namespace twill {

struct Decided {
  Verdict verdict = Verdict::unknown;
  bool by_bounds = false;            ///< refuted by an arithmetic bound, no formula built
  std::optional<Schedule> schedule;  ///< of the modulo form, where the answer is sat
  std::int64_t variables = 0, clauses = 0, conflicts = 0;
  double seconds = 0;
};

/// Decides the question under the limits, seed and encoding of `options` (whose other fields are
/// not read). The modulo form asks the arithmetic bounds first, then the engine; the straight-line
/// forms are the paper's program as CNF, and the literal one answers that program, not the truth. A
/// model of an exact form is verified. Throws InputError on an encoding that does not exist.
/// Preconditions: check() has accepted the problem, ii >= 1, length >= 1.
Decided decide(const Problem& problem, Cycle ii, Cycle length, const Options& options = {},
               const std::stop_token& stop = {});

/// Is there a schedule at `ii`, of any length? Over all stages, or the number in the options,
/// with the pins, the engine and the limits of `options`; modulo form only.
Decided decide_interval(const Problem& problem, Cycle ii, const Options& options,
                        const std::stop_token& stop = {});

}  // namespace twill
