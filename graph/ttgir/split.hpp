// Sub-tiling: which values of a loop are split along M and which are shared.
//
// The tile program is split along the rows of its products (Soi et al. 2025, Section 6, by hand
// there). A value is split along one of its dimensions or shared by all parts; what each op asks of
// its operands and results is propagated from a product's result until nothing changes. A reduction
// over the split dimension would need a combiner: that is refused.
#pragma once

#include <string>
#include <vector>

#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

struct Split {
  int factor = 1;
  std::vector<int> dimension;  ///< per value of the module, -1 = shared; empty when factor is 1

  int of(int value) const {
    return dimension.empty() ? -1 : dimension[static_cast<std::size_t>(value)];
  }
  /// The shape of one part.
  std::vector<std::int64_t> shape(const Module& module, int value) const;
};

/// How the loop's body splits into `factor` parts. Throws InputError ("line L, column C") naming
/// the op that forbids it.
Split split_loop(const Module& module, int loop, int factor);

}  // namespace twill::ttgir
