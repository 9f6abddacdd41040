// The table of encodings: everything that is said about one of them outside its file.
#include "encoders/choose.hpp"

namespace twill {
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
  const auto amo = [](std::string value, std::string citation, std::string size) {
    return EncodingInfo{"amo", std::move(value), "at most one",   std::move(citation),
                        kArc,  kFinal,           std::move(size), "arc consistent"};
  };
  const auto sum = [](std::string key, std::string value, std::string citation, Propagation p,
                      Strengthening s, std::string size) {
    const std::string family = key == "card" ? "cardinality" : "pseudo-Boolean";
    std::string claim = p == kArc          ? "arc consistent"
                        : p == kConsistent ? "consistent, not arc consistent"
                                           : "neither consistent nor arc consistent";
    claim += s == kAssume    ? "; smaller bounds by assumption"
             : s == kClauses ? "; smaller bounds by clauses"
                             : "; one bound";
    return EncodingInfo{std::move(key),  std::move(value), family, std::move(citation), p, s,
                        std::move(size), std::move(claim)};
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
      amo("pairwise", "folklore", "0 variables, n (n - 1) / 2 clauses"),
      amo("ladder", "Sinz, CP 2005; Gent and Nightingale 2004", "n - 1 variables, 3 n - 4 clauses"),
      amo("product", "Chen, ModRef 2010", "2 sqrt n + .. variables, 2 n + 4 sqrt n + .. clauses"),
      amo("commander", "Klieber and Kwon, CFV 2007", "about n/2 variables, 7 n/2 clauses"),
      amo("binary", "Frisch et al., IJCAI 2001; Prestwich 2009",
          "ceil(log2 n) variables, n ceil(log2 n) clauses"),
      amo("bimander", "Hoelldobler and Nguyen, ModRef 2013",
          "ceil(log2 n/2) variables, n/2 + n ceil(log2 n/2) clauses"),
      sum("card", "seqcounter", "Sinz, CP 2005", kArc, kAssume,
          "k (n - 1) variables, 2 n k + n - 3 k - 1 clauses"),
      sum("card", "totalizer", "Bailleux and Boufkhad, CP 2003", kArc, kAssume,
          "n log2 n variables, O(n^2) clauses"),
      sum("card", "ktotalizer", "Bailleux and Boufkhad, CP 2003; Buettner and Rintanen 2005", kArc,
          kAssume, "at most n log2 n variables, O(n k) clauses a level"),
      sum("card", "kmtotalizer", "Ogawa et al., ICTAI 2013; Morgado et al., JSAT 2015", kNone,
          kAssume, "O(n log n) variables, O(n^1.5) clauses"),
      sum("card", "sortnet", "Batcher 1968; Een and Sorensson, JSAT 2006", kArc, kAssume,
          "n/2 log2^2 n variables, 3/4 n log2^2 n clauses, about"),
      sum("card", "cardnet", "Asin et al., Constraints 2011", kArc, kAssume,
          "O(n log^2 k) variables and clauses"),
      sum("card", "adder", "Warners, IPL 1998; Een and Sorensson, JSAT 2006", kNone, kClauses,
          "at most 2 n variables, 14 n clauses"),
      sum("pb", "bdd", "Abio et al., JAIR 2012", kArc, kFinal,
          "a variable and two clauses a node; exponential at worst"),
      sum("pb", "swc", "Hoelldobler, Manthey and Steinke, KI 2012", kArc, kAssume,
          "(n - 1) k variables, about 2 n k clauses"),
      sum("pb", "gte", "Joshi, Martins and Manquinho, CP 2015", kArc, kAssume,
          "a variable per different sum; exponential at worst"),
      sum("pb", "gpw", "Bailleux, Boufkhad and Roussel, SAT 2009", kConsistent, kFinal,
          "O(n log n log W) variables, O(n^2 log n log W) clauses"),
      sum("pb", "lpw", "Bailleux, Boufkhad and Roussel, SAT 2009", kArc, kFinal, "n times gpw"),
      sum("pb", "dpw", "Paxian, Reimer and Becker, SAT 2018", kConsistent, kAssume,
          "gpw and log2 W variables for the tare"),
      sum("pb", "sorter", "Een and Sorensson, JSAT 2006: digits in a mixed radix", kConsistent,
          kClauses, "O(m log^2 m) for m digits in all"),
      sum("pb", "adder", "Warners, IPL 1998; Een and Sorensson, JSAT 2006", kNone, kClauses,
          "about 2 n log2 W variables, 14 n log2 W clauses"),
      sum("pb", "bdd-amo", "Bofill, Coll, Suy and Villaret, IJCAI 2017", kArc, kFinal,
          "bdd with a level a group"),
      sum("pb", "swc-amo", "Bofill et al., Artificial Intelligence 302, 2022", kArc, kFinal,
          "swc with a row a group"),
      sum("pb", "gte-amo", "Bofill et al., Artificial Intelligence 302, 2022", kArc, kFinal,
          "gte with a leaf a group"),
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

std::string encoding_keys() {
  std::string text, key;
  for (const EncodingInfo& row : encoding_table()) {
    const bool has_auto = row.key != "form" && row.key != "symmetry";
    if (row.key == key)
      text += "|" + row.value;
    else
      text += (text.empty() ? "" : ",") + row.key + "=" + (has_auto ? "auto|" : "") + row.value;
    key = row.key;
  }
  return text;
}

}  // namespace twill
