// Pseudo-Boolean constraints, sum of weight * literal <= k: one encoding a file, pb_<name>.cpp.
// Encodings take the canonical form only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "encoders/formula.hpp"
#include "encoders/sums/strengthening.hpp"

namespace twill {

struct Term {
  std::int64_t weight = 1;
  Lit literal;
  bool operator==(const Term&) const = default;
};

/// Canonical form: literals are distinct variables, 0 < weight <= bound, weights descending (ties
/// by literal), gcd 1, the sum of weights above the bound. No terms = nothing left to say, unless
/// bound < 0: then the constraint is false.
struct PseudoBoolean {
  std::vector<Term> terms;
  std::int64_t bound = 0;
};

/// The terms over distinct variables, weights > 0, and, added to `always`, what the sum is at least
/// whatever the variables are: constants fold, equal literals merge, x cancels against ~x.
std::vector<Term> merged(std::span<const Term> terms, std::int64_t& always);

std::vector<Lit> literals_of(const PseudoBoolean& sum);

/// Canonical form of sum <= bound, weights >= 0. Folds constants, merges equal literals, cancels
/// x against ~x, and emits ~x for every term heavier than the bound.
PseudoBoolean canonical(Formula& f, std::span<const Term> terms, std::int64_t bound);

/// Canonical, with terms.
using PbEncoder = void(Formula&, const PseudoBoolean& sum);
/// The sum itself, for bounds k <= sum.bound that are chosen later. The file's sizes are for one
/// bound and include the clauses that fix it, where the file says nothing else.
using LaterPbEncoder = LaterBound(Formula&, const PseudoBoolean& sum);

// Those that others use. The table (option_table.cpp) declares the rest, which it alone calls.
PbEncoder pb_swc;
LaterPbEncoder later_dpw;
/// pb_bdd if its diagram has at most `limit` nodes; else false, and nothing is emitted.
bool pb_bdd_within(Formula& f, const PseudoBoolean& sum, std::int64_t limit);

/// The base of later_sorter's digits, least significant first; the last digit has no limit.
std::vector<std::int64_t> sorter_base(const PseudoBoolean& sum);

// ---- Sums with mutually exclusive literals, PB(AMO) -------------------------------------------

/// Terms of one sum of which something is known.
struct TermGroup {
  enum class Kind {
    exclusive,  ///< what the literals stand for excludes each other; a single term is exclusive
    chain,      ///< what a literal stands for implies what the one before it stands for
  };
  Kind kind = Kind::exclusive;
  std::vector<Term> terms;
};

/// Every group counts with the heaviest of its true literals: the sum of these is at most the
/// bound. That is the sum itself where the literals of a group exclude each other (Bofill, Coll,
/// Suy and Villaret, "Compact MDDs for Pseudo-Boolean Constraints with At-Most-One Relations",
/// IJCAI 2017), and where they form a chain whose weights are added up from its first (Abio,
/// Mayer-Eichberger and Stuckey, "Encoding Linear Constraints with Implication Chains to CNF", CP
/// 2015). As literals may be true without need, in one direction only, nothing else is assumed of
/// them.
/// Canonical: 0 < weight <= bound, weights descending and different in a group, groups by their
/// heaviest weight descending, gcd 1, the sum of heaviest weights above the bound. No groups =
/// nothing left to say, unless bound < 0: then the constraint is false.
struct GroupedSum {
  /// A weight and the literals that have it.
  struct Level {
    std::int64_t weight = 1;
    std::vector<Lit> literals;
  };
  std::vector<std::vector<Level>> groups;
  std::int64_t bound = 0;
};

/// Canonical form of the sum of all groups' terms <= bound, weights >= 0. Emits ~x for every
/// literal heavier than the bound.
GroupedSum canonical(Formula& f, std::span<const TermGroup> groups, std::int64_t bound);

/// Canonical, with groups.
using GroupedEncoder = void(Formula&, const GroupedSum& sum);

}  // namespace twill
