// How much of a formula each family of constraints is.
#pragma once

#include <cstdint>
#include <vector>

#include "encoders/formula.hpp"

namespace twill {

/// What a family of constraints takes in a formula.
struct FamilySize {
  const char* family;
  std::int64_t variables, clauses;
};

/// Sizes of families that are encoded one after the other into the same formula.
class FamilySizes {
 public:
  explicit FamilySizes(const Formula& formula)
      : formula_(formula), variables_(formula.variables()), clauses_(formula.clauses()) {}
  /// All that came since the last call belongs to `family`; families may come again.
  void add(const char* family);
  const std::vector<FamilySize>& sizes() const { return sizes_; }

 private:
  const Formula& formula_;
  std::int64_t variables_, clauses_;
  std::vector<FamilySize> sizes_;
};

}  // namespace twill
