// Forgeries that earlier versions accepted, made again in today's format
// (tests/support/forger.hpp).
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string>

#include "graph/io/file.hpp"
#include "graph/restriction.hpp"
#include "tests/support/forger.hpp"
#include "tests/support/temporary_directory.hpp"

namespace forger_known_test {

using namespace twill;
using namespace twill::test;
namespace fs = std::filesystem;

namespace {

void contains(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CHECK(text.find(part) != std::string::npos);
}

Op named(const std::string& id, Cycle cycles) {
  Op op;
  op.id = id;
  op.cycles = cycles;
  return op;
}

/// One op of two cycles that waits for itself of two iterations before: I = 2 is the optimum.
Problem self_loop() {
  Problem p;
  p.name = "self";
  p.warps = {{.name = "w0", .width = 1, .registers = 8}};
  p.ops = {named("a", 2)};
  p.edges = {{.from = 0, .to = 0, .delay = 4, .distance = 2}};
  return p;
}

Schedule at_zero(const Problem& problem, Cycle ii) {
  Schedule s{ii, 0, std::vector<Cycle>(problem.ops.size(), 0),
             std::vector<int>(problem.ops.size(), 0)};
  s.length = schedule_length(problem, s.start);
  return s;
}

Refutation refutation_at(Cycle ii, OrderRequest request) {
  Refutation r;
  r.ii = ii;
  r.encoding = encoding_text(EncodingChoice{});
  r.request = std::move(request);
  return r;
}

}  // namespace

TEST_CASE("a formula for a range that begins below a recurrence") {
  const Problem problem = self_loop();
  Solution liar = said_of(problem, Status::optimal, at_zero(problem, 1000));
  liar.ii_lower_bound = 1000;
  liar.length_lower_bound = liar.schedule->length;
  OrderRequest request;
  request.ii_low = 1;
  request.ii_high = 999;
  const TemporaryDirectory directory;
  contains(forge(directory / "c", problem, liar, {{refutation_at(999, request)}}),
           "not proved: no schedule has I < 1000");
  // At one I the formula is exact, and has models.
  request.ii_low = 999;
  contains(forge(directory / "d", problem, liar, {{refutation_at(999, request)}}),
           "the proof ends without a refutation");
  liar.schedule = at_zero(problem, 2);
  liar.ii_lower_bound = 2;
  CHECK(forge(directory / "e", problem, liar, {}) == "accepted");
}

TEST_CASE("lifetimes of ops that may be in any stage") {
  Problem p;
  p.name = "lifetime";
  p.units = {{"u", 1}};
  p.warps = {{.name = "w0", .width = 1, .registers = 8}};
  p.ops = {named("a", 1), named("b", 1), named("c", 10)};
  p.ops[0].registers = 1;
  p.ops[2].reservations = {{0, 0, 10, 1}};
  p.edges = {{.from = 0, .to = 1, .delay = 1}};
  Schedule late = at_zero(p, 10);
  late.start = {0, 9, 0};
  Solution liar = said_of(p, Status::optimal, late);
  liar.schedule->length = schedule_length(p, late.start);
  liar.ii_lower_bound = liar.length_lower_bound = 10;
  liar.goals = {{"lifetime", 9, 9}};
  OrderRequest request;
  request.ii_low = request.ii_high = 10;
  request.deadline = true;
  Refutation r = refutation_at(10, request);
  r.deadline = 10;
  r.limits = {{"lifetime", 8}};
  const TemporaryDirectory directory;
  contains(forge(directory / "c", p, liar, {{r, "0 L d0*1000000 f0*1000000 f3*1000000\n"}}),
           "not proved: at I = 10 and L = 10, lifetime is not below 9");
}

TEST_CASE("what is larger than memory is refused before it is made") {
  const Problem problem = self_loop();
  Solution liar = said_of(problem, Status::feasible, at_zero(problem, 1000));
  liar.ii_lower_bound = 1000;
  const TemporaryDirectory directory;
  int number = 0;
  const auto said = [&](const std::function<void(Refutation&, OrderRequest&)>& change) {
    OrderRequest request;
    request.ii_low = request.ii_high = 999;
    Refutation r = refutation_at(999, request);
    change(r, std::get<OrderRequest>(r.request));
    return forge(directory / std::to_string(++number), problem, liar, {{r}});
  };
  for (const Cycle stages : {Cycle{1'000'000}, kMaxStart})
    contains(said([&](Refutation&, OrderRequest& o) { o.stages = stages; }), "not proved");
  contains(said([](Refutation&, OrderRequest& o) { o.stages = kMaxStart + 1; }), "/stages");
  contains(said([](Refutation&, OrderRequest& o) { o.pinned = 1; }), "/pinned");
  contains(said([](Refutation&, OrderRequest& o) { o.share = 0; }), "/share");
  contains(said([](Refutation&, OrderRequest& o) { o.exchange = {0, 0}; }), "not proved");
  contains(said([](Refutation&, OrderRequest& o) { o.exchange = {1}; }), "/exchange/0");
  contains(said([](Refutation&, OrderRequest& o) {
             o.exchange = {0};  // of nothing, and a further one that begins nowhere
             o.further_exchanges = {{0}};
           }),
           "not proved");
  contains(said([](Refutation&, OrderRequest& o) { o.further_exchanges = {{1}}; }),
           "/further_exchanges/0/0");
  contains(said([](Refutation& r, OrderRequest&) { r.ii = 0; }), "/initiation_interval");
  contains(said([](Refutation& r, OrderRequest&) { r.encoding = "form=straight-line"; }),
           "not proved");
  // The time-indexed form has tables of I entries.
  ModuloRequest modulo;
  modulo.ii = kMaxCycles;
  modulo.stages = 1;
  Refutation r;
  r.ii = modulo.ii;
  r.encoding = encoding_text(EncodingChoice{});
  r.request = modulo;
  liar = said_of(problem, Status::feasible, at_zero(problem, kMaxCycles + 1));
  liar.ii_lower_bound = kMaxCycles + 1;
  contains(forge(directory / "modulo", problem, liar, {{r}}), "smaller than the formula");
}

TEST_CASE("a folder that is not one of files, and files that nobody listed") {
  const Problem problem = self_loop();
  Solution solution = said_of(problem, Status::optimal, at_zero(problem, 2));
  solution.ii_lower_bound = 2;
  solution.length_lower_bound = 2;
  const TemporaryDirectory directory;
  for (const std::string name : {"manifest.json", "problem.json", "schedule.json"}) {
    CAPTURE(name);
    const std::string copy = directory / name;
    REQUIRE(forge(copy, problem, solution, {}) == "accepted");
    fs::remove(copy + "/" + name);
    REQUIRE(::mkfifo((copy + "/" + name).c_str(), 0600) == 0);
    contains(verdict(copy), name + ": is not a regular file");
    fs::remove(copy + "/" + name);
    fs::create_directory(copy + "/" + name);
    contains(verdict(copy), name + ": is not a regular file");
  }
  const std::string copy = directory / "unlisted";
  REQUIRE(forge(copy, problem, solution, {}) == "accepted");
  const std::string path = copy + "/manifest.json";
  Manifest manifest = parse_manifest(problem, read_file(path), path);
  std::erase_if(manifest.files, [](const auto& file) { return file.first == "schedule.json"; });
  write_file(path, manifest_text(problem, manifest));
  contains(verdict(copy), "lists no schedule.json");
}

TEST_CASE("a schedule file that says more than the schedule") {
  Problem problem = self_loop();
  problem.warps.push_back({.name = "load", .width = 1, .variable_latency = true});
  problem.ops.push_back(named("ld", 0));
  problem.ops[1].variable_latency = problem.ops[1].streaming = true;
  problem.edges.push_back({.from = 1, .to = 0});
  Schedule schedule = at_zero(problem, 2);
  schedule.warp[1] = 1;
  Solution honest = said_of(problem, Status::optimal, schedule);
  honest.ii_lower_bound = honest.length_lower_bound = 2;
  const TemporaryDirectory directory;
  int number = 0;
  const auto said = [&](const std::function<void(Solution&)>& change) {
    Solution liar = honest;
    change(liar);
    return forge(directory / std::to_string(++number), problem, liar, {});
  };
  REQUIRE(said([](Solution&) {}) == "accepted");
  contains(said([](Solution& s) { s.ring_depths["ld"] = 7; }), "ring depths");
  contains(said([](Solution& s) { s.ring_depths.clear(); }), "ring depths");
  contains(said([](Solution& s) { s.max_stages = 1'000'000; }), "max_stages");
  contains(said([](Solution& s) { s.max_stages = 0; }), "max_stages");
  contains(said([](Solution& s) { s.problem = "another"; }), "it names the problem");
  contains(said([](Solution& s) { s.engine = "oracle"; }), "no engine is called");
  contains(said([](Solution& s) { s.ii_lower_bound = 3; }), "better than its lower bound");
  contains(said([](Solution& s) { s.length_lower_bound = 3; }), "better than its lower bound");
  contains(said([](Solution& s) { s.status = Status::infeasible, s.schedule.reset(); }),
           "ring depths or goals, and no schedule");
  contains(said([](Solution& s) {
             s.status = Status::infeasible;
             s.schedule.reset();
             s.ring_depths.clear();
           }),
           "not proved: no schedule exists at any I");
  // What was searched is said, and nothing else is.
  contains(said([](Solution& s) { s.stages = "1", s.max_stages = 1; }), "searched only");
  contains(said([](Solution& s) { s.options.emplace_back("ii", "2"); }), "searched only");
  contains(said([](Solution& s) { s.options.emplace_back("handover", "no"); }), "searched only");
  contains(said([](Solution& s) { s.options.emplace_back("pin a", "w0"); }), "searched only");
  contains(said([](Solution& s) { s.options.emplace_back(kRestrictionOption, "of my choice"); }),
           "searched only");
  const auto restricted = [&](const std::string& name, const std::string& value) {
    return said([&](Solution& s) {
      s.options.emplace_back(name, value);
      s.options.emplace_back(kRestrictionOption, restriction_of(s));
    });
  };
  CHECK(restricted("ii", "2") == "accepted");
  contains(restricted("ii", "3"), "its I is 2");
  contains(restricted("pin ld", "w0"), "option pin ld: pins are of the problem");
  contains(restricted("pin x", "w0"), "option pin x");
}

}  // namespace forger_known_test
