// Bimander at-most-one: Hoelldobler and Nguyen, "On SAT-Encodings of the At-Most-One Constraint",
// ModRef 2013; Nguyen and Mai, SoICT 2015; with groups of two.
//
// m = ceil(n/2) groups, pairwise inside and binary across. Auxiliary variables: the bits of the
// index of the group that may have a true literal, ceil(log2 m). Clauses: floor(n/2) pairs and
// n ceil(log2 m) for x -> a bit of its group's index. Unit propagation: consistent and arc
// consistent.
#include <bit>
#include <vector>

#include "encoders/formula.hpp"

namespace twill {

void amo_bimander(Formula& f, std::span<const Lit> literals) {
  const std::size_t groups = (literals.size() + 1) / 2;
  std::vector<Lit> bits(static_cast<std::size_t>(std::bit_width(groups - 1)));
  for (Lit& l : bits) l = f.fresh();
  for (std::size_t i = 0; i < literals.size(); ++i) {
    if (i % 2 == 1) f.clause({~literals[i - 1], ~literals[i]});
    for (std::size_t bit = 0; bit < bits.size(); ++bit)
      f.implies(literals[i], (i / 2) >> bit & 1 ? bits[bit] : ~bits[bit]);
  }
}

}  // namespace twill
