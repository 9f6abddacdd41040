// The goal `lifetime` in the order engine: the orders of a model decide how small the sum of all
// lifetimes can be, by a flow (graph/difference_flow.hpp). Where that is more than the goal allows,
// what the flow uses of the model is the reason: a lemma, so that neither the formula nor the
// number of questions depends on the cycles.
//
// A lifetime is at least what each of its uses says: with start = stage I + row, for one use (u, v)
// an op, lifetime(u) >= row(v) - row(u) + (stage(v) - stage(u) + distance) I + hold. Summed over
// the ops, constraints between rows, taken as often as the flow says, bound the rows' part, and a
// bound on every stage that does not cancel the rest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "encoders/order.hpp"
#include "engine/order/searcher.hpp"

namespace twill::order {

struct LeastLifetime {
  std::int64_t total = 0;   ///< no schedule with the model's orders and stages has less
  std::vector<Cycle> rows;  ///< with that total, and all of the model's constraints
  std::vector<int> lemma;   ///< "not all of what makes it so large"
  std::string reason;       ///< of the lemma, for the certificate (lifetime_lemma.hpp)
};

/// Of the solver's model, where stages are literals.
LeastLifetime least_lifetime(const Problem& problem, const OrderEncoding& encoding,
                             const OrderSearcher& solver, Cycle ii, Cycle deadline, Cycle stages);

}  // namespace twill::order
