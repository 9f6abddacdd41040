// The ops of regions, one by one.
#pragma once

#include "graph/index.hpp"
#include "graph/ttgir/ir.hpp"

namespace twill::ttgir {

/// An op, and all ops in its regions, in the text's order.
template <typename Visit>
void each_within(const Module& m, int op, const Visit& visit) {
  visit(op);
  for (const int region : m.op(op).regions)
    for (const int block : m.regions[at(region)].blocks)
      for (const int inner : m.block(block).ops) each_within(m, inner, visit);
}

}  // namespace twill::ttgir
