// Registers of a launch's partitions, moved to those whose text needs more than they have.
#pragma once

#include "graph/emit/plan.hpp"

namespace twill::emit {

/// Where a slot has fewer registers than registers_needed() says, others that have more than they
/// need give it theirs, kRegisterStep at a time: the launch keeps its limits (check_limits()). A
/// launch whose slots all have enough stays as it is, and so does one of a function of several
/// loops, which share their registers. Sets Plan::registers_short to what is still lacking.
void share_by_need(Plan& plan);

}  // namespace twill::emit
