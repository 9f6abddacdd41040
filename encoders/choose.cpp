#include "encoders/choose.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "encoders/at_most_one.hpp"
#include "encoders/cardinality.hpp"
#include "encoders/sinks.hpp"
#include "graph/error.hpp"

namespace twill {
namespace {

const std::vector<EncodingInfo>& table() {
  static const std::vector<EncodingInfo> rows = {
      {"form", "modulo", "steady state of the infinite loop, one copy of every op", "exact"},
      {"form", "straight-line", "Soi et al. 2025, Figures 4-6, enough copies and INIT corrected",
       "exact"},
      {"form", "straight-line-literal", "Soi et al. 2025, Figures 4-6 as printed",
       "unsound: the verifier may refuse what it accepts"},
      {"start", "rowstage", "Eichenberger and Davidson, PLDI 1997: row in [0,I), stage",
       "bounds consistent on rows"},
      {"start", "order", "Crawford and Baker, AAAI 1994; Tamura et al. 2009: M(v) >= t",
       "bounds consistent"},
      {"amo", "pairwise", "folklore", "arc consistent"},
      {"amo", "ladder", "Sinz, CP 2005; Gent and Nightingale 2004", "arc consistent"},
      {"amo", "product", "Chen, ModRef 2010", "arc consistent"},
      {"card", "seqcounter", "Sinz, CP 2005", "arc consistent"},
      {"card", "ktotalizer", "Bailleux and Boufkhad, CP 2003; Buettner and Rintanen 2005",
       "arc consistent"},
      {"pb", "bdd", "Abio et al., JAIR 2012", "arc consistent"},
      {"pb", "swc", "Hoelldobler, Manthey and Steinke, KI 2012", "arc consistent"},
      {"symmetry", "on", "Law and Lee, CP 2004: value precedence of identical slots", ""},
      {"symmetry", "off", "", ""},
  };
  return rows;
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

std::int64_t totalizer_clauses(std::int64_t n, std::int64_t k) {
  CountingSink sink;
  Formula f(sink);
  std::vector<Lit> literals(static_cast<std::size_t>(n));
  for (Lit& l : literals) l = f.fresh();
  card_totalizer(f, literals, k);
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

std::span<const EncodingInfo> encoding_table() {
  return table();
}

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
  switch (choice.amo) {
    case AmoEncoding::pairwise: return amo_pairwise(f, variables);
    case AmoEncoding::ladder: return amo_ladder(f, variables);
    case AmoEncoding::product: return amo_product(f, variables);
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
  CardEncoding which = choice.card;
  if (which == CardEncoding::automatic)
    which = k <= 0 || k >= n || totalizer_clauses(n, k) < 2 * n * k + n - 3 * k - 1
                ? CardEncoding::totalizer
                : CardEncoding::sequential;
  if (which == CardEncoding::sequential) return card_sequential(f, variables, k);
  return card_totalizer(f, variables, k);
}

void at_most_sum(Formula& f, const EncodingChoice& choice, std::span<const Term> terms,
                 std::int64_t bound) {
  const PseudoBoolean sum = canonical(f, terms, bound);
  if (sum.bound < 0) return f.clause({});
  if (sum.terms.empty()) return;
  if (sum.terms.front().weight == 1 && choice.pb == PbEncoding::automatic) {
    std::vector<Lit> literals;
    for (const Term& t : sum.terms) literals.push_back(t.literal);
    return at_most(f, choice, literals, sum.bound);
  }
  PbEncoding which = choice.pb;
  if (which == PbEncoding::automatic) {
    const std::int64_t counter = std::min<std::int64_t>(sum.bound, 1'000'000) * 2 *
                                 static_cast<std::int64_t>(sum.terms.size());
    which = pb_bdd_nodes(sum, counter / 2) <= counter / 2 ? PbEncoding::bdd : PbEncoding::swc;
  }
  if (which == PbEncoding::bdd) return pb_bdd(f, sum);
  return pb_swc(f, sum);
}

}  // namespace twill
