// Products that the warps of a slot compute themselves, by mma.sync (its text is
// gluon_warp_products.cpp).
#pragma once

#include <cstdint>

#include "graph/program/links.hpp"
#include "graph/program/program.hpp"

namespace twill::emit {

/// What a warp computes by one mma.sync: a result of so many rows and columns (PTX ISA, m16n8).
inline constexpr std::int64_t kRowsOfWarpProduct = 16, kColumnsOfWarpProduct = 8;

/// Op `op` is a product. Has it its right factor and its result in registers, fewer rows than wgmma
/// and tcgen05.mma have, and numbers that mma.sync multiplies?
bool is_warp_product(const program::Program& program, const meaning::Meaning& meaning,
                     const program::Links& links, int op);

}  // namespace twill::emit
