// What a sum's encoding does under unit propagation, found out for every partial assignment of its
// inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "encoders/choose.hpp"
#include "encoders/sinks.hpp"

namespace twill::test {

using Emit = std::function<void(Formula&, const std::vector<Lit>&)>;
/// What the true inputs count, monotone.
using Value = std::function<std::int64_t(const std::vector<bool>&)>;

struct Size {
  std::int64_t variables = 0;  ///< auxiliary
  std::int64_t clauses = 0;
  bool operator==(const Size&) const = default;
};

struct SumReport {
  bool models = true;  ///< a total assignment extends to a model if and only if it is within bound
  bool sound = true;   ///< propagation derives nothing about inputs that does not follow
  bool consistent = true;      ///< a conflict as soon as the true inputs exceed the bound
  bool arc_consistent = true;  ///< every input that would exceed the bound is falsified
  Size size;

  Propagation propagation() const {
    if (!consistent) return Propagation::none;
    return arc_consistent ? Propagation::arc_consistent : Propagation::consistent;
  }
};

/// Emits a constraint over n fresh inputs and looks at all 3^n partial assignments of them.
SumReport check_sum(std::size_t n, const Value& value, std::int64_t bound, const Emit& emit);
SumReport check_sum(const std::vector<std::int64_t>& weights, std::int64_t bound, const Emit& emit);

}  // namespace twill::test
