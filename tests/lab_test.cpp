// The encodings laboratory as a user runs it: `twill bench list|instances|run|check|report` on the
// running example of the Twill paper.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "engine/cadical.hpp"
#include "graph/modulo_schedule.hpp"
#include "graph/problem_io.hpp"
#include "graph/schedule_io.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_directory.hpp"

#ifdef TWILL_PROGRAM

using nlohmann::json;
using twill::test::bytes;
using twill::test::contains;
using twill::test::Run;
using twill::test::TemporaryDirectory;

namespace {

Run bench(const std::string& arguments, const std::string& environment = "") {
  return twill::test::run_command(environment + " '" TWILL_PROGRAM "' bench " + arguments);
}

std::vector<json> lines(const std::string& text) {
  std::vector<json> result;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) result.push_back(json::parse(line));
  return result;
}

void write_lines(const std::string& path, const std::vector<json>& rows) {
  std::ofstream file(path);
  for (const json& row : rows) file << row.dump() << "\n";
}

/// A folder with two questions about the running example: its optimum, and one cycle less.
void write_questions(const std::string& folder) {
  const std::string problem = bytes(TWILL_TEST_DATA "/examples/figure-1.problem.json");
  std::ofstream(folder + "/figure.problem.json") << problem;
  std::vector<json> list;
  for (const int length : {4, 3})
    list.push_back({{"name", "figure-" + std::to_string(length)},
                    {"family", "example"},
                    {"problem", "figure.problem.json"},
                    {"problem_sha256", twill::sha256(problem)},
                    {"ii", 2},
                    {"length", length},
                    {"expected", length == 4 ? "SAT" : "UNSAT"}});
  write_lines(folder + "/instances.jsonl", list);
}

}  // namespace

TEST_CASE("list: every encoding with family, source and claims; the grids") {
  const json all = json::parse(bench("list --json").out);
  std::set<std::string> names;
  for (const json& row : all["encodings"]) {
    const std::string name = row["key"].get<std::string>() + "=" + row["value"].get<std::string>();
    CHECK(names.insert(name).second);
    CHECK(row.contains("family"));
    if (row["value"] != "off") CHECK_FALSE(row["source"].get<std::string>().empty());
    if (row["key"] == "card" || row["key"] == "pb" || row["key"] == "amo") {
      CHECK(row.contains("propagation"));
      CHECK(row.contains("smaller_bounds_by"));
      CHECK(row.contains("size"));
    }
  }
  for (const char* name : {"amo=pairwise",
                           "amo=ladder",
                           "amo=product",
                           "amo=commander",
                           "amo=binary",
                           "amo=bimander",
                           "card=seqcounter",
                           "card=totalizer",
                           "card=ktotalizer",
                           "card=kmtotalizer",
                           "card=sortnet",
                           "card=cardnet",
                           "card=adder",
                           "pb=bdd",
                           "pb=swc",
                           "pb=gte",
                           "pb=gpw",
                           "pb=lpw",
                           "pb=dpw",
                           "pb=sorter",
                           "pb=adder",
                           "pb=bdd-amo",
                           "pb=swc-amo",
                           "pb=gte-amo",
                           "start=order",
                           "start=direct",
                           "start=channelled",
                           "start=binary",
                           "start=rowstage",
                           "form=modulo",
                           "form=straight-line",
                           "form=straight-line-literal"})
    CHECK_MESSAGE(names.contains(name), name);
  CHECK(all["grids"]["default"]["encodings"].size() >= 60);
  CHECK(all["solver"]["name"] == "cadical");
  // The text form and --help are made of the same table.
  const std::string text = bench("list").out, help = bench("run --help").out;
  for (const std::string& name : names) {
    CHECK(contains(text, name + "  ["));
    CHECK(contains(help, name.substr(name.find('=') + 1)));
  }
}

TEST_CASE("run, check, report: one row a question and encoding, all proved") {
  const TemporaryDirectory folder;
  write_questions(folder / "");
  const std::string rows = folder / "rows.jsonl", common = " --instances '" + (folder / "") + "'";
  const Run run =
      bench("run --quiet -j 2 -o '" + rows + "' --encodings 'start=*;pb=bdd|gte;form=*'" + common +
            " --scramble 0..1 --limit-cpu 30");
  CHECK_MESSAGE(run.code == 0, run.err);
  const std::vector<json> all = lines(bytes(rows));
  // 5 starts, 2 sums, 3 forms of which modulo is the default: 10 encodings.
  CHECK(all.size() == 2 * 10 * 2);
  for (const json& row : all) {
    CHECK(row["status"] == row["expected"]);
    for (const char* key : {"schema",
                            "instance",
                            "instance_sha256",
                            "family",
                            "ops",
                            "edges",
                            "I",
                            "L",
                            "mii_res",
                            "mii_rec",
                            "encoder",
                            "encoding",
                            "scramble",
                            "seed",
                            "vars",
                            "clauses",
                            "literals",
                            "aux_by_family",
                            "clauses_by_family",
                            "encode_cpu_s",
                            "solver",
                            "solver_version",
                            "verified",
                            "cpu_s",
                            "wall_s",
                            "mem_kib",
                            "conflicts",
                            "limit_cpu_s",
                            "limit_conflicts",
                            "limit_mem",
                            "host",
                            "cpu_model",
                            "os",
                            "compiler",
                            "program_sha256",
                            "argv",
                            "start_utc"})
      CHECK_MESSAGE(row.contains(key), key);
    CHECK(row["verified"] == (row["status"] == "SAT" ? "model" : "none"));
    // The families are all of the formula.
    std::int64_t variables = 0, clauses = 0;
    for (const json& size : row["aux_by_family"]) variables += size.get<std::int64_t>();
    for (const json& size : row["clauses_by_family"]) clauses += size.get<std::int64_t>();
    CHECK(variables == row["vars"]);
    CHECK(clauses == row["clauses"]);
    for (const char* family : {"starts", "dependence", "capacity", "slots"})
      CHECK_MESSAGE(row["clauses_by_family"].contains(family), family);
  }

  SUBCASE("resumed: nothing is run twice, a row cut off is run again") {
    CHECK(bench("run --quiet -o '" + rows + "' --encodings start=order" + common).code == 2);
    const std::string whole = bytes(rows);
    std::ofstream(rows) << whole.substr(0, whole.size() - 40);
    const Run again =
        bench("run --quiet --resume -o '" + rows + "' --encodings 'start=*;pb=bdd|gte;form=*'" +
              common + " --scramble 0..1 --limit-cpu 30");
    CHECK(again.code == 0);
    CHECK(lines(bytes(rows)).size() == all.size());
  }
  SUBCASE("shuffled: the same rows in an order that the seed gives") {
    std::set<std::string> orders;
    for (const int seed : {0, 1, 2, 3, 4, 5, 1}) {
      const std::string file =
          folder / ("shuffled-" + std::to_string(orders.size()) + "-" + std::to_string(seed));
      CHECK(bench("run --quiet -j 1 -o '" + file + "' --encodings start=order --shuffle " +
                  std::to_string(seed) + common)
                .code == 0);
      std::string order;
      for (const json& row : lines(bytes(file))) order += row["instance"].get<std::string>() + " ";
      CHECK(order.size() == std::string("figure-4 figure-3 ").size());
      orders.insert(order);
    }
    CHECK(orders.size() == 2);  // two instances have two orders
  }
  SUBCASE("shards are the whole") {
    std::set<std::string> keys;
    for (const char* shard : {"0", "1", "2"}) {
      const std::string part = folder / ("part-" + std::string(shard));
      CHECK(bench("run --quiet -o '" + part + "' --encodings 'start=*;pb=bdd|gte;form=*' --shard " +
                  shard + "/3" + common)
                .code == 0);
      for (const json& row : lines(bytes(part)))
        CHECK(keys.insert(row["instance"].get<std::string>() + row["encoding"].get<std::string>())
                  .second);
    }
    CHECK(keys.size() == 2 * 10);
  }
  SUBCASE("check accepts them, and refuses what was tampered with") {
    const Run check = bench("check '" + rows + "'" + common + " -o '" + (folder / "checked") + "'");
    CHECK_MESSAGE(check.code == 0, (check.out + check.err));
    CHECK(contains(check.out, "20 models verified, 20 refutations proved by DRAT"));
    CHECK(lines(bytes(folder / "checked")).size() == all.size());

    std::vector<json> wrong = all;
    for (json& row : wrong)
      if (row["status"] == "SAT") {
        row["schedule"]["start"][2] = 1;  // before what it depends on
        break;
      }
    write_lines(rows, wrong);
    const Run refused = bench("check '" + rows + "'" + common);
    CHECK(refused.code == 1);
    CHECK(contains(refused.err, "FAILED figure-4"));
    CHECK(contains(refused.err, "dependence"));
  }
  SUBCASE("a satisfiable formula called UNSAT is found out") {
    std::vector<json> wrong;
    for (json row : all) {
      if (row["instance"] != "figure-4") continue;
      row["status"] = "UNSAT";
      row["expected"] = "";
      wrong.push_back(row);
      break;
    }
    write_lines(rows, wrong);
    const Run refused = bench("check '" + rows + "'" + common);
    CHECK(refused.code == 1);
    CHECK(contains(refused.err, "SAT now"));
  }
  SUBCASE("report: tables, plots, data and a page that needs nothing else") {
    const Run report = bench("report '" + rows + "' -o '" + (folder / "report") + "'");
    CHECK(report.code == 0);
    CHECK(contains(report.out, "| virtual best"));
    CHECK(contains(report.out, "| start=order"));
    CHECK(contains(report.out, "4 questions"));
    for (const char* name : {"scores.csv", "cactus.csv", "rows.csv", "cactus.svg", "scatter-1.svg"})
      CHECK(std::filesystem::file_size(folder / ("report/" + std::string(name))) > 100);
    const std::string page = bytes(folder / "report/index.html");
    CHECK(contains(page, "<svg"));
    CHECK(contains(page, "virtual best"));
    CHECK_FALSE(contains(page, "src="));
    CHECK_FALSE(contains(page, "href="));
    std::istringstream csv(bytes(folder / "report/rows.csv"));
    std::size_t count = 0;
    for (std::string line; std::getline(csv, line);) ++count;
    CHECK(count == all.size() + 1);
  }
  SUBCASE("rows that disagree make the report fail, and are named") {
    std::vector<json> wrong = all;
    for (json& row : wrong) row["expected"] = "";
    wrong.back()["status"] = wrong.back()["status"] == "SAT" ? "UNSAT" : "SAT";
    write_lines(rows, wrong);
    const Run report = bench("report '" + rows + "'");
    CHECK(report.code == 1);
    CHECK(contains(report.err, "DISAGREEMENT"));
  }
}

TEST_CASE("limits: rows beyond the budget, and rows that keep their own limits") {
  const TemporaryDirectory folder;
  write_questions(folder / "");
  const std::string common = " --quiet --instances '" + (folder / "") + "'";
  const std::string rows = folder / "rows.jsonl";
  const Run spent = bench("run -o '" + rows +
                          "' -j 1 --encodings 'start=*;amo=*;card=*' --budget 0.0001" + common);
  CHECK(spent.code == 3);
  std::size_t not_run = 0;
  for (const json& row : lines(bytes(rows))) not_run += row["status"] == "NOTRUN";
  CHECK(not_run > 0);
  // What was not run is run on resumption.
  CHECK(bench("run --resume -o '" + rows + "' --encodings 'start=*;amo=*;card=*'" + common).code ==
        0);
  const Run report = bench("report '" + rows + "'");
  CHECK(report.code == 0);
  CHECK_FALSE(contains(report.out, "NOTRUN"));
  CHECK(contains(report.out, "2 questions"));
}

TEST_CASE("scrambled formulas: another order, the same answer") {
  const TemporaryDirectory folder;
  const std::string problem = TWILL_TEST_DATA "/examples/figure-1.problem.json";
  for (const char* question : {"--ii 2 --length 4", "--ii 2 --length 3"}) {
    std::set<std::string> answers;
    for (const char* parts : {"none", "variables", "polarities", "clauses", "literals",
                              "variables,polarities,clauses,literals"}) {
      const Run run = bench("trial '" + problem + "' " + question +
                            " --scramble 7 --scramble-parts " + parts + " --encoding start=order");
      answers.insert(json::parse(run.out)["status"]);
    }
    CHECK(answers.size() == 1);
  }
  CHECK(bench("trial '" + problem + "' --ii 2 --length 4 --scramble-parts colours").code == 2);
}

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
  if (solver.solve(assumed) != twill::SatSolver::Answer::sat) return "s UNSATISFIABLE\n";
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

TEST_CASE("export: incremental CNF asks for every length") {
  const TemporaryDirectory folder;
  write_questions(folder / "");
  CHECK(bench("export --format icnf --instances '" + (folder / "") + "' -o '" + (folder / "out") +
              "'")
            .code == 0);
  const std::string text = bytes(folder / "out/figure-4.icnf");
  CHECK(contains(text, "p inccnf\n"));
  const Dimacs d = parse_dimacs(text);
  REQUIRE(d.assumptions.size() >= 2);
  CHECK(contains(solver_output(d, d.assumptions[0]), "s SATISFIABLE"));    // L <= 4
  CHECK(contains(solver_output(d, d.assumptions[1]), "s UNSATISFIABLE"));  // L <= 3
}

TEST_CASE("export: pseudo-Boolean form has the sums themselves, and the same models") {
  const TemporaryDirectory folder;
  write_questions(folder / "");
  CHECK(
      bench("export --format opb --instances '" + (folder / "") + "' -o '" + (folder / "out") + "'")
          .code == 0);
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
  write_questions(folder / "");
  CHECK(
      bench("export --format lp --instances '" + (folder / "") + "' -o '" + (folder / "out") + "'")
          .code == 0);
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

TEST_CASE("bad input is refused with its place") {
  const TemporaryDirectory folder;
  write_questions(folder / "");
  const std::string common =
      " --quiet -o '" + (folder / "rows") + "' --instances '" + (folder / "") + "'";
  CHECK(bench("run --encodings start=sideways" + common).code == 2);
  CHECK(bench("run --encodings nonsense" + common).code == 2);
  CHECK(bench("run --encodings start=order --shard 3/3" + common).code == 2);
  CHECK(bench("run --encodings start=order --scramble 5..1" + common).code == 2);
  std::ofstream(folder / "figure.problem.json") << " ";
  const Run changed = bench("run --encodings start=order" + common);
  CHECK(changed.code == 2);
  CHECK(contains(changed.err, "SHA-256"));
  std::ofstream(folder / "bad.jsonl") << "{}\n";
  CHECK(bench("report '" + (folder / "bad.jsonl") + "'").code == 2);
}

namespace {

const std::string kLiterature = TWILL_TEST_DATA "/literature/";

/// The smallest length of a one-stage schedule by enumeration, op by op in topological order.
std::int64_t shortest(const twill::Problem& p, std::vector<std::int64_t>& start, std::size_t v,
                      std::int64_t best) {
  std::int64_t end = 0;
  for (std::size_t u = 0; u < v; ++u) end = std::max(end, start[u] + p.ops[u].cycles);
  if (v == p.ops.size()) return std::min(best, end);
  for (std::int64_t at = 0; at + p.ops[v].cycles < best; ++at) {
    start[v] = at;
    bool holds = true;
    for (const twill::Edge& e : p.edges)
      holds = holds && (e.to != static_cast<int>(v) ||
                        start[static_cast<std::size_t>(e.from)] + e.delay <= at);
    for (std::int64_t t = at; holds && t < at + p.ops[v].cycles; ++t)
      for (std::size_t unit = 0; unit < p.units.size(); ++unit) {
        std::int64_t sum = 0;
        for (std::size_t u = 0; u <= v; ++u)
          for (const twill::Reservation& r : p.ops[u].reservations)
            if (r.unit == static_cast<int>(unit) && start[u] <= t && t < start[u] + r.length)
              sum += r.amount;
        holds = holds && sum <= p.units[unit].capacity;
      }
    if (holds) best = shortest(p, start, v + 1, best);
  }
  return best;
}

}  // namespace

TEST_CASE("instances of the literature: a project in both formats, against enumeration") {
  const TemporaryDirectory folder;
  std::vector<twill::Problem> problems;
  for (const char* ending : {"sm", "rcp"}) {
    const std::string out = folder / ending;
    REQUIRE(
        bench("instances --from '" + kLiterature + "small." + ending + "' -o '" + out + "'").code ==
        0);
    problems.push_back(twill::read_problem(out + "/small.problem.json"));
    const twill::Problem& p = problems.back();
    REQUIRE(p.ops.size() == 8);
    CHECK(p.edges.size() == 10);
    std::vector<std::int64_t> start(p.ops.size(), 0);
    const std::int64_t optimum = shortest(p, start, 0, 18);
    const std::vector<json> list = lines(bytes(out + "/instances.jsonl"));
    REQUIRE_FALSE(list.empty());
    CHECK(list[0]["expected"] == "SAT");
    CHECK(list[0]["family"] == "rcpsp");
    CHECK(list[0]["ii"] == optimum);
    CHECK(list[0]["length"] == optimum);
    for (const json& question : list)
      if (question["expected"] == "UNSAT") CHECK(question["length"] == optimum - 1);
  }
  CHECK(problems[0] == problems[1]);
}

TEST_CASE("instances of the literature: the published optimum of ft06, through run and check") {
  const TemporaryDirectory folder;
  const std::string out = folder / "ft06", rows = folder / "rows.jsonl";
  REQUIRE(bench("instances --from '" + kLiterature + "ft06.jss' -o '" + out + "'").code == 0);
  const std::vector<json> list = lines(bytes(out + "/instances.jsonl"));
  REQUIRE(list.size() == 2);
  CHECK(list[0]["length"] == 55);
  CHECK(list[1]["length"] == 54);
  CHECK(list[1]["expected"] == "UNSAT");
  const Run run = bench("run --quiet -o '" + rows + "' --instances '" + out +
                        "' --encodings 'auto;start=order' --limit-cpu 60");
  CHECK_MESSAGE(run.code == 0, run.err);
  for (const json& row : lines(bytes(rows))) {
    CHECK(row["status"] == row["expected"]);
    CHECK(row["clauses_by_family"]["dependence"].get<int>() > 0);
    CHECK(row["aux_by_family"]["starts"].get<int>() > 0);
    // Job shops hold nothing.
    CHECK(row["clauses_by_family"]["registers"] == 0);
  }
  CHECK(bench("check '" + rows + "' --instances '" + out + "'").code == 0);

  // A makespan that is told is not looked for: a wrong one is found out by the rows.
  CHECK(bench("instances --from '" + kLiterature + "ft06.jss' --optimum ft06=54 -o '" +
              (folder / "wrong") + "'")
            .code == 0);
  const Run wrong = bench("run --quiet -o '" + (folder / "wrong.jsonl") + "' --instances '" +
                          (folder / "wrong") + "' --encodings auto --limit-cpu 60");
  CHECK(wrong.code == 1);
  CHECK(contains(wrong.err, "DISAGREEMENT ft06-sat: UNSAT"));
}

TEST_CASE("instances of the literature: what is refused, with file, line, value and rule") {
  const TemporaryDirectory folder;
  const std::string project = bytes(kLiterature + "small.sm"),
                    patterson = bytes(kLiterature + "small.rcp"),
                    shop = bytes(kLiterature + "ft06.jss");
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  const struct {
    const char* file;
    std::string text;
    const char* message;
  } cases[] = {
      {"a.sm", replaced(project, "nonrenewable              :  0", "nonrenewable : 2"),
       "line 10: found \"2\": the number of nonrenewable resources: only renewable ones are read"},
      {"b.sm",
       replaced(project, "   2        1          1           5",
                "   2        2          1           5"),
       "line 20: found \"2\": the number of modes"},
      {"c.sm", replaced(project, "   5   6\n", "   5   9\n"), "line 21: found \"9\": a successor"},
      {"d.sm", replaced(project, "  R 1  R 2\n    3    2", "  R 1  R 2\n    3"),
       "the availability"},
      {"e.sm", replaced(project, "RESOURCEAVAILABILITIES:", "RESOURCES:"),
       "must have a line \"RESOURCEAVAILABILITIES:\""},
      {"f.sm", replaced(project, "  4      1     4       2    1", "  4      1     4       7    1"),
       "must be"},  // more than there is: check() says so
      {"g.sm",
       replaced(project, "   7        1          1           8",
                "   7        1          1           4"),
       "cycle"},
      {"h.rcp", patterson + " 7\n", "must end after the last activity"},
      {"i.rcp", replaced(patterson, " 3 2 0 1 5", " 3 2 x 1 5"),
       "line 5: found \"x\": the demand must be an integer"},
      {"j.jss", replaced(shop, "2 1 0 3 1 6", "6 1 0 3 1 6"),
       "line 4: found \"6\": the machine must be an integer from 0 to 5"},
      {"k.jss", shop.substr(0, shop.size() - 4), "must go on with the machine"},
      {"l.jss", "9000 2\n", "must have at most 10000 operations"},
      {"m.jss", "", "must go on with the number of jobs"}};
  for (const auto& c : cases) {
    CAPTURE(c.file);
    const std::string path = folder / c.file;
    std::ofstream(path) << c.text;
    const Run run = bench("instances --from '" + path + "' -o '" + (folder / "out") + "'");
    CHECK(run.code == 2);
    CHECK_MESSAGE(contains(run.err, c.file), run.err);
    CHECK_MESSAGE(contains(run.err, c.message), run.err);
    CHECK_FALSE(std::filesystem::exists(folder / "out/instances.jsonl"));
  }
  const std::string from = "instances --from '" + kLiterature + "ft06.jss' -o '" + (folder / "out");
  CHECK(bench(from + "' --optimum ft10=930").code == 2);
  CHECK(bench(from + "' --optimum ft06=many").code == 2);
  CHECK(bench(from + "' --optimum ft06=0").code == 2);
  CHECK(bench(from + "' --grid quick").code == 2);
  CHECK(bench(from + "' --from '" + kLiterature + "ft06.jss'").code == 2);
}

TEST_CASE("instances: the quick grid") {
  const TemporaryDirectory folder;
  CHECK(bench("instances --grid quick -o '" + (folder / "quick") + "'").code == 0);
  const std::vector<json> list = lines(bytes(folder / "quick/instances.jsonl"));
  CHECK(list.size() >= 12);
  std::set<std::string> expected;
  for (const json& instance : list) expected.insert(instance["expected"]);
  CHECK(expected == std::set<std::string>{"SAT", "UNSAT"});
}

#endif
