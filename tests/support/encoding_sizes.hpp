// The sizes that the heads of the encodings' files state, computed from n, k and the weights alone.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/sum_check.hpp"

namespace twill::test {

inline Size operator+(Size a, Size b) {
  return {a.variables + b.variables, a.clauses + b.clauses};
}

using Weights = std::vector<std::int64_t>;

Size pairwise_size(std::int64_t n);
Size ladder_size(std::int64_t n);
Size product_size(std::int64_t n);
Size commander_size(std::int64_t n);
Size binary_size(std::int64_t n);
Size bimander_size(std::int64_t n);

// 1 <= k < n.
Size seqcounter_size(std::int64_t n, std::int64_t k);
Size totalizer_size(std::int64_t n, std::int64_t k);
Size ktotalizer_size(std::int64_t n, std::int64_t k);
Size kmtotalizer_size(std::int64_t n, std::int64_t k);
Size sortnet_size(std::int64_t n, std::int64_t k);
Size cardnet_size(std::int64_t n, std::int64_t k);
Size card_adder_size(std::int64_t n, std::int64_t k);

// Canonical sums.
Size bdd_size(const Weights& weights, std::int64_t k);
Size swc_size(const Weights& weights, std::int64_t k);
Size gte_size(const Weights& weights, std::int64_t k);
Size gpw_size(const Weights& weights, std::int64_t k);
Size lpw_size(const Weights& weights, std::int64_t k);
Size dpw_size(const Weights& weights, std::int64_t k);
Size sorter_size(const Weights& weights, std::int64_t k);
Size pb_adder_size(const Weights& weights, std::int64_t k);

}  // namespace twill::test
