// Rule 9 is in no formula: arithmetic alone proves what channels refute. A forger claims more than
// that (tests/support/forger.hpp).
#include <doctest/doctest.h>

#include <string>

#include "engine/certificate/certificate.hpp"
#include "graph/bounds/channel_bounds.hpp"
#include "graph/bounds/serial.hpp"
#include "tests/support/forger.hpp"
#include "tests/support/temporary_directory.hpp"

namespace forger_channels_test {

using namespace twill;
using namespace twill::test;

namespace {

void contains(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CHECK(text.find(part) != std::string::npos);
}

/// Two ops in a row, and a bus that binds: 100/3 cycles, far beyond where they run serially.
Problem bus() {
  Problem p;
  p.name = "bus";
  p.units = {{"u", 1}};
  p.warps = {{.name = "w0", .width = 1, .registers = 8}};
  p.channels = {{"bus", {3, 1}}};
  p.ops.resize(2);
  p.ops[0].id = "a";
  p.ops[1].id = "b";
  for (Op& op : p.ops) {
    op.cycles = 2;
    op.reservations = {{0, 0, 2, 1}};
    op.traffic = {{0, {50, 1}}};
  }
  p.edges = {{.from = 0, .to = 1, .delay = 2}};
  return p;
}

Schedule in_a_row(Cycle ii) {
  return {ii, 4, {0, 2}, {0, 0}};
}

Solution claim(const Problem& p, Cycle ii, Cycle bound) {
  Solution s = said_of(p, Status::feasible, in_a_row(ii));
  s.ii_lower_bound = bound;
  s.length_lower_bound = 4;
  if (bound == ii) s.status = Status::optimal;
  return s;
}

}  // namespace

TEST_CASE("no schedule at any I, by a channel's bound") {
  const Problem problem = bus();
  REQUIRE(least_by_channels(problem) > serial_ii(problem));
  const TemporaryDirectory directory;
  const Solution liar = said_of(problem, Status::infeasible, std::nullopt);
  contains(forge(directory / "any", problem, liar, {}), "not proved: no schedule exists at any I");
  // A refutation at the interval where the ops run in a row would be final; there is none.
  OrderRequest request;
  request.ii_low = request.ii_high = serial_ii(problem);
  Refutation r;
  r.ii = serial_ii(problem);
  r.encoding = encoding_text(EncodingChoice{});
  r.request = request;
  contains(forge(directory / "at", problem, liar, {{r}}), "without a refutation");
  r.about = About::serial;
  CHECK(forge(directory / "serial", problem, liar, {{r}}) != "accepted");
}

TEST_CASE("more than a channel's bound, and less") {
  const Problem problem = bus();
  const TemporaryDirectory directory;
  CHECK(forge(directory / "34", problem, claim(problem, 34, 34), {}) == "accepted");
  CHECK(forge(directory / "less", problem, claim(problem, 40, 34), {}) == "accepted");
  contains(forge(directory / "35", problem, claim(problem, 40, 35), {}),
           "not proved: no schedule has I < 35");
  contains(forge(directory / "36", problem, claim(problem, 36, 36), {}),
           "not proved: no schedule has I < 36");
  // The schedule itself: it is accepted from the bound on.
  contains(forge(directory / "33", problem, claim(problem, 33, 33), {}), "channel bus");
  contains(forge(directory / "4", problem, claim(problem, 4, 4), {}), "channel bus");
}

TEST_CASE("traffic and rates that were changed after the proof") {
  const Problem problem = bus();
  const TemporaryDirectory directory;
  Options options;
  options.evidence = true;
  const Solution honest = solve(problem, options);
  int number = 0;
  const auto said = [&](const auto& change) {
    const std::string folder = directory / std::to_string(++number);
    write_certificate(folder, problem, honest);
    Problem other = problem;
    change(other);
    write_file(folder + "/problem.json", problem_text(other));
    const std::string unmended = verdict(folder);
    edit(folder + "/schedule.json", [&](std::string& text) {
      const std::string before = sha256(problem_text(problem));
      if (text.find(before) != std::string::npos)
        replace(text, before, sha256(problem_text(other)));
    });
    mend_hashes(folder);
    CHECK((unmended != "accepted" || other == problem));
    return verdict(folder);
  };
  CHECK(said([](Problem&) {}) == "accepted");
  contains(said([](Problem& p) {
             p.ops[0].traffic[0].amount = {95, 2};
           }),
           "no schedule has I < 34");
  contains(said([](Problem& p) { p.ops[1].traffic.clear(); }), "no schedule has I < 34");
  contains(said([](Problem& p) { drop_channels(p); }), "no schedule has I < 34");
  contains(said([](Problem& p) { p.channels[0].rate = {100, 33}; }), "no schedule has I < 34");
  contains(said([](Problem& p) { p.ops[0].traffic[0].amount = {105, 2}; }), "channel bus");
  contains(said([](Problem& p) { p.channels[0].rate = {299, 100}; }), "");
  CHECK(said([](Problem& p) { p.channels[0].rate = {29, 10}; }) != "accepted");
}

}  // namespace forger_channels_test
