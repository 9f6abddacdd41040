// Reading DRAT proofs, text and binary: a list of clauses that are added or deleted.
//
// Source: Wetzler, Heule and Hunt, "DRAT-trim: Efficient Checking and Trimming Using Expressive
// Clausal Proofs", SAT 2014; the binary form is that of drat-trim and of the SAT competitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace twill {

enum class ProofFormat {
  text,    ///< "1 -2 0", "d 1 -2 0", comments from 'c' to the end of the line
  binary,  ///< 'a' or 'd', then 2 |l| + (l < 0) in groups of seven bits, low first, then 0
};

/// Clauses in the order of the proof, flat.
struct DratProof {
  struct Step {
    std::size_t begin = 0, end = 0;  ///< into `literals`
    std::size_t place = 0;           ///< line (text) from 1, or byte (binary) from 0
    bool deletes = false;
  };
  std::vector<int> literals;  ///< DIMACS; the first of a step is its pivot
  std::vector<Step> steps;
  std::span<const int> clause(const Step& step) const {
    return {literals.data() + step.begin, step.end - step.begin};
  }
};

/// Why a proof cannot be read: the place (as in Step) and the rule broken.
struct ProofError {
  std::size_t place = 0;
  std::string reason;
};

/// Reads a whole proof; nothing is guessed. On malformed bytes `error` is set and the result is
/// empty.
DratProof parse_drat(std::string_view bytes, ProofFormat format, std::optional<ProofError>& error);

}  // namespace twill
