// The encodings laboratory: every format of `twill bench export`, read back.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "engine/cadical.hpp"
#include "graph/branch_and_bound/modulo_schedule.hpp"
#include "graph/problem_io.hpp"
#include "graph/schedule_io.hpp"
#include "tests/support/lab.hpp"

namespace lab_export_test {

#ifdef TWILL_PROGRAM

using namespace twill::test;
using nlohmann::json;

namespace {

struct Dimacs {
  std::vector<std::vector<int>> clauses, assumptions;
};
Dimacs parse_dimacs(const std::string& text) {
  Dimacs d;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == 'c' || line[0] == 'p') continue;
    const bool assumed = line[0] == 'a';
    std::istringstream words(assumed ? line.substr(1) : line);
    std::vector<int> literals;
    for (int l; words >> l && l != 0;) literals.push_back(l);
    (assumed ? d.assumptions : d.clauses).push_back(literals);
  }
  return d;
}

/// CaDiCaL on an exported formula, as another user's solver would be run: its output.
std::string solver_output(const Dimacs& d, const std::vector<int>& assumptions = {}) {
  twill::Budget budget({}, 0, 0, 0);
  twill::SatSolver solver(budget, 0);
  int variables = 0;
  for (const auto& clause : d.clauses)
    for (const int l : clause) variables = std::max(variables, std::abs(l));
  for (int v = 0; v < variables; ++v) solver.new_variable();
  for (const auto& clause : d.clauses) solver.add_clause(clause);
  std::vector<twill::Lit> assumed;
  for (const int l : assumptions) assumed.push_back(twill::Lit::of(l));
  if (solver.solve(assumed) != twill::Verdict::sat) return "s UNSATISFIABLE\n";
  std::string text = "c a solver\ns SATISFIABLE\nv";
  for (int v = 1; v <= variables; ++v)
    text += " " + std::to_string(solver.value(twill::Lit::of(v)) ? v : -v);
  return text + " 0\n";
}

/// "+1 x1 -2 ~x3 >= -1 ;": weight, variable, sign.
struct LinearConstraint {
  std::vector<std::tuple<std::int64_t, int, bool>> terms;
  std::int64_t right = 0;
};
std::vector<LinearConstraint> parse_opb(const std::string& text, int& variables) {
  std::vector<LinearConstraint> out;
  std::istringstream in(text);
  variables = 0;
  for (std::string line; std::getline(in, line);) {
    if (line[0] == '*') continue;
    LinearConstraint c;
    std::istringstream words(line);
    std::string weight, name;
    while (words >> weight && weight != ">=") {
      words >> name;
      const bool negated = name[0] == '~';
      const int variable = std::stoi(name.substr(negated ? 2 : 1));
      variables = std::max(variables, variable);
      c.terms.emplace_back(std::stoll(weight), variable, negated);
    }
    words >> c.right;
    out.push_back(c);
  }
  return out;
}

/// The two questions, into the folder "out".
void export_questions(const TemporaryDirectory& folder, const std::string& format) {
  write_questions(folder / "");
  const Run run = bench("export --format " + format + " --instances '" + (folder / "") + "' -o '" +
                        (folder / "out") + "'");
  CHECK_MESSAGE(run.code == 0, run.err);
}

}  // namespace

TEST_CASE("export and import: a solver's model becomes a verified schedule") {
  const TemporaryDirectory folder;
  write_questions(folder / "");
  const std::string problem = "'" + (folder / "figure.problem.json") + "'";
  for (const char* encoding : {"auto", "start=binary,pb=gte", "form=straight-line", "start=direct"})
    for (const char* scramble : {"0", "9 --scramble-parts variables,polarities,clauses,literals"}) {
      CAPTURE(encoding);
      CHECK(bench("export --format cnf --encodings '" + std::string(encoding) + "' --scramble " +
                  scramble + " --instances '" + (folder / "") + "' -o '" + (folder / "cnf") + "'")
                .code == 0);
      const auto expected = lines(bytes(folder / "cnf/expected.jsonl"));
      REQUIRE(expected.size() == 2);
      for (const json& entry : expected) {
        const std::string file = folder / ("cnf/" + entry["file"].get<std::string>());
        CHECK(entry["sha256"] == twill::sha256(bytes(file)));
        CHECK(contains(bytes(file), "c twill "));
        std::ofstream(folder / "model") << solver_output(parse_dimacs(bytes(file)));
        const Run import = bench("import '" + (folder / "model") + "' --formula '" + file +
                                 "' --problem " + problem + " -o '" + (folder / "s.json") + "'");
        CHECK(import.code == (entry["expected"] == "SAT" ? 0 : 1));
        if (entry["expected"] == "SAT") CHECK(contains(import.out, "verified: I = 2, L = 4"));
      }
      CHECK(bytes(folder / "cnf/instances.txt") == "figure-4.cnf\nfigure-3.cnf\n");
    }
  const twill::Problem p = twill::read_problem(folder / "figure.problem.json");
  CHECK(twill::read_schedule(p, folder / "s.json").schedule->length == 4);
  // A model that is none, and no model.
  std::ofstream(folder / "model") << "s SATISFIABLE\nv 0\n";
  const std::string import = "import '" + (folder / "model") + "' --formula '" +
                             (folder / "cnf/figure-4.cnf") + "' --problem " + problem;
  CHECK(bench(import).code == 1);
  std::ofstream(folder / "model") << "s UNKNOWN\n";
  CHECK(bench(import).code == 3);
  std::ofstream(folder / "model") << "v 1 frog 0\n";
  CHECK(bench(import).code == 2);
}

TEST_CASE("export: SMT-LIB says what is known, and its values come back") {
  const TemporaryDirectory folder;
  export_questions(folder, "smtlib --values");
  const std::string sat = bytes(folder / "out/figure-4.smt2");
  CHECK(contains(sat, "(set-logic QF_LIA)\n(set-info :status sat)\n"));
  CHECK(contains(bytes(folder / "out/figure-3.smt2"), "(set-info :status unsat)\n"));
  CHECK(contains(sat, "(set-option :produce-models true)\n(set-logic"));
  CHECK(contains(sat, "(check-sat)\n(get-value ( op_0_0_0 "));
  export_questions(folder, "smtlib --literal");  // which may have another answer
  CHECK_FALSE(contains(bytes(folder / "out/figure-4.smt2"), ":status"));
  export_questions(folder, "smtlib");
  CHECK_FALSE(contains(bytes(folder / "out/figure-4.smt2"), "get-value"));
  const std::string import = "import '" + (folder / "model") + "' --problem '" +
                             (folder / "figure.problem.json") + "' --formula '" +
                             (folder / "out/figure-4.smt2") + "'";
  std::ofstream(folder / "model")
      << "sat\n((op_0_0_0 true) (op_1_0_2 true) (op_1_0_1 false) (op_2_0_3 true) (opw_0_0 true) "
         "(opw_1_0 true) (opw_2_0 true))\n";
  CHECK(contains(bench(import).out, "verified: I = 2, L = 4"));
  std::ofstream(folder / "model")
      << "sat\n(\n  (define-fun op_0_0_0 () Bool\n    true)\n"
         "  (define-fun op_2_0_3 () Bool true) (define-fun opw_0_0 () Bool true))\n";
  const Run missing = bench(import);  // op 1 has no start: it counts as 0, before what it needs
  CHECK(missing.code == 1);
  CHECK(contains(missing.out, "no value of 3 "));
  CHECK(contains(missing.out, "op_1_0_*"));
  std::ofstream(folder / "model") << "unsat\n";
  CHECK(bench(import).code == 1);
  std::ofstream(folder / "model") << "(error \"no such logic\")\n";
  CHECK(bench(import).code == 3);
}

TEST_CASE("import: solution files of linear programs, and refutations with their proof") {
  const TemporaryDirectory folder;
  export_questions(folder, "lp");
  const std::string problem = " --problem '" + (folder / "figure.problem.json") + "'";
  std::ofstream(folder / "model") << "Optimal - objective value 4\n 0 L 4 0\n";
  const Run relaxed = bench("import '" + (folder / "model") + "'" + problem + " --formula '" +
                            (folder / "out/figure-4.lp") + "'");
  CHECK(relaxed.code == 2);
  CHECK(contains(relaxed.err, "its model has no slots"));
  export_questions(folder, "cnf");
  const std::string question = folder / "out/figure-3.cnf", proof = folder / "proof";
  std::ofstream(folder / "model") << "s UNSATISFIABLE\n";
  CHECK(bench("trial '" + (folder / "figure.problem.json") + "' --ii 2 --length 3 --proof '" +
              proof + "'")
            .code == 1);
  const std::string import =
      "import '" + (folder / "model") + "'" + problem + " --proof '" + proof + "' --formula '";
  CHECK(contains(bench(import + question + "'").out, "the proof is accepted"));
  CHECK(contains(bench(import + (folder / "out/figure-4.cnf") + "'").out, "refused, proof"));
}

TEST_CASE("export: incremental CNF asks for every length") {
  const TemporaryDirectory folder;
  export_questions(folder, "icnf");
  const std::string text = bytes(folder / "out/figure-4.icnf");
  CHECK(contains(text, "p inccnf\n"));
  const Dimacs d = parse_dimacs(text);
  REQUIRE(d.assumptions.size() >= 2);
  CHECK(contains(solver_output(d, d.assumptions[0]), "s SATISFIABLE"));    // L <= 4
  CHECK(contains(solver_output(d, d.assumptions[1]), "s UNSATISFIABLE"));  // L <= 3
}

TEST_CASE("export: pseudo-Boolean form has the sums themselves, and the same models") {
  const TemporaryDirectory folder;
  export_questions(folder, "opb");
  for (const bool sat : {true, false}) {
    const std::string file = folder / (sat ? "out/figure-4.opb" : "out/figure-3.opb");
    int variables = 0;
    const std::vector<LinearConstraint> all = parse_opb(bytes(file), variables);
    REQUIRE(variables <= 20);
    std::size_t models = 0;
    for (std::size_t a = 0; a < std::size_t{1} << variables; ++a) {
      const bool holds = std::all_of(all.begin(), all.end(), [&](const LinearConstraint& c) {
        std::int64_t sum = 0;
        for (const auto& [weight, variable, negated] : c.terms)
          if ((a >> (variable - 1) & 1) != static_cast<std::size_t>(negated)) sum += weight;
        return sum >= c.right;
      });
      if (!holds) continue;
      if (models++ > 0) continue;
      std::ofstream out(folder / "model");
      out << "s SATISFIABLE\nv";
      for (int v = 1; v <= variables; ++v) out << (a >> (v - 1) & 1 ? " x" : " -x") << v;
      out << "\n";
      out.close();
      CHECK(bench("import '" + (folder / "model") + "' --formula '" + file + "' --problem '" +
                  (folder / "figure.problem.json") + "'")
                .code == 0);
    }
    CHECK((models > 0) == sat);
  }
}

TEST_CASE("export: the linear program's optimum is that of the modulo schedule") {
  const TemporaryDirectory folder;
  export_questions(folder, "lp");
  std::map<std::string, std::int64_t> value;
  struct Constraint {
    std::vector<std::pair<std::int64_t, std::string>> terms;
    std::string relation;
    std::int64_t right = 0;
  };
  std::vector<Constraint> all;
  std::istringstream in(bytes(folder / "out/figure-4.lp"));
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "Subject To") inside = true;
    if (line == "Bounds") inside = false;
    if (!inside || line[0] == '\\' || line == "Subject To") continue;
    std::istringstream words(line);
    std::string word, name;
    words >> word;  // the constraint's name
    Constraint c;
    while (words >> word && (word == "+" || word == "-")) {
      std::int64_t weight = 0;
      words >> weight >> name;
      c.terms.emplace_back(word == "-" ? -weight : weight, name);
    }
    c.relation = word;
    words >> c.right;
    all.push_back(c);
  }
  CHECK(all.size() > 8);
  const twill::Problem p = twill::read_problem(folder / "figure.problem.json");
  const std::size_t ops = p.ops.size();
  std::int64_t best = 1'000;
  std::vector<std::int64_t> start(ops, 0);
  for (;;) {
    value.clear();
    for (std::size_t v = 0; v < ops; ++v) {
      value["a_" + std::to_string(v) + "_" + std::to_string(start[v] % 2)] = 1;
      value["k_" + std::to_string(v)] = start[v] / 2;
    }
    for (std::int64_t length = 0; length <= 8; ++length) {
      value["L"] = length;
      const bool holds = std::all_of(all.begin(), all.end(), [&](const Constraint& c) {
        std::int64_t sum = 0;
        for (const auto& [weight, name] : c.terms)
          if (const auto found = value.find(name); found != value.end())
            sum += weight * found->second;
        return c.relation == ">="   ? sum >= c.right
               : c.relation == "<=" ? sum <= c.right
                                    : sum == c.right;
      });
      if (holds) best = std::min(best, length);
    }
    std::size_t v = 0;
    while (v < ops && ++start[v] == 6) start[v++] = 0;
    if (v == ops) break;
  }
  const twill::ModuloSchedule exact = twill::optimal_modulo_schedule(p, 2);
  REQUIRE(exact.proved);
  CHECK(best == exact.length);
}

#endif

}  // namespace lab_export_test
