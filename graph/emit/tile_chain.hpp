// A tile in tensor memory that is loaded, computed on and stored, one after the other: text takes
// it through registers part by part.
#pragma once

#include "graph/program/links.hpp"
#include "graph/program/program.hpp"

namespace twill::emit {

/// Are ops first, first + 1 and first + 2, of one slot and stage, such a load, arithmetic and
/// store, whose tile nobody else reads on its way?
bool is_tile_chain(const program::Program& program, const meaning::Meaning& meaning,
                   const program::Links& links, int first);

}  // namespace twill::emit
