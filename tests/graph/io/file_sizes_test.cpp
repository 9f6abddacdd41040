// Every size that a file can ask for is bounded, and what is allowed costs what its file does.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <string>

#include "bench/lab/literature.hpp"
#include "bench/lab/makespan.hpp"
#include "bench/lab/question.hpp"
#include "bench/lab/rows.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/bounds.hpp"
#include "graph/check.hpp"
#include "graph/lower.hpp"
#include "graph/lowering/kernel.hpp"
#include "graph/lowering/machine.hpp"
#include "graph/problem_io.hpp"
#include "tests/support/file_samples.hpp"
#include "tests/support/sanitized.hpp"

namespace file_sizes_test {

using namespace twill;
using test::refusal;

namespace {

long peak_megabytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

/// The processor time of run(8) in that of run(1), which are of eight sizes and one: about 8 where
/// time grows as size does, 64 where it grows as its square. Of each the least of four, in turn, as
/// other work on the machine makes any of them longer.
template <class Run>
double growth(Run&& run) {
  double one = std::numeric_limits<double>::infinity(), eight = one;
  for (int k = 0; k < 4; ++k)
    for (double* least : {&one, &eight}) {
      const std::clock_t begin = std::clock();
      run(least == &one ? 1 : 8);
      *least = std::min(*least, static_cast<double>(std::clock() - begin));
    }
  return eight / std::max(1.0, one);
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t n = 0; n < times; ++n) all += (n == 0 ? "" : ",") + text;
  return all;
}

std::string number(std::size_t n) {
  return std::to_string(n);
}

/// A machine whose MMA reads its operands until it ends, with views and one layout.
std::string machine(const std::string& layouts, const std::string& rest = "") {
  return R"({"format": "twill.machine", "version": 1, "name": "m", "units": {"A": 1},
    "memories": {"mem": {"capacity": 1000000, "measure": "bytes"}}, )" +
         rest + R"("layouts": [)" + layouts + R"(], "rules": {
    "calc": {"unit": "A", "cycles": [{"measure": "constant", "factor": 4}], "width": 4, "result": "registers"},
    "view": {"width": 4, "result": "none"},
    "mma": {"unit": "A", "cycles": [{"measure": "constant", "factor": 7}], "width": 4, "result": "none",
            "asynchronous": true}}})";
}

const std::string kLayout =
    R"({"name": "l", "slots": [{"name": "w", "width": 4, "registers": 240}]})";

std::string kernel(const std::string& ops, const std::string& edges, const std::string& rest = "") {
  return R"({"format": "twill.kernel", "version": 1, "name": "k", "ops": [)" + ops +
         R"(], "edges": [)" + edges + "]" + rest + "}";
}

/// A kernel: a chain of so many views, and 50,000 uses of its last one and of a descriptor.
std::string kernel_of_views(std::size_t views) {
  const std::string view = R"(, "kind": "view", "shape": [4, 4], "type": "f32")";
  std::string edges;
  std::string ops =
      R"({"id": "h", "kind": "calc", "shape": [4, 4], "type": "f32", "result": "mem"}, {"id": "d")" +
      view + "}";
  for (std::size_t n = 0; n < views; ++n)  // v0 of h, and so on
    ops += R"(, {"id": "v)" + number(n) + "\"" + view + R"(, "alias_of": ")" +
           (n == 0 ? "h" : "v" + number(n - 1)) + "\"}";
  for (std::size_t n = 0; n < 1'000; ++n) ops += R"(, {"id": "u)" + number(n) + "\"" + view + "}";
  for (std::size_t n = 0; n < 50'000; ++n)
    edges += R"({"from": ")" + (n % 8 == 0 ? "d" : "v" + number(views - 1)) + R"(", "to": "u)" +
             number(n % 1'000) + R"(", "distance": 1}, )";
  for (std::size_t n = 0; n < views; ++n)
    edges += R"({"from": ")" + (n == 0 ? "h" : "v" + number(n - 1)) + R"(", "to": "v)" + number(n) +
             "\"}, ";
  edges += R"({"from": "h", "to": "d"})";
  return kernel(ops, edges);
}

}  // namespace

TEST_CASE("values below a long key take no memory for their places") {
  const long before = peak_megabytes();
  const std::string key(100'000, 'k');
  const std::string segments = repeated("[0, 1, 1]", 10'000), floats = repeated("1.5", 10'000);
  const std::string text =
      R"({"format": "twill.problem", "version": 1, "name": "p", "units": {")" + key +
      R"(": 1}, "memories": {}, "warps": [], "ops": [{"id": "a", "cycles": 1, "reservation": {")" +
      key + "\": [" + segments + "]}, \"x\": {\"" + key + "\": [" + floats + "]}}], \"edges\": []}";
  CHECK(refusal([&] { parse_problem(text); }).rule().find("unknown key") == 0);
  const std::string read = text.substr(0, text.find(", \"x\"")) + "}], \"edges\": []}";
  CHECK(refusal([&] { parse_problem(read); }).rule() == "unit names must have at most 1000 bytes");
  CHECK(peak_megabytes() - before < 300);
}

TEST_CASE("places and values of refusals are the file's") {
  const auto place = [](const std::string& text) { return refusal([&] { parse_problem(text); }); };
  const std::string head =
      R"({"format": "twill.problem", "version": 1, "name": "p", "cycle_unit": 2.50, "units": {"a/b~": )";
  const InputError unit = place(head + "1.250}, \"memories\": {}, \"warps\": []}");
  CHECK(unit.place() == "");  // ops and edges are missing first
  const InputError value =
      place(head + R"(1.250}, "memories": {}, "warps": [], "ops": [], "edges": []})");
  CHECK(value.place() == "/units/a~1b~0");
  CHECK(value.value() == "1.250");
}

TEST_CASE("a file has at most 20,000,000 values") {
  if (test::kSanitized) return;  // a minute, for code that small files go through
  std::string text = "[0";
  for (int n = 0; n < 20'000'000; ++n) text += ",0";
  const InputError error = refusal([&] { parse_problem(text + "]"); });
  CHECK(error.rule() == "a file must have at most 20000000 values");
  CHECK(error.place() == "/19999998");
}

TEST_CASE("problems: how many units, memories, slots, edges, pins and segments") {
  const Problem sample = parse_problem(test::kProblemText);
  const auto refused = [&](const char* what, auto&& change) {
    Problem problem = sample;
    change(problem);
    CHECK(refusal([&] { check(problem, "p"); }).rule() == std::string("must have at most ") + what);
  };
  refused("1000 units", [](Problem& p) {
    while (p.units.size() <= 1'000) p.units.push_back({"u" + number(p.units.size()), 1});
  });
  refused("1000 memories", [](Problem& p) {
    while (p.memories.size() <= 1'000) p.memories.push_back({"m" + number(p.memories.size()), 1});
  });
  refused("1000 slots", [](Problem& p) {
    while (p.warps.size() <= 1'000) p.warps.push_back({"w" + number(p.warps.size()), 1, 0, false});
  });
  refused("1000000 edges", [](Problem& p) { p.edges.resize(1'000'001, p.edges.front()); });
  refused("100000 pins", [](Problem& p) {
    p.pins.resize(100'001, Pin{Pin::not_on_slot, 0, 0, -1, -1});
  });
  refused("1000000 segments of reservations", [](Problem& p) {
    p.ops[1].reservations.resize(1'000'001, {0, 0, 1, 1});
  });
}

TEST_CASE("a bound on I beyond every interval is no number to compute with") {
  Problem problem = parse_problem(test::kProblemText);
  problem.ops[1].registers = 4'000'000'000;  // of 240, for 10^9 cycles
  problem.edges[1].delay = kMaxCycles;
  problem.edges[2].distance = kMaxDistance;
  problem.warps[0].registers = 0;
  problem.warps[1].registers = 1;
  CHECK(lower_bounds(problem).front().value == kMaxInterval + 1);
  CHECK(solve(problem).status == Status::infeasible);
}

TEST_CASE("machines: how many layouts, slots, terms; what layouts times a kernel makes") {
  std::string slots, layouts;
  for (std::size_t n = 0; n <= 1'000; ++n) {
    slots += (n == 0 ? "" : ",") + (R"({"name": "w)" + number(n)) +
             R"(", "width": 4, "registers": 240})";
    layouts += (n == 0 ? "" : ",") + (R"({"name": "l)" + number(n)) +
               R"(", "slots": [{"name": "w", "width": 4, "registers": 240}]})";
  }
  CHECK(refusal([&] {
          parse_machine(machine(R"({"name": "l", "slots": [)" + slots + "]}"), "m");
        }).rule() == "must have at most 1000 values");
  CHECK(refusal([&] { parse_machine(machine(layouts), "m"); }).rule() ==
        "must have at most 1000 values");

  std::string many = layouts.substr(0, layouts.rfind(",{"));  // 1,000 layouts, 6,000 ops
  std::string ops;
  for (std::size_t n = 0; n < 6'000; ++n)
    ops += (n == 0 ? "" : ",") + (R"({"id": "o)" + number(n)) +
           R"(", "cost": {"unit": "A", "cycles": 1}})";
  const InputError error = refusal([&] { lower(kernel(ops, ""), "k", machine(many), "m"); });
  CHECK(error.rule() ==
        "ops and edges of the kernel, once a layout, must be at most 5000000; name one layout");
  LowerOptions one;
  one.layout = "l7";
  CHECK(lower(kernel(ops, ""), "k", machine(many), "m", one).size() == 1);
}

TEST_CASE("a descriptor of what a chunked chain leaves in memory") {
  const std::string tile = R"("shape": [128, 64], "type": "f32"})";
  const std::string ops = R"({"id": "a", "kind": "calc", )" + tile +
                          R"(, {"id": "c", "kind": "calc", "result": "mem", )" + tile +
                          R"(, {"id": "d", "kind": "view", )" + tile +
                          R"(, {"id": "m", "kind": "mma", )" + tile;
  const std::string edges =
      R"({"from": "a", "to": "c"}, {"from": "c", "to": "d"}, {"from": "d", "to": "m"})";
  const Problem problem =
      lower(kernel(ops, edges, R"(, "chunks": [{"id": "x", "ops": ["a", "c"], "count": 2}])"), "k",
            machine(kLayout), "m")
          .front()
          .problem;
  // The chain, x, holds what m reads until m ends: an edge of no delay of its own.
  REQUIRE(problem.ops.size() == 3);
  REQUIRE(problem.edges.size() == 3);
  CHECK(problem.edges[2] == Edge{0, 2, 0, 0, false, 7});
}

// Of a walk to the first of the views for each use it is about 6.
TEST_CASE("kernels: eight times as many views below 50,000 uses take little more time") {
  const std::string one = kernel_of_views(1'000), eight = kernel_of_views(8'000);
  CHECK(growth([&](int sizes) { lower(sizes == 1 ? one : eight, "k", machine(kLayout), "m"); }) <
        3);
}

TEST_CASE("literature: work beyond 64 bits, and thousands of activities") {
  const bench::Project wide = bench::parse_literature(
      "3 1\n1000000000000\n1000000000 1000000000000 0\n1000000000 1000000000000 0\n"
      "1000000000 1000000000000 0\n",
      "x.rcp");
  CHECK(bench::makespan_bound(wide) == 3'000'000'000);
  CHECK(bench::serial_length(wide.problem) == 3'000'000'000);

  const auto activities = [](std::size_t count) {  // no two at a time
    std::string many = number(count) + " 1\n3\n";
    for (std::size_t n = 0; n < count; ++n) many += number(1 + n % 7) + " 2 0\n";
    return bench::parse_literature(many, "x.rcp");
  };
  const bench::Project one = activities(1'250), eight = activities(10'000);
  CHECK(growth([&](int sizes) {
          const bench::Project& project = sizes == 1 ? one : eight;
          CHECK(bench::serial_length(project.problem) >= *bench::makespan_bound(project));
        }) < 24);
}

TEST_CASE("rows and instances: nesting, repeated keys and names with folders are refused") {
  const std::string head = R"({"instance":"i","encoding":"e","status":"SAT","deep":)";
  const std::string deep = head + std::string(100'000, '[') + std::string(100'000, ']') + "}\n";
  const InputError error = refusal([&] { bench::parse_rows(head + "1}\n" + deep, "rows"); });
  CHECK(error.place() == "line 2");
  CHECK(error.rule().find("nested deeper than 64 levels") != std::string::npos);
  CHECK(refusal([&] { bench::parse_rows(head + "1,\"deep\":2}\n", "rows"); })
            .rule()
            .find("repeated") != std::string::npos);
  const auto instance = [](const std::string& name) {
    return R"({"name":")" + name +
           R"(","family":"f","problem":"p","problem_sha256":"0","ii":1,"length":1,"expected":""})";
  };
  CHECK(bench::parse_instances(instance("a..b"), "dir/list").size() == 1);
  for (const std::string name : {"", "../../etc/passwd", "/etc/passwd"})
    CHECK(refusal([&] { bench::parse_instances(instance(name), "dir/list"); }).value() ==
          "\"" + name + "\"");
}

}  // namespace file_sizes_test
