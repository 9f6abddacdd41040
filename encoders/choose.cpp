#include "encoders/choose.hpp"

#include <algorithm>
#include <cassert>
#include <cstdlib>

#include "encoders/sinks.hpp"

namespace twill {
namespace {

// The bound that an encoding for later ones was made for.
void fix(Formula& f, const LaterBound& bound) {
  if (const auto* assumable = std::get_if<AssumableBound>(&bound))
    for (const Lit l : assumable->at_most(assumable->upper())) f.unit(l);
}

std::int64_t ktotalizer_clauses(std::int64_t n, std::int64_t k) {
  CountingSink sink;
  Formula f(sink);
  std::vector<Lit> literals(static_cast<std::size_t>(n));
  for (Lit& l : literals) l = f.fresh();
  fix(f, later_ktotalizer(f, literals, k));
  return f.clauses();
}

// Distinct variables only: a literal that is there twice needs its weight added up.
bool native_count(Formula& f, std::span<const Lit> literals, std::int64_t k) {
  std::vector<int> variables;
  for (const Lit l : literals) variables.push_back(std::abs(l.dimacs()));
  std::sort(variables.begin(), variables.end());
  if (std::adjacent_find(variables.begin(), variables.end()) != variables.end()) return false;
  return f.native_sum(literals, std::vector<std::int64_t>(literals.size(), 1), k);
}

}  // namespace

void at_most_one(Formula& f, const EncodingChoice& choice, std::span<const Lit> literals) {
  std::vector<Lit> variables;
  std::int64_t true_ones = 0;
  for (const Lit l : literals) {
    if (l.is_true()) ++true_ones;
    if (!l.is_constant()) variables.push_back(l);
  }
  if (true_ones > 1) return f.clause({});
  if (true_ones == 1) {
    for (const Lit l : variables) f.unit(~l);
    return;
  }
  if (variables.size() < 2 || native_count(f, variables, 1)) return;
  if (choice.amo != nullptr) return choice.amo->encode.amo(f, variables);
  return variables.size() <= 5 ? amo_pairwise(f, variables) : amo_ladder(f, variables);
}

void at_most(Formula& f, const EncodingChoice& choice, std::span<const Lit> literals,
             std::int64_t k) {
  std::vector<Lit> variables;
  for (const Lit l : literals) {
    if (l.is_true()) --k;
    if (!l.is_constant()) variables.push_back(l);
  }
  const auto n = static_cast<std::int64_t>(variables.size());
  if (k == 1) return at_most_one(f, choice, variables);
  if (k < 0) return f.clause({});
  if (k == 0)
    for (const Lit l : variables) f.unit(~l);
  if (k == 0 || k >= n || native_count(f, variables, k)) return;
  if (choice.card != nullptr) return at_most_by(f, *choice.card, variables, k);
  if (ktotalizer_clauses(n, k) < 2 * n * k + n - 3 * k - 1)
    return fix(f, later_ktotalizer(f, variables, k));
  card_seqcounter(f, variables, k);
}

void at_most_by(Formula& f, const EncodingInfo& row, std::span<const Lit> literals,
                std::int64_t k) {
  assert(1 <= k && k < static_cast<std::int64_t>(literals.size()));
  if (row.encode.card != nullptr) return row.encode.card(f, literals, k);
  fix(f, row.encode.later_card(f, literals, k));
}

void at_most_by(Formula& f, const EncodingInfo& row, const PseudoBoolean& sum) {
  assert(sum.bound >= 0 && !sum.terms.empty());
  if (row.encode.pb != nullptr) return row.encode.pb(f, sum);
  if (row.encode.later_pb != nullptr) return fix(f, row.encode.later_pb(f, sum));
  GroupedSum grouped{{}, sum.bound};
  for (const Term& t : sum.terms) grouped.groups.push_back({{t.weight, {t.literal}}});
  row.encode.grouped(f, grouped);
}

void at_most_sum(Formula& f, const EncodingChoice& choice, std::span<const Term> terms,
                 std::int64_t bound) {
  const PseudoBoolean sum = canonical(f, terms, bound);
  if (sum.bound < 0) return f.clause({});
  if (sum.terms.empty()) return;
  if (sum.terms.front().weight == 1) return at_most(f, choice, literals_of(sum), sum.bound);
  std::vector<std::int64_t> weights;
  for (const Term& t : sum.terms) weights.push_back(t.weight);
  if (f.native_sum(literals_of(sum), weights, sum.bound)) return;
  if (choice.pb != nullptr) return at_most_by(f, *choice.pb, sum);
  const std::int64_t counter = std::min<std::int64_t>(sum.bound, 1'000'000) * 2 *
                               static_cast<std::int64_t>(sum.terms.size());
  if (!pb_bdd_within(f, sum, counter / 2)) pb_swc(f, sum);
}

void at_most_sum(Formula& f, const EncodingChoice& choice, std::span<const TermGroup> groups,
                 std::int64_t bound) {
  if (choice.pb != nullptr && choice.pb->encode.grouped != nullptr) {
    const GroupedSum sum = canonical(f, groups, bound);
    const bool grouped = std::any_of(sum.groups.begin(), sum.groups.end(), [](const auto& group) {
      return group.size() > 1 || group.front().literals.size() > 1;
    });
    if (sum.bound < 0) return f.clause({});
    if (sum.groups.empty()) return;
    if (grouped) return choice.pb->encode.grouped(f, sum);
  }
  std::vector<Term> terms;
  for (const TermGroup& group : groups)
    terms.insert(terms.end(), group.terms.begin(), group.terms.end());
  at_most_sum(f, choice, terms, bound);
}

}  // namespace twill
