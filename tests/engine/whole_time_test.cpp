// The least time of N iterations (rule 11): against what is best at each interval, its certificates
// and their forgeries, files, and the layouts and register splits of kernels.
#include <doctest/doctest.h>

#include <string>

#include "engine/certificate/certificate.hpp"
#include "engine/include/twill.hpp"
#include "graph/bounds/whole_time.hpp"
#include "tests/support/lowering.hpp"
#include "tests/support/random_loop.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/temporary_directory.hpp"

namespace whole_time_test {

using namespace twill;
using namespace twill::test;

namespace {

// At I = 6 the unit has room for c only at row 3, which is cycle 9: L = 12. From I = 8 on it can
// begin as soon as b ends: L = 8.
Problem fill_against_interval() {
  return parse_problem(R"({
    "format": "twill.problem", "version": 1, "name": "fill", "cycle_unit": 1.0,
    "units": {"A": 1}, "memories": {},
    "warps": [{"name": "w0", "width": 1, "registers": 100}],
    "ops": [
      {"id": "a", "cycles": 3, "reservation": {"A": [[0, 3, 1]]}},
      {"id": "b", "cycles": 2},
      {"id": "c", "cycles": 3, "reservation": {"A": [[0, 3, 1]]}}
    ],
    "edges": [
      {"from": "a", "to": "b", "delay": 3, "distance": 0},
      {"from": "b", "to": "c", "delay": 2, "distance": 0}
    ]
  })",
                       "fill");
}

Solution timed(const Problem& problem, Cycle iterations, const std::string& engine = "order") {
  Options options;
  options.engine = engine;
  options.threads = 1;
  options.iterations = iterations;
  return solve(problem, options);
}

}  // namespace

TEST_CASE("a larger interval with a shorter fill takes less time for few iterations") {
  const Problem problem = fill_against_interval();
  const Solution steady = solve(problem);
  REQUIRE(steady.schedule);
  CHECK(steady.schedule->initiation_interval == 6);
  CHECK(steady.schedule->length == 12);
  for (const std::string engine : {"order", "time_indexed"}) {
    const Solution one = timed(problem, 1, engine);
    REQUIRE(one.schedule);
    CHECK(one.schedule->length == 8);
    CHECK(one.schedule->initiation_interval == 8);
    CHECK(*one.whole_time == WholeTime{1, 8, 8});
    CHECK(one.status == Status::optimal);
    const Solution two = timed(problem, 2, engine);
    CHECK(two.schedule->initiation_interval == 8);
    CHECK(*two.whole_time == WholeTime{2, 16, 16});
    const Solution three = timed(problem, 3, engine);  // 2 x 8 + 8 is no less
    CHECK(three.schedule->initiation_interval == 6);
    CHECK(*three.whole_time == WholeTime{3, 24, 24});
  }
}

TEST_CASE("the best of each interval, by itself") {
  int larger = 0, loops = 0;
  for (std::uint64_t seed = 1; seed <= 150 / kShare; ++seed) {
    CAPTURE(seed);
    LoopKnobs knobs;
    knobs.min_ops = 4;
    knobs.max_ops = 7;
    knobs.max_cycles = 5;
    knobs.max_distance = 1;
    knobs.multi_segment = seed % 4 == 0;
    knobs.max_channels = seed % 3 == 0 ? 2 : 0;
    knobs.flight = seed % 2 == 0;
    const Problem problem = random_loop(seed, knobs);
    const Solution steady = solve(problem);
    if (!steady.schedule) continue;
    ++loops;
    for (const Cycle n : {1, 2, 3, 7}) {
      CAPTURE(n);
      // Lengths at single intervals, which are tested elsewhere.
      Cycle best_ii = steady.schedule->initiation_interval;
      Cycle best = whole_time(n, best_ii, steady.schedule->length);
      const Cycle apart = WholeTimeQuestion(problem, n, 0).apart(best);
      for (Cycle ii = best_ii + 1; ii <= apart && (n - 1) * ii < best; ++ii) {
        Options at;
        at.ii = ii;
        const Solution there = solve(problem, at);
        if (!there.schedule || whole_time(n, ii, there.schedule->length) >= best) continue;
        best_ii = ii;
        best = whole_time(n, ii, there.schedule->length);
      }
      const Solution got = timed(problem, n, seed % 2 == 0 ? "order" : "time_indexed");
      REQUIRE(got.schedule);
      CHECK(got.status == Status::optimal);
      CHECK(got.whole_time->cycles == best);
      CHECK(got.whole_time->lower_bound == best);
      CHECK(got.schedule->initiation_interval == best_ii);
      if (best_ii != steady.schedule->initiation_interval) ++larger;
    }
  }
  CHECK(loops > 80 / kShare);
  CHECK(larger > 15 / kShare);
}

TEST_CASE("what one refutation excludes") {
  const Problem problem = fill_against_interval();
  CHECK(least_length(problem) == 8);
  WholeTimeQuestion question(problem, 3, 0);
  question.set_best(whole_time(3, 7, 20), 7);  // 34 cycles
  CHECK(question.deadline(7) == 19);
  CHECK(question.deadline(6) == 22);  // as many cycles at a smaller I are better
  CHECK(question.deadline(13) == 7);
  CHECK(*question.end() == 13);
  CHECK(question.excluded(13, 9, 1));  // by least_length()
  CHECK(question.excluded(9, 9, 15));
  CHECK_FALSE(question.excluded(9, 9, 14));
  // A schedule of L <= 17 at I = 8 has at most 2 periods' ends before an op: 19 at I = 9.
  CHECK(question.excluded(8, 9, 19));
  CHECK_FALSE(question.excluded(8, 9, 18));
  WholeTimeQuestion one_stage(problem, 3, 1);  // where no op is before the end of a period
  one_stage.set_best(34, 7);
  CHECK(*one_stage.enough(8, 9) == 17);
  // No use to a larger I, unless iterations do not meet there.
  CHECK_FALSE(question.excluded(9, 8, 1000));
  CHECK(question.excluded(9, question.apart(15), 15) == (question.apart(15) < 9));
  Problem segments = problem;
  segments.ops[0].reservations.push_back({0, 2, 1, 1});
  segments.ops[0].reservations[0].length = 1;
  WholeTimeQuestion apart(segments, 3, 0);
  apart.set_best(34, 7);
  CHECK_FALSE(apart.excluded(8, 9, 1000));
  CHECK(apart.excluded(9, 9, 15));
}

TEST_CASE("a schedule file of version 2 has the time, others are as they were") {
  const Problem problem = fill_against_interval();
  const Solution one = timed(problem, 1);
  const std::string text = schedule_text(problem, one);
  CHECK(text.find("\"version\": 2") != std::string::npos);
  const Solution back = parse_schedule(problem, text, "again");
  CHECK(back.whole_time == one.whole_time);
  CHECK(schedule_text(problem, back) == text);
  CHECK(schedule_text(problem, solve(problem)).find("\"version\": 1") != std::string::npos);

  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    REQUIRE(changed.find(from) != std::string::npos);
    changed.replace(changed.find(from), from.size(), to);
    try {
      parse_schedule(problem, changed, "changed");
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refused("\"version\": 2", "\"version\": 1").find("/whole_time") != std::string::npos);
  CHECK(refused("\"cycles\": 8", "\"cycles\": 7").find("(iterations - 1) I + L = 8") !=
        std::string::npos);
  CHECK(refused("\"iterations\": 1", "\"iterations\": 0").find("/whole_time/iterations") !=
        std::string::npos);
}

TEST_CASE("a certificate of a time, and lies about it") {
  const TemporaryDirectory folder;
  const Problem problem = fill_against_interval();
  for (const std::string engine : {"order", "time_indexed"}) {
    for (const Cycle n : {1, 2, 5}) {
      Options options;
      options.engine = engine;
      options.iterations = n;
      options.evidence = true;
      const Solution got = solve(problem, options);
      const std::string name = folder / (engine + std::to_string(n));
      write_certificate(name, problem, got);
      const CertificateReport report = check_certificate(name);
      CHECK(report.accepted);
      CHECK(report.proved.back().find("no schedule takes fewer than " +
                                      std::to_string(got.whole_time->cycles) + " cycles") == 0);
      // None of these is proved by what was refuted.
      const auto lie = [&](auto change) {
        Solution liar = got;
        change(liar);
        const std::string place = folder / ("lie-" + engine + std::to_string(n));
        bool accepted = false;
        try {
          write_certificate(place, problem, liar);
          accepted = check_certificate(place).accepted;
        } catch (const InputError&) {
        }
        std::error_code ignored;
        std::filesystem::remove_all(place, ignored);
        return accepted;
      };
      CHECK_FALSE(lie([](Solution& s) { ++s.whole_time->lower_bound; }));
      CHECK_FALSE(lie([&](Solution& s) {  // the smallest I is not the best of one iteration
        s.schedule = solve(problem).schedule;
        s.whole_time->cycles = s.whole_time->lower_bound =
            whole_time(n, s.schedule->initiation_interval, s.schedule->length);
        s.length_lower_bound = s.schedule->length;
        if (n > 2) ++s.schedule->length;
      }));
      if (n == 1) CHECK_FALSE(lie([](Solution& s) { s.whole_time.reset(); }));
    }
  }
}

TEST_CASE("layouts and register splits by their time") {
  for (const Cycle n : {2, 3}) {
    CAPTURE(n);
    Options options;
    options.iterations = n;
    options.threads = 1;
    std::optional<std::pair<Cycle, Cycle>> best;
    const auto layouts = lower_builtin("hopper-fwd-sub2", "hopper");
    for (const Lowered& layout : layouts) {
      const Solution one = solve(layout.problem, options);
      if (!one.schedule) continue;
      const std::pair value(one.whole_time->cycles, one.schedule->initiation_interval);
      if (!best || value < *best) best = value;
    }
    const LayoutsSolution all = solve_layouts(layouts, options);
    REQUIRE(all.status == Status::optimal);
    CHECK(std::pair(all.solution().whole_time->cycles,
                    all.solution().schedule->initiation_interval) == *best);
  }
}

TEST_CASE("what has no time of iterations refuses to be asked") {
  const Problem problem = fill_against_interval();
  const auto refused = [&](Options options) {
    try {
      solve(problem, options);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  Options options;
  options.iterations = -1;
  CHECK(refused(options).find("--iterations") != std::string::npos);
  options.iterations = kMaxIterations + 1;
  CHECK(refused(options).find("--iterations") != std::string::npos);
  options.iterations = 2;
  CHECK(refused(options).empty());
  options.stages = "paper";
  CHECK(refused(options).find("paper's window") != std::string::npos);
  options.stages = "complete";
  options.encoding = "form=straight-line";
  CHECK(refused(options).find("straight-line") != std::string::npos);
  options.encoding = "";
  options.ii = 7;
  const Solution only = solve(problem, options);
  CHECK(*only.whole_time == WholeTime{2, 7 + only.schedule->length, 7 + only.schedule->length});
}

}  // namespace whole_time_test
