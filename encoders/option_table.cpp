// The table of encodings: everything that is said about one of them outside its file, and the text
// of a choice. A new encoding of a sum is declared here and gets a row.
#include <algorithm>

#include "encoders/choose.hpp"
#include "graph/error.hpp"

namespace twill {

// Functions without a declaration elsewhere; their types are in the headers of sums/.
AmoEncoder amo_product, amo_commander, amo_binary, amo_bimander;
CardEncoder card_kmtotalizer;
LaterCardEncoder later_seqcounter, later_totalizer, later_kmtotalizer, later_sortnet, later_cardnet,
    later_card_adder;
PbEncoder pb_bdd, pb_gpw, pb_lpw;
LaterPbEncoder later_swc, later_gte, later_sorter, later_pb_adder;
GroupedEncoder pb_bdd_amo, pb_swc_amo, pb_gte_amo;

namespace {

constexpr auto kArc = Propagation::arc_consistent;
constexpr auto kConsistent = Propagation::consistent;
constexpr auto kNone = Propagation::none;
constexpr auto kOther = Propagation::not_a_sum;
constexpr auto kAssume = Strengthening::assumption;
constexpr auto kClauses = Strengthening::clauses;
constexpr auto kFinal = Strengthening::none;
constexpr auto kNoBound = Strengthening::not_a_sum;

std::vector<EncodingInfo> rows() {
  const auto form = [](std::string value, std::string citation, std::string claim) {
    return EncodingInfo{
        "form", std::move(value), "formulation", std::move(citation), kOther, kNoBound,
        "",     std::move(claim)};
  };
  const auto start = [](std::string value, std::string citation, std::string size,
                        std::string claim) {
    return EncodingInfo{"start", std::move(value), "integer",       std::move(citation),
                        kOther,  kNoBound,         std::move(size), std::move(claim)};
  };
  const auto sum = [](std::string key, std::string value, std::string citation, Propagation p,
                      Strengthening s, std::string size, SumEncoders encode) {
    const bool amo = key == "amo";
    const std::string family = amo             ? "at most one"
                               : key == "card" ? "cardinality"
                                               : "pseudo-Boolean";
    std::string claim = p == kArc          ? "arc consistent"
                        : p == kConsistent ? "consistent, not arc consistent"
                                           : "neither consistent nor arc consistent";
    if (!amo)
      claim += s == kAssume    ? "; smaller bounds by assumption"
               : s == kClauses ? "; smaller bounds by clauses"
                               : "; one bound";
    return EncodingInfo{std::move(key),  std::move(value), family, std::move(citation), p, s,
                        std::move(size), std::move(claim), encode};
  };
  return {
      form("modulo", "steady state of the infinite loop, one copy of every op", "exact"),
      form("straight-line", "Soi et al. 2025, Figures 4-6, enough copies and INIT corrected",
           "exact"),
      form("straight-line-literal", "Soi et al. 2025, Figures 4-6 as printed",
           "unsound: the verifier may refuse what it accepts"),
      start("rowstage", "Eichenberger and Davidson, PLDI 1997: row in [0,I), stage",
            "I + S variables", "bounds consistent on rows and on stages"),
      start("order", "Crawford and Baker, AAAI 1994; Tamura et al. 2009: M(v) >= t",
            "I S + I variables", "bounds consistent; differences bounds consistent"),
      start("direct", "Walsh, CP 2000; Soi et al. 2025: M(v) = t", "I S + I + S variables",
            "differences: the paper's conflict pairs, forward checking"),
      start("channelled", "Walsh, LPAR 2001; Ansotegui and Manya, SAT 2004: M(v) = t and >= t",
            "2 I S + I + S variables", "arc consistent; differences bounds consistent"),
      start("binary", "Iwama and Miyazaki, IFIP 1994; Walsh, CP 2000: bits of row and stage",
            "log I + log S bits, I + S gates", "not bounds consistent; differences by comparison"),
      sum("amo", "pairwise", "folklore", kArc, kFinal, "0 variables, n (n - 1) / 2 clauses",
          {.amo = amo_pairwise}),
      sum("amo", "ladder", "Sinz, CP 2005; Gent and Nightingale 2004", kArc, kFinal,
          "n - 1 variables, 3 n - 4 clauses", {.amo = amo_ladder}),
      sum("amo", "product", "Chen, ModRef 2010", kArc, kFinal,
          "2 sqrt n + .. variables, 2 n + 4 sqrt n + .. clauses", {.amo = amo_product}),
      sum("amo", "commander", "Klieber and Kwon, CFV 2007", kArc, kFinal,
          "about n/2 variables, 7 n/2 clauses", {.amo = amo_commander}),
      sum("amo", "binary", "Frisch et al., IJCAI 2001; Prestwich 2009", kArc, kFinal,
          "ceil(log2 n) variables, n ceil(log2 n) clauses", {.amo = amo_binary}),
      sum("amo", "bimander", "Hoelldobler and Nguyen, ModRef 2013", kArc, kFinal,
          "ceil(log2 n/2) variables, n/2 + n ceil(log2 n/2) clauses", {.amo = amo_bimander}),
      sum("card", "seqcounter", "Sinz, CP 2005", kArc, kAssume,
          "k (n - 1) variables, 2 n k + n - 3 k - 1 clauses",
          {.card = card_seqcounter, .later_card = later_seqcounter}),
      sum("card", "totalizer", "Bailleux and Boufkhad, CP 2003", kArc, kAssume,
          "n log2 n variables, O(n^2) clauses", {.later_card = later_totalizer}),
      sum("card", "ktotalizer", "Bailleux and Boufkhad, CP 2003; Buettner and Rintanen 2005", kArc,
          kAssume, "at most n log2 n variables, O(n k) clauses a level",
          {.later_card = later_ktotalizer}),
      sum("card", "kmtotalizer", "Ogawa et al., ICTAI 2013; Morgado et al., JSAT 2015", kNone,
          kAssume, "O(n log n) variables, O(n^1.5) clauses",
          {.card = card_kmtotalizer, .later_card = later_kmtotalizer}),
      sum("card", "sortnet", "Batcher 1968; Een and Sorensson, JSAT 2006", kArc, kAssume,
          "n/2 log2^2 n variables, 3/4 n log2^2 n clauses, about", {.later_card = later_sortnet}),
      sum("card", "cardnet", "Asin et al., Constraints 2011", kArc, kAssume,
          "O(n log^2 k) variables and clauses", {.later_card = later_cardnet}),
      sum("card", "adder", "Warners, IPL 1998; Een and Sorensson, JSAT 2006", kNone, kClauses,
          "at most 2 n variables, 14 n clauses", {.later_card = later_card_adder}),
      sum("pb", "bdd", "Abio et al., JAIR 2012", kArc, kFinal,
          "a variable and two clauses a node; exponential at worst", {.pb = pb_bdd}),
      sum("pb", "swc", "Hoelldobler, Manthey and Steinke, KI 2012", kArc, kAssume,
          "(n - 1) k variables, about 2 n k clauses", {.pb = pb_swc, .later_pb = later_swc}),
      sum("pb", "gte", "Joshi, Martins and Manquinho, CP 2015", kArc, kAssume,
          "a variable per different sum; exponential at worst", {.later_pb = later_gte}),
      sum("pb", "gpw", "Bailleux, Boufkhad and Roussel, SAT 2009", kConsistent, kFinal,
          "O(n log n log W) variables, O(n^2 log n log W) clauses", {.pb = pb_gpw}),
      sum("pb", "lpw", "Bailleux, Boufkhad and Roussel, SAT 2009", kArc, kFinal, "n times gpw",
          {.pb = pb_lpw}),
      sum("pb", "dpw", "Paxian, Reimer and Becker, SAT 2018", kConsistent, kAssume,
          "gpw and log2 W variables for the tare", {.later_pb = later_dpw}),
      sum("pb", "sorter", "Een and Sorensson, JSAT 2006: digits in a mixed radix", kConsistent,
          kClauses, "O(m log^2 m) for m digits in all", {.later_pb = later_sorter}),
      sum("pb", "adder", "Warners, IPL 1998; Een and Sorensson, JSAT 2006", kNone, kClauses,
          "about 2 n log2 W variables, 14 n log2 W clauses", {.later_pb = later_pb_adder}),
      sum("pb", "bdd-amo", "Bofill, Coll, Suy and Villaret, IJCAI 2017", kArc, kFinal,
          "bdd with a level a group", {.grouped = pb_bdd_amo}),
      sum("pb", "swc-amo", "Bofill et al., Artificial Intelligence 302, 2022", kArc, kFinal,
          "swc with a row a group", {.grouped = pb_swc_amo}),
      sum("pb", "gte-amo", "Bofill et al., Artificial Intelligence 302, 2022", kArc, kFinal,
          "gte with a leaf a group", {.grouped = pb_gte_amo}),
      {"symmetry", "on", "symmetry", "Law and Lee, CP 2004: value precedence of identical slots",
       kOther, kNoBound, "at most a variable and two clauses an op and slot", ""},
      {"symmetry", "off", "symmetry", "", kOther, kNoBound, "", ""},
  };
}

}  // namespace

std::string to_string(Propagation propagation) {
  switch (propagation) {
    case Propagation::none: return "none";
    case Propagation::consistent: return "consistent";
    case Propagation::arc_consistent: return "arc consistent";
    case Propagation::not_a_sum: break;
  }
  return "";
}

std::string to_string(Strengthening strengthening) {
  switch (strengthening) {
    case Strengthening::none: return "none";
    case Strengthening::clauses: return "clauses";
    case Strengthening::assumption: return "assumption";
    case Strengthening::not_a_sum: break;
  }
  return "";
}

std::span<const EncodingInfo> encoding_table() {
  static const std::vector<EncodingInfo> table = rows();
  return table;
}

namespace {

bool has_automatic(const std::string& key) {
  return key != "form" && key != "symmetry";
}

[[noreturn]] void unknown(const std::string& place, const std::string& value,
                          const std::string& key) {
  std::string known;
  for (const EncodingInfo& row : encoding_table()) {
    const std::string& name = key.empty() ? row.key : row.value;
    if (!key.empty() && row.key != key) continue;
    if (known.find(name) == std::string::npos) known += (known.empty() ? "" : ", ") + name;
  }
  throw InputError("--encoding", place, value, "must be one of " + known);
}

std::span<const EncodingInfo> rows_of(const std::string& key) {
  const auto table = encoding_table();
  const auto own = [&](const EncodingInfo& row) { return row.key == key; };
  const auto first = std::find_if(table.begin(), table.end(), own);
  return {first, std::find_if_not(first, table.end(), own)};
}

std::string name_of(const EncodingInfo* row) {
  return row == nullptr ? "auto" : row->value;
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
    const auto rows = rows_of(key);
    if (rows.empty()) unknown("key", key, "");
    const auto found = std::find_if(rows.begin(), rows.end(),
                                    [&](const EncodingInfo& row) { return row.value == value; });
    const bool automatic = found == rows.end();
    if (automatic && !(has_automatic(key) && value == "auto")) unknown(key, value, key);
    const EncodingInfo* row = automatic ? nullptr : &*found;
    const auto index = static_cast<int>(found - rows.begin());
    if (key == "form") choice.form = static_cast<Form>(index);
    if (key == "start") choice.start = static_cast<StartEncoding>(automatic ? 0 : index + 1);
    if (key == "amo") choice.amo = row;
    if (key == "card") choice.card = row;
    if (key == "pb") choice.pb = row;
    if (key == "symmetry") choice.symmetry = value == "on";
  }
  return choice;
}

std::string encoding_text(const EncodingChoice& choice) {
  const auto form = static_cast<std::size_t>(choice.form);
  const auto start = static_cast<std::size_t>(choice.start);
  return "form=" + rows_of("form")[form].value +
         ",start=" + name_of(start == 0 ? nullptr : &rows_of("start")[start - 1]) +
         ",amo=" + name_of(choice.amo) + ",card=" + name_of(choice.card) +
         ",pb=" + name_of(choice.pb) + ",symmetry=" + (choice.symmetry ? "on" : "off");
}

std::string encoding_keys() {
  std::string text, key;
  for (const EncodingInfo& row : encoding_table()) {
    if (row.key == key)
      text += "|" + row.value;
    else
      text += (text.empty() ? "" : ",") + row.key + "=" + (has_automatic(row.key) ? "auto|" : "") +
              row.value;
    key = row.key;
  }
  return text;
}

}  // namespace twill
