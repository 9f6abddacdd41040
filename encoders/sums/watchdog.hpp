// The polynomial watchdog: bits of the weights counted in unary, bucket by bucket. Bailleux,
// Boufkhad and Roussel, "New Encodings of Pseudo-Boolean Constraints into CNF", SAT 2009.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encoders/sums/pseudo_boolean.hpp"
#include "encoders/sums/unary.hpp"

namespace twill {

/// Bit b of every weight goes to bucket b, b = 0 .. p with 2^p <= the largest weight < 2^(p+1), and
/// tare[b], which may be constant, too, for b < p. Unary S_b = totalizer over bucket b's literals,
/// plus half of S_{b-1} (its even outputs), plus tare[b] by unary sums with a single literal; the
/// constant true shifts. Returns S_p up to `limit`: output m is implied by "the terms and the tare
/// weigh at least m 2^p". S_b is counted up to limit 2^(p-b).
Unary watchdog_buckets(Formula& f, std::span<const Term> terms, std::span<const Lit> tare,
                       std::size_t limit);

/// p of the terms.
int watchdog_top(std::span<const Term> terms);

/// Implied, by propagation, when the sum of the terms exceeds `bound` >= 0; the false literal where
/// it cannot. Terms heavier than the bound imply it by themselves, one clause each.
Lit watchdog(Formula& f, std::span<const Term> terms, std::int64_t bound);

}  // namespace twill
