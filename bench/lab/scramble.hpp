// The same formula in another order: variables renamed, polarities flipped, clauses and their
// literals shuffled. A solver's own seed hardly moves its search on these formulas, this does
// (Biere and Heule, "The Effect of Scrambling CNFs", POS 2018).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encoders/sinks.hpp"

namespace twill::bench {

struct Scramble {
  std::uint64_t seed = 0;  ///< 0 = as encoded
  /// Polarities are off by default: the solver is told to try false first, which is what order
  /// literals are made for, so flipping them compares another configuration.
  bool variables = true, polarities = false, clauses = true, literals = true;
};

/// "variables,polarities,clauses,literals", any of them, or "none". Throws InputError.
Scramble scramble_parts(std::string_view text, Scramble scramble = {});
std::string to_string(const Scramble& scramble);

struct ScrambledCnf {
  MemoryCnf cnf;
  std::vector<int> image;  ///< literal of `cnf` that stands for variable v, at v; 0 unused
  int of(int literal) const {
    return literal < 0 ? -image[static_cast<std::size_t>(-literal)]
                       : image[static_cast<std::size_t>(literal)];
  }
};

/// The same on every machine.
ScrambledCnf scrambled(const MemoryCnf& cnf, const Scramble& scramble);

}  // namespace twill::bench
