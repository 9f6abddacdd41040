// Which encoding is used where: names, and the documented automatic rule.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encoders/formula.hpp"
#include "encoders/pseudo_boolean.hpp"

namespace twill {

enum class StartEncoding { automatic, rowstage, order };
enum class AmoEncoding { automatic, pairwise, ladder, product };
enum class CardEncoding { automatic, sequential, totalizer };
enum class PbEncoding { automatic, bdd, swc };
enum class Form { modulo, straight_line, straight_line_literal };

/// The encodings of one formula. Automatic means, by predicted size:
///   start  rowstage: its size grows with I + stages, not with I * stages
///   amo    pairwise for n <= 5, ladder above (product has fewer clauses from n = 45 on, but the
///          ladder's prefix literals are what the residue sums of neighbouring cycles share)
///   card   k = 1 as at most one; else the one of sequential counter and k-limited totalizer with
///          fewer predicted clauses
///   pb     equal weights as cardinality; else the BDD while it has at most n * bound nodes (two
///          clauses each; the sequential weighted counter has about 2 n * bound), else the counter
struct EncodingChoice {
  StartEncoding start = StartEncoding::automatic;
  AmoEncoding amo = AmoEncoding::automatic;
  CardEncoding card = CardEncoding::automatic;
  PbEncoding pb = PbEncoding::automatic;
  Form form = Form::modulo;
  bool symmetry = true;  ///< break the symmetry of identical slots
};

/// Reads "key=value,key=value"; throws InputError naming the key or the value and the known ones.
EncodingChoice parse_encoding(std::string_view text);
/// The same text back, every key named.
std::string encoding_text(const EncodingChoice& choice);

/// One row of the table of encodings: what `twill encodings` prints and parse_encoding reads.
struct EncodingInfo {
  std::string key, value, citation, claim;
};
std::span<const EncodingInfo> encoding_table();

void at_most_one(Formula& f, const EncodingChoice& choice, std::span<const Lit> literals);
void at_most(Formula& f, const EncodingChoice& choice, std::span<const Lit> literals,
             std::int64_t k);
/// sum of weight * literal <= bound; terms need not be canonical, weights >= 0.
void at_most_sum(Formula& f, const EncodingChoice& choice, std::span<const Term> terms,
                 std::int64_t bound);

}  // namespace twill
