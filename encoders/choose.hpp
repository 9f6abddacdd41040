// Which encoding is used where: the table of all of them, their names, and the documented automatic
// rule.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encoders/formula.hpp"
#include "encoders/sums/at_most_one.hpp"
#include "encoders/sums/cardinality.hpp"
#include "encoders/sums/pseudo_boolean.hpp"

namespace twill {

enum class StartEncoding { automatic, rowstage, order, direct, channelled, binary };
enum class Form { modulo, straight_line, straight_line_literal };
struct EncodingInfo;

/// The encodings of one formula. A sum whose weights are equal is a cardinality constraint (card),
/// with bound 1 an at-most-one constraint (amo), and the others are weighted sums (pb). The -amo
/// variants take every sum, of any weights, of which a group of literals is known to exclude each
/// other or to form a chain, and are their namesakes elsewhere. `start` applies to form=modulo: the
/// straight-line programs have starts of their own, direct as printed, channelled as corrected.
///
/// Automatic means, by predicted size:
///   start  rowstage: its size grows with I + stages, not with I * stages
///   amo    pairwise for n <= 5, ladder above (product has fewer clauses from n = 45 on, but the
///          ladder's prefix literals are what the residue sums of neighbouring cycles share)
///   card   the one of sequential counter and k-limited totalizer with fewer predicted clauses
///   pb     the BDD while it has at most n * bound nodes (two clauses each; the sequential weighted
///          counter has about 2 n * bound), else the counter
struct EncodingChoice {
  StartEncoding start = StartEncoding::automatic;
  // Rows of the table; null = automatic.
  const EncodingInfo* amo = nullptr;
  const EncodingInfo* card = nullptr;
  const EncodingInfo* pb = nullptr;
  Form form = Form::modulo;
  /// Break symmetries: identical slots and, in the order form, exchangeable sub-tiles.
  bool symmetry = true;
};

/// Reads "key=value,key=value"; throws InputError naming the key or the value and the known ones.
EncodingChoice parse_encoding(std::string_view text);
/// The same text back, every key named.
std::string encoding_text(const EncodingChoice& choice);

/// What unit propagation derives from any partial assignment of the inputs.
enum class Propagation {
  none,            ///< neither of these
  consistent,      ///< a conflict whenever the true inputs alone violate the constraint
  arc_consistent,  ///< and every input that would violate it is falsified
  not_a_sum,       ///< see the claim
};
std::string to_string(Propagation propagation);

/// How a smaller bound is had after encoding: see strengthening.hpp.
enum class Strengthening { none, clauses, assumption, not_a_sum };
std::string to_string(Strengthening strengthening);

/// The functions of an encoding of sums: those of its key, and of them those that it has.
struct SumEncoders {
  AmoEncoder* amo = nullptr;
  CardEncoder* card = nullptr;  ///< null = the next one, with its bound fixed
  LaterCardEncoder* later_card = nullptr;
  PbEncoder* pb = nullptr;  ///< null = one of the next two
  LaterPbEncoder* later_pb = nullptr;
  GroupedEncoder* grouped = nullptr;
};

/// One row of the table of encodings (option_table.cpp): all that is known of one outside its file.
/// parse_encoding() reads it, `twill encodings`, `twill bench list` and --help print it, sums are
/// encoded by it, the bench grid is made of it and tests loop over it.
struct EncodingInfo {
  std::string key, value, family, citation;
  Propagation propagation = Propagation::not_a_sum;
  Strengthening strengthening = Strengthening::not_a_sum;
  std::string size;   ///< variables and clauses; the full formula is in the encoding's file
  std::string claim;  ///< in words
  SumEncoders encode = {};
};
/// Key by key; those of form and start in the order of the enumerators.
std::span<const EncodingInfo> encoding_table();
/// "key=value|value,key=..." over the table, for help texts.
std::string encoding_keys();

void at_most_one(Formula& f, const EncodingChoice& choice, std::span<const Lit> literals);
void at_most(Formula& f, const EncodingChoice& choice, std::span<const Lit> literals,
             std::int64_t k);
/// sum of weight * literal <= bound; terms need not be canonical, weights >= 0.
void at_most_sum(Formula& f, const EncodingChoice& choice, std::span<const Term> terms,
                 std::int64_t bound);
/// The same over all groups' terms, where something is known of the groups' literals.
void at_most_sum(Formula& f, const EncodingChoice& choice, std::span<const TermGroup> groups,
                 std::int64_t bound);

/// By one row of card, whatever is chosen: 1 <= k < the number of literals, which are variables.
void at_most_by(Formula& f, const EncodingInfo& row, std::span<const Lit> literals, std::int64_t k);
/// By one row of pb; the sum is canonical and has terms.
void at_most_by(Formula& f, const EncodingInfo& row, const PseudoBoolean& sum);

/// The sum encoded so that a bound of at most `upper` can be chosen later, as far as the chosen
/// encoding allows (the types are in strengthening.hpp). An AssumableBound says nothing until its
/// literals are assumed; with the others sum <= upper holds.
LaterBound later_at_most_sum(Formula& f, const EncodingChoice& choice, std::span<const Term> terms,
                             std::int64_t upper);

}  // namespace twill
