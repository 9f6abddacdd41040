// Binary (bitwise, logarithmic) at-most-one: Frisch, Peugniez, Doggett and Nightingale, "Solving
// Non-Boolean Satisfiability Problems with Stochastic Local Search", IJCAI 2001; Prestwich,
// Handbook of Satisfiability, 2009, chapter 2.
//
// Auxiliary variables: the bits of the index of the literal that may be true, ceil(log2 n).
// Clauses: n ceil(log2 n), each x_i -> a bit of i - 1. Unit propagation: consistent and arc
// consistent.
#include <bit>
#include <vector>

#include "encoders/formula.hpp"

namespace twill {

void amo_binary(Formula& f, std::span<const Lit> literals) {
  std::vector<Lit> bits(static_cast<std::size_t>(std::bit_width(literals.size() - 1)));
  for (Lit& l : bits) l = f.fresh();
  for (std::size_t i = 0; i < literals.size(); ++i)
    for (std::size_t bit = 0; bit < bits.size(); ++bit)
      f.implies(literals[i], i >> bit & 1 ? bits[bit] : ~bits[bit]);
}

}  // namespace twill
