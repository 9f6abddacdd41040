// Short schedules alone: formulas of little more than one period. They have few variables and a
// deadline that decides many of them, so that long searches ask them where others are stuck. What
// they refute says nothing of longer schedules.
#pragma once

#include <cstdint>
#include <vector>

#include "encoders/order/order.hpp"
#include "engine/order/incremental_solver.hpp"
#include "engine/search.hpp"

namespace twill::order {

/// For all I from `low` to `high` that are one formula (order_range_allowed()), and lengths up to
/// `deadline`.
OrderRequest short_request(const Search& search, Cycle low, Cycle high, Cycle deadline);

/// Appends to `found` schedules that are no longer than `deadline`, of the request's largest I and
/// then of smaller ones, as long as each takes no more than `limit` conflicts (0 = any number). sat
/// = none of a smaller I is asked for; unsat = most likely none is so short one cycle below the
/// last (at the largest I, where there is no last): without a limit surely, though no solver has
/// repeated it. Throws Budget::Spent: what was found by then counts.
Verdict look_below(const Search& search, const OrderRequest& request, Cycle deadline,
                   std::int64_t limit, std::vector<Schedule>& found);

/// Below the last one that `solver` has found, which is shortened itself: shorter ones of its I, as
/// long as each takes a few thousand conflicts at most. Throws Budget::Spent.
void look_shorter(const Search& search, IncrementalSolver& solver, std::vector<Schedule>& found);

}  // namespace twill::order
