#include "encoders/choose.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "encoders/sinks.hpp"
#include "encoders/sums/at_most_one.hpp"
#include "encoders/sums/cardinality.hpp"
#include "graph/error.hpp"

namespace twill {
namespace {

std::span<const EncodingInfo> table() {
  return encoding_table();
}

[[noreturn]] void unknown(const std::string& place, const std::string& value,
                          const std::string& key) {
  std::string known;
  for (const EncodingInfo& row : table()) {
    const std::string& name = key.empty() ? row.key : row.value;
    if (!key.empty() && row.key != key) continue;
    if (known.find(name) == std::string::npos) known += (known.empty() ? "" : ", ") + name;
  }
  throw InputError("--encoding", place, value, "must be one of " + known);
}

// Position of `value` among the values of `key`, which is the order of its enumerators.
std::optional<int> position(const std::string& key, const std::string& value) {
  int index = 0;
  for (const EncodingInfo& row : table()) {
    if (row.key != key) continue;
    if (row.value == value) return index;
    ++index;
  }
  return std::nullopt;
}

std::string name_of(const std::string& key, int index) {
  if (index < 0) return "auto";
  for (const EncodingInfo& row : table())
    if (row.key == key && index-- == 0) return row.value;
  return "auto";
}

std::int64_t ktotalizer_clauses(std::int64_t n, std::int64_t k) {
  CountingSink sink;
  Formula f(sink);
  std::vector<Lit> literals(static_cast<std::size_t>(n));
  for (Lit& l : literals) l = f.fresh();
  card_ktotalizer(f, literals, k);
  return f.clauses();
}

}  // namespace

EncodingChoice parse_encoding(std::string_view text) {
  EncodingChoice choice;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string item(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos)
      throw InputError("--encoding", "", item, "must have the form key=value");
    const std::string key = item.substr(0, equals), value = item.substr(equals + 1);
    if (std::none_of(table().begin(), table().end(),
                     [&](const EncodingInfo& row) { return row.key == key; }))
      unknown("key", key, "");
    const bool has_auto = key != "form" && key != "symmetry";
    const auto index = position(key, value);
    if (!index && !(has_auto && value == "auto")) unknown(key, value, key);
    const int i = index.value_or(-1);
    if (key == "form") choice.form = static_cast<Form>(i);
    if (key == "start") choice.start = static_cast<StartEncoding>(i + 1);
    if (key == "amo") choice.amo = static_cast<AmoEncoding>(i + 1);
    if (key == "card") choice.card = static_cast<CardEncoding>(i + 1);
    if (key == "pb") choice.pb = static_cast<PbEncoding>(i + 1);
    if (key == "symmetry") choice.symmetry = i == 0;
  }
  return choice;
}

std::string encoding_text(const EncodingChoice& choice) {
  return "form=" + name_of("form", static_cast<int>(choice.form)) +
         ",start=" + name_of("start", static_cast<int>(choice.start) - 1) +
         ",amo=" + name_of("amo", static_cast<int>(choice.amo) - 1) +
         ",card=" + name_of("card", static_cast<int>(choice.card) - 1) +
         ",pb=" + name_of("pb", static_cast<int>(choice.pb) - 1) +
         ",symmetry=" + (choice.symmetry ? "on" : "off");
}

namespace {

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
  switch (choice.amo) {
    case AmoEncoding::pairwise: return amo_pairwise(f, variables);
    case AmoEncoding::ladder: return amo_ladder(f, variables);
    case AmoEncoding::product: return amo_product(f, variables);
    case AmoEncoding::commander: return amo_commander(f, variables);
    case AmoEncoding::binary: return amo_binary(f, variables);
    case AmoEncoding::bimander: return amo_bimander(f, variables);
    case AmoEncoding::automatic: break;
  }
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
  if (k > 1 && k < n && native_count(f, variables, k)) return;
  switch (choice.card) {
    case CardEncoding::seqcounter: return card_seqcounter(f, variables, k);
    case CardEncoding::totalizer: return card_totalizer(f, variables, k);
    case CardEncoding::ktotalizer: return card_ktotalizer(f, variables, k);
    case CardEncoding::kmtotalizer: return card_kmtotalizer(f, variables, k);
    case CardEncoding::sortnet: return card_sortnet(f, variables, k);
    case CardEncoding::cardnet: return card_cardnet(f, variables, k);
    case CardEncoding::adder: return card_adder(f, variables, k);
    case CardEncoding::automatic: break;
  }
  if (k <= 0 || k >= n || ktotalizer_clauses(n, k) < 2 * n * k + n - 3 * k - 1)
    return card_ktotalizer(f, variables, k);
  return card_seqcounter(f, variables, k);
}

namespace {

std::vector<Lit> literals_of(const PseudoBoolean& sum) {
  std::vector<Lit> literals;
  for (const Term& t : sum.terms) literals.push_back(t.literal);
  return literals;
}

GroupedSum one_each(const PseudoBoolean& sum) {
  GroupedSum grouped{{}, sum.bound};
  for (const Term& t : sum.terms) grouped.groups.push_back({{t.weight, {t.literal}}});
  return grouped;
}

void weighted_sum(Formula& f, const EncodingChoice& choice, const PseudoBoolean& sum) {
  switch (choice.pb) {
    case PbEncoding::bdd: return pb_bdd(f, sum);
    case PbEncoding::swc: return pb_swc(f, sum);
    case PbEncoding::gte: return pb_gte(f, sum);
    case PbEncoding::gpw: return pb_gpw(f, sum);
    case PbEncoding::lpw: return pb_lpw(f, sum);
    case PbEncoding::dpw: return pb_dpw(f, sum);
    case PbEncoding::sorter: return pb_sorter(f, sum);
    case PbEncoding::adder: return pb_adder(f, sum);
    case PbEncoding::bdd_amo: return pb_bdd_amo(f, one_each(sum));
    case PbEncoding::swc_amo: return pb_swc_amo(f, one_each(sum));
    case PbEncoding::gte_amo: return pb_gte_amo(f, one_each(sum));
    case PbEncoding::automatic: break;
  }
  const std::int64_t counter = std::min<std::int64_t>(sum.bound, 1'000'000) * 2 *
                               static_cast<std::int64_t>(sum.terms.size());
  if (!pb_bdd_within(f, sum, counter / 2)) pb_swc(f, sum);
}

bool uses_groups(PbEncoding pb) {
  return pb == PbEncoding::bdd_amo || pb == PbEncoding::swc_amo || pb == PbEncoding::gte_amo;
}

}  // namespace

void at_most_sum(Formula& f, const EncodingChoice& choice, std::span<const Term> terms,
                 std::int64_t bound) {
  const PseudoBoolean sum = canonical(f, terms, bound);
  if (sum.bound < 0) return f.clause({});
  if (sum.terms.empty()) return;
  if (sum.terms.front().weight == 1) return at_most(f, choice, literals_of(sum), sum.bound);
  std::vector<std::int64_t> weights;
  for (const Term& t : sum.terms) weights.push_back(t.weight);
  if (f.native_sum(literals_of(sum), weights, sum.bound)) return;
  weighted_sum(f, choice, sum);
}

void at_most_sum(Formula& f, const EncodingChoice& choice, std::span<const TermGroup> groups,
                 std::int64_t bound) {
  if (uses_groups(choice.pb)) {
    const GroupedSum sum = canonical(f, groups, bound);
    const bool grouped = std::any_of(sum.groups.begin(), sum.groups.end(), [](const auto& group) {
      return group.size() > 1 || group.front().literals.size() > 1;
    });
    if (sum.bound < 0) return f.clause({});
    if (sum.groups.empty()) return;
    if (grouped) {
      if (choice.pb == PbEncoding::bdd_amo) return pb_bdd_amo(f, sum);
      if (choice.pb == PbEncoding::swc_amo) return pb_swc_amo(f, sum);
      return pb_gte_amo(f, sum);
    }
  }
  std::vector<Term> terms;
  for (const TermGroup& group : groups)
    terms.insert(terms.end(), group.terms.begin(), group.terms.end());
  at_most_sum(f, choice, terms, bound);
}

}  // namespace twill
