// What an arith.cmpi asks.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/meaning/user_kernel.hpp"
#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// Of the predicates of arith.cmpi, those that have a meaning here, with MLIR's numbers.
inline constexpr std::int64_t kEqual = 0, kUnequal = 1, kSignedLess = 2, kSignedAtMost = 3,
                              kSignedMore = 4, kSignedAtLeast = 5;

/// "sge" of the custom form, a number of the generic one; nullopt = another one.
std::optional<std::int64_t> predicate(const Module& module, const Operation& op);

/// Of one that compares integers without a sign, what it asks of integers with one; nullopt =
/// another.
std::optional<std::int64_t> unsigned_predicate(const Module& module, const Operation& op);

/// What a predicate asks of two integers, or its opposite; nullopt = another one.
std::optional<meaning::IndexComparison::How> how_of(std::int64_t predicate, bool truth);

/// Of an arith.cmpf of numbers, none of which is NaN: the predicate of arith.cmpi that asks the
/// same ("oge" is "sge").
std::optional<std::int64_t> real_predicate(const Module& module, const Operation& op);

}  // namespace twill::ttgir
