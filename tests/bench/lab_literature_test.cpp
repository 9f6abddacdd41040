// The encodings laboratory: project and job-shop files of the literature as instances.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "graph/problem_io.hpp"
#include "tests/support/lab.hpp"

namespace lab_literature_test {

#ifdef TWILL_PROGRAM

using namespace twill::test;
using nlohmann::json;

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

#endif

}  // namespace lab_literature_test
