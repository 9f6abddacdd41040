// How each cost of a kernel on a machine came about: rule, formula, cycles. Private to graph/.
#pragma once

#include <string>
#include <vector>

#include "graph/lowering/kernel.hpp"
#include "graph/lowering/machine.hpp"

namespace twill {

/// What is said of an op beside its cost, by a front end.
struct CostRemark {
  std::string op;    ///< where it comes from, "math.exp2 line 40"
  std::string note;  ///< how it was arrived at, where that is not plain
};

/// One line an op, aligned columns; `remarks` one an op or none (then there is no column for it).
/// No slot layout takes part. Throws InputError where the machine has no price for an op.
std::string explain_costs(const Kernel& kernel, const Machine& machine,
                          const std::vector<CostRemark>& remarks);

}  // namespace twill
