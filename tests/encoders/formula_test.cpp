// Formula (constants, guards), the clause sinks, and the names of the encodings.
#include <doctest/doctest.h>

#include <initializer_list>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "encoders/choose.hpp"
#include "encoders/sinks.hpp"
#include "graph/error.hpp"
#include "tests/support/unit_propagation.hpp"

namespace formula_test {

using namespace twill;
using namespace twill::test;

TEST_CASE("a formula folds constants") {
  MemoryCnf cnf;
  Formula f(cnf);
  const Lit a = f.fresh(), b = f.fresh();
  f.clause({a, kTrueLit, b});
  CHECK(cnf.clauses() == 0);
  f.clause({a, kFalseLit, ~b});
  REQUIRE(cnf.clauses() == 1);
  CHECK(std::vector<int>(cnf.clause(0).begin(), cnf.clause(0).end()) == std::vector<int>{1, -2});
  f.clause({kFalseLit});
  CHECK(cnf.clause(1).empty());
  f.implies(kFalseLit, a);
  f.implies(a, kTrueLit);
  f.implies(kTrueLit, a, kTrueLit);
  CHECK(cnf.clauses() == 2);
  f.unit(b);
  CHECK(cnf.clause(2).size() == 1);
  CHECK(f.clauses() == 3);
  CHECK(f.literals() == 3);
  CHECK(f.variables() == 2);
  CHECK(kFalseLit == Lit());
  CHECK(~kFalseLit == kTrueLit);
  CHECK(~~a == a);
}

TEST_CASE("implied by both") {
  MemoryCnf cnf;
  Formula f(cnf);
  const Lit a = f.fresh(), b = f.fresh();
  CHECK(f.implied_by_both(a, kTrueLit) == a);
  CHECK(f.implied_by_both(kTrueLit, b) == b);
  CHECK(f.implied_by_both(a, kFalseLit) == kFalseLit);
  CHECK(f.implied_by_both(kFalseLit, b) == kFalseLit);
  CHECK(f.implied_by_both(a, a) == a);
  CHECK(f.implied_by_both(a, ~a) == kFalseLit);
  CHECK(f.variables() == 2);
  const Lit c = f.implied_by_both(a, ~b);
  CHECK(f.variables() == 3);
  CHECK(cnf.clauses() == 1);
  const std::vector<Lit> both = {a, ~b};
  CHECK(propagate(cnf, both)->of(c) == 1);
  const std::vector<Lit> other = {a, b};
  CHECK(propagate(cnf, other)->of(c) == 0);
}

TEST_CASE("guards") {
  MemoryCnf cnf;
  Formula f(cnf);
  const Lit a = f.fresh(), g = f.fresh(), h = f.fresh();
  {
    const Formula::Guarded outer(f, g);
    f.unit(a);
    {
      const Formula::Guarded inner(f, h);
      f.clause({});
    }
    f.unit(~a);
  }
  f.unit(h);
  const auto clause = [&](std::size_t i) {
    return std::vector<int>(cnf.clause(i).begin(), cnf.clause(i).end());
  };
  REQUIRE(cnf.clauses() == 4);
  CHECK(clause(0) == std::vector<int>{1, -2});
  CHECK(clause(1) == std::vector<int>{-3});
  CHECK(clause(2) == std::vector<int>{-1, -2});
  CHECK(clause(3) == std::vector<int>{3});
}

TEST_CASE("memory, counter and DIMACS text agree") {
  MemoryCnf memory;
  CountingSink counter;
  std::ostringstream direct;
  DimacsWriter writer(direct);
  for (ClauseSink* sink : std::initializer_list<ClauseSink*>{&memory, &counter, &writer}) {
    Formula f(*sink);
    std::vector<Lit> x;
    for (int i = 0; i < 9; ++i) x.push_back(f.fresh());
    const EncodingChoice choice = parse_encoding("amo=product,card=ktotalizer");
    at_most_one(f, choice, x);
    at_most(f, choice, x, 3);
    f.clause({});
    CHECK(f.variables() > 9);
  }
  CHECK(counter.variables() == memory.variables());
  CHECK(counter.clauses() == static_cast<std::int64_t>(memory.clauses()));
  std::int64_t literals = 0;
  for (std::size_t i = 0; i < memory.clauses(); ++i)
    literals += static_cast<std::int64_t>(memory.clause(i).size());
  CHECK(counter.literals() == literals);
  std::ostringstream text;
  memory.write_dimacs(text, {"first", "second"});
  CHECK(text.str() == "c first\nc second\np cnf " + std::to_string(counter.variables()) + " " +
                          std::to_string(counter.clauses()) + "\n" + direct.str());
  CHECK(direct.str().substr(direct.str().size() - 3) == "\n0\n");

  // Read back: the same clauses.
  std::istringstream in(direct.str());
  for (std::size_t i = 0; i < memory.clauses(); ++i) {
    std::vector<int> clause;
    for (int literal; in >> literal && literal != 0;) clause.push_back(literal);
    CHECK(clause == std::vector<int>(memory.clause(i).begin(), memory.clause(i).end()));
  }
}

TEST_CASE("encoding text: round trip of every combination of the table") {
  std::map<std::string, std::vector<std::string>> values;
  for (const EncodingInfo& row : encoding_table()) values[row.key].push_back(row.value);
  CHECK(values.size() == 6);
  for (const char* key : {"start", "amo", "card", "pb"}) values[key].emplace_back("auto");
  std::size_t all = 1;
  for (const auto& [key, known] : values) all *= known.size();
  std::size_t combinations = 0;
  for (const auto& form : values["form"])
    for (const auto& start : values["start"])
      for (const auto& amo : values["amo"])
        for (const auto& card : values["card"])
          for (const auto& pb : values["pb"])
            for (const auto& symmetry : values["symmetry"]) {
              const std::string text = "form=" + form + ",start=" + start + ",amo=" + amo +
                                       ",card=" + card + ",pb=" + pb + ",symmetry=" + symmetry;
              REQUIRE(encoding_text(parse_encoding(text)) == text);
              ++combinations;
            }
  CHECK(combinations == all);
  CHECK(encoding_text({}) == "form=modulo,start=auto,amo=auto,card=auto,pb=auto,symmetry=on");
  CHECK(encoding_text(parse_encoding("")) == encoding_text({}));
}

TEST_CASE("encoding text: every name means its own encoding") {
  CHECK(parse_encoding("form=straight-line").form == Form::straight_line);
  CHECK(parse_encoding("form=straight-line-literal").form == Form::straight_line_literal);
  CHECK(parse_encoding("form=modulo").form == Form::modulo);
  CHECK(parse_encoding("start=rowstage").start == StartEncoding::rowstage);
  CHECK(parse_encoding("start=order").start == StartEncoding::order);
  CHECK(parse_encoding("start=direct").start == StartEncoding::direct);
  CHECK(parse_encoding("start=channelled").start == StartEncoding::channelled);
  CHECK(parse_encoding("start=binary").start == StartEncoding::binary);
  for (const EncodingInfo& row : encoding_table()) {
    const EncodingChoice choice = parse_encoding(row.key + "=" + row.value);
    CHECK(choice.amo == (row.key == "amo" ? &row : nullptr));
    CHECK(choice.card == (row.key == "card" ? &row : nullptr));
    CHECK(choice.pb == (row.key == "pb" ? &row : nullptr));
  }
  CHECK(parse_encoding("pb=swc,pb=auto").pb == nullptr);  // the last one counts
  CHECK_FALSE(parse_encoding("symmetry=off").symmetry);
  for (const EncodingInfo& row : encoding_table())
    CHECK((row.value == "off" || !row.citation.empty()));
}

TEST_CASE("encoding text: errors name the key, the value and the known ones") {
  const auto error = [](const std::string& text) -> std::string {
    try {
      parse_encoding(text);
    } catch (const InputError& e) {
      return e.what();
    }
    return "accepted";
  };
  const auto contains = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const std::string key = error("pb=swc,colour=red");
  CHECK(contains(key, "colour"));
  for (const char* known : {"form", "start", "amo", "card", "pb", "symmetry"})
    CHECK(contains(key, known));
  const std::string value = error("amo=nested");
  for (const char* part : {"amo", "nested", "pairwise", "ladder", "product"})
    CHECK(contains(value, part));
  CHECK_FALSE(contains(value, "swc"));
  CHECK(contains(error("pb"), "key=value"));
  CHECK(contains(error("amo=ladder,,pb=bdd"), "key=value"));
  CHECK(contains(error("=ladder"), "must be one of"));
  CHECK(contains(error("symmetry=auto"), "must be one of"));
  CHECK(contains(error("form=auto"), "must be one of"));
  CHECK(contains(error("amo=Ladder"), "must be one of"));
  CHECK(contains(error("amo= ladder"), "must be one of"));
}

}  // namespace formula_test
