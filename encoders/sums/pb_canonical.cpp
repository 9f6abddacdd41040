// The canonical form of a pseudo-Boolean sum (Een and Sorensson, "Translating Pseudo-Boolean
// Constraints into SAT", JSAT 2006, Section 3): merged, positive, sorted, divided by the gcd.
#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <map>
#include <numeric>

#include "encoders/sums/pseudo_boolean.hpp"

namespace twill {

std::vector<Term> merged(std::span<const Term> terms, std::int64_t& always) {
  // Weight of the positive literal minus weight of the negative one, per variable; w x + w' ~x with
  // w >= w' is w' + (w - w') x.
  std::map<int, std::int64_t> weight;
  for (const Term& t : terms) {
    assert(t.weight >= 0);
    if (t.weight == 0 || t.literal.is_false()) continue;
    if (t.literal.is_true()) {
      always += t.weight;
      continue;
    }
    const int code = t.literal.dimacs();
    weight[std::abs(code)] += code > 0 ? t.weight : -t.weight;
    if (code < 0) always += t.weight;
  }
  std::vector<Term> out;
  for (const auto& [variable, w] : weight) {
    if (w == 0) continue;
    if (w < 0) always += w;
    out.push_back({std::abs(w), Lit::of(w > 0 ? variable : -variable)});
  }
  return out;
}

std::vector<Lit> literals_of(const PseudoBoolean& sum) {
  std::vector<Lit> literals;
  for (const Term& t : sum.terms) literals.push_back(t.literal);
  return literals;
}

PseudoBoolean canonical(Formula& f, std::span<const Term> terms, std::int64_t bound) {
  std::int64_t always = 0;
  PseudoBoolean sum{merged(terms, always), 0};
  bound -= always;
  if (bound < 0) return {{}, -1};
  std::erase_if(sum.terms, [&](const Term& t) {
    if (t.weight <= bound) return false;
    f.unit(~t.literal);
    return true;
  });
  std::int64_t divisor = 0;
  for (const Term& t : sum.terms) divisor = std::gcd(divisor, t.weight);
  if (divisor == 0) return {{}, 0};
  std::int64_t total = 0;
  for (Term& t : sum.terms) total += t.weight /= divisor;
  sum.bound = bound / divisor;
  if (total <= sum.bound) return {{}, 0};
  std::stable_sort(sum.terms.begin(), sum.terms.end(),
                   [](const Term& a, const Term& b) { return a.weight > b.weight; });
  return sum;
}

namespace {

// Literals by what their group counts when they are the heaviest true one; constants folded into
// `bound`.
std::map<Lit, std::int64_t> counted(const TermGroup& group, std::int64_t& bound) {
  std::map<Lit, std::int64_t> weights;
  std::int64_t reached = 0, always = 0;
  for (const Term& t : group.terms) {
    if (t.weight == 0) continue;
    const bool chain = group.kind == TermGroup::Kind::chain;
    reached = chain ? reached + t.weight : t.weight;
    if (t.literal.is_true())
      always = chain ? reached : always + t.weight;
    else if (!t.literal.is_false())
      weights[t.literal] = chain ? reached : weights[t.literal] + t.weight;
  }
  bound -= always;
  for (auto& [literal, weight] : weights) weight -= always;
  std::erase_if(weights, [](const auto& entry) { return entry.second <= 0; });
  return weights;
}

}  // namespace

GroupedSum canonical(Formula& f, std::span<const TermGroup> groups, std::int64_t bound) {
  std::vector<std::map<Lit, std::int64_t>> all;
  for (const TermGroup& group : groups) all.push_back(counted(group, bound));
  GroupedSum sum;
  if (bound < 0) return {{}, -1};
  std::int64_t divisor = 0, total = 0;
  for (auto& weights : all) {
    std::map<std::int64_t, std::vector<Lit>> by_weight;
    for (const auto& [literal, weight] : weights) {
      if (weight > bound) {
        f.unit(~literal);
        continue;
      }
      by_weight[weight].push_back(literal);
      divisor = std::gcd(divisor, weight);
    }
    if (by_weight.empty()) continue;
    total += by_weight.rbegin()->first;
    sum.groups.emplace_back();
    for (auto level = by_weight.rbegin(); level != by_weight.rend(); ++level)
      sum.groups.back().push_back({level->first, std::move(level->second)});
  }
  if (total <= bound) return {{}, 0};
  for (auto& group : sum.groups)
    for (GroupedSum::Level& level : group) level.weight /= divisor;
  sum.bound = bound / divisor;
  total /= divisor;
  if (total <= sum.bound) return {{}, 0};
  std::stable_sort(sum.groups.begin(), sum.groups.end(), [](const auto& a, const auto& b) {
    return a.front().weight > b.front().weight;
  });
  return sum;
}

}  // namespace twill
