// The program keeps its limits: what grows with cycles, distances, segments or pins is answered all
// the same, or ends with code 3 and says what stopped it. Every run is bounded in time and memory.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "graph/random.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/temporary_directory.hpp"

namespace limits_test {

using twill::test::bytes;
using twill::test::contains;
using twill::test::kSanitized;
using twill::test::Run;
using Folder = twill::test::TemporaryDirectory;

namespace {

/// `twill ARGUMENTS` with at most so much address space (the sanitizers need more) and time.
Run bounded(const std::string& arguments, int mebibytes, int seconds) {
  const std::string space =
      kSanitized ? "" : "ulimit -v " + std::to_string(1024 * mebibytes) + "; ";
  return twill::test::run_command(space + "timeout " + std::to_string(seconds) + " '" +
                                  TWILL_PROGRAM + "' " + arguments);
}

double seconds_of(const std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string hostile(const std::string& name) {
  return std::string(TWILL_TEST_DATA) + "/hostile/" + name + ".problem.json";
}

/// So many ops, each longer than the last search step, whose formula takes gigabytes.
std::string big_problem(const Folder& folder, int ops, std::int64_t most_cycles) {
  twill::SplitMix64 random(7);
  nlohmann::ordered_json problem = {{"format", "twill.problem"},
                                    {"version", 1},
                                    {"name", "big"},
                                    {"units", {{"u0", 1}, {"u1", 2}, {"u2", 1}}},
                                    {"memories", {{"m", 3 * ops}}}};
  problem["warps"] = {{{"name", "w0"}, {"width", 4}, {"registers", 4 * ops}},
                      {{"name", "w1"}, {"width", 4}, {"registers", 4 * ops}}};
  problem["ops"] = nlohmann::ordered_json::array();
  problem["edges"] = nlohmann::ordered_json::array();
  const auto up_to = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(most));
  };
  for (int i = 0; i < ops; ++i) {
    const std::string id = "o" + std::to_string(i), unit = "u" + std::to_string(up_to(3) - 1);
    const std::int64_t cycles = up_to(most_cycles);
    problem["ops"].push_back({{"id", id},
                              {"cycles", cycles},
                              {"reservation", {{unit, {{0, cycles, 1}}}}},
                              {"registers", up_to(4)},
                              {"spill", up_to(3)}});
    for (int k = 0; k < 2 && i > 0; ++k)
      problem["edges"].push_back({{"from", "o" + std::to_string(up_to(i) - 1)},
                                  {"to", id},
                                  {"delay", up_to(most_cycles)},
                                  {"distance", 0},
                                  {"blocking", up_to(10) == 1}});
  }
  std::string path = folder / "big.problem.json";
  std::ofstream(path) << problem.dump();
  return path;
}

}  // namespace

TEST_CASE("problems whose cycles, distances, segments or pins are large are solved") {
  struct Case {
    std::string name;
    int code;
    std::string ii, length;
  };
  const Case cases[] = {
      {"hang-cycles", 0, "I  1 cycle ", "L  1000000000 cycles "},
      {"slow-1", 0, "I  8 cycles ", "L  1000000002 cycles "},
      {"manysegs", 0, "I  10001 cycles ", "L  20000 cycles "},
      {"hang-distance", 0, "I  1 cycle ", "L  9993 cycles "},
      {"ub-length", 0, "I  5 cycles ", "L  49991 cycles "},
      {"pinhang", 1, "no schedule", ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const Folder folder;
    const std::string file = folder / "out.schedule.json";
    const Run run = bounded("solve " + hostile(c.name), 1500, 60);
    CHECK(run.code == c.code);
    CHECK(contains(run.out, c.ii));
    CHECK(contains(run.out, c.length));
    CHECK(run.out.size() < 2'000'000);
    if (c.code != 0) continue;
    CHECK(contains(run.out, "optimal"));
    REQUIRE(bounded("solve " + hostile(c.name) + " -o " + file, 1500, 60).code == 0);
    CHECK(bounded("verify " + hostile(c.name) + " " + file, 1500, 60).code == 0);
    for (const std::string format : {"text", "dot", "html", "trace"}) {
      CAPTURE(format);
      const Run shown =
          bounded("show " + hostile(c.name) + " " + file + " --format " + format, 1500, 60);
      CHECK(shown.code == 0);
      CHECK(shown.out.size() < 30'000'000);
    }
  }
}

// Of 900 ops all that comes before a formula takes two minutes.
constexpr int kFewer = 300;

TEST_CASE("a limit is kept, named and no proof") {
  const Folder folder;
  const std::string big = big_problem(folder, kSanitized ? 300 : 900, 1000);
  SUBCASE("time") {
    const auto begin = std::chrono::steady_clock::now();
    const Run run = bounded("solve " + big + " --quiet --time-limit 2", 6000, 120);
    if (!kSanitized) CHECK(seconds_of(begin) < 40);  // of a machine with much else to do
    CHECK(run.code == 3);
    CHECK(contains(run.out, "stopped by the time limit"));
    CHECK_FALSE(contains(run.out, "stages searched"));
  }
  SUBCASE("memory") {
    big_problem(folder, kFewer, 1000);
    // What is measured is what is resident; some more may be asked for at once.
    const Run run = bounded("solve " + big + " --memory 60M", 900, 400);
    CHECK(run.code == 3);
    CHECK(contains(run.out, "stopped by the memory limit"));
    CHECK(contains(run.err, "stopped by the memory limit, 60 MiB"));
    const Run json = bounded("solve " + big + " --memory 10 --json --quiet", 900, 240);
    CHECK(json.code == 3);
    const auto solution = nlohmann::json::parse(json.out);
    CHECK(solution["status"] == "unknown");
    CHECK(solution["options"]["stopped by"] == "memory limit");
    std::ofstream(folder / "stopped.schedule.json") << json.out;
    const Run shown = bounded("show " + big + " " + (folder / "stopped.schedule.json"), 900, 60);
    CHECK(contains(shown.out, "stopped by the memory limit"));
  }
  SUBCASE("every cycle a variable") {
    const std::string long_ops = big_problem(folder, 12, 1'000'000'000);
    const auto begin = std::chrono::steady_clock::now();
    const Run run =
        bounded("solve " + long_ops + " --engine time_indexed --quiet --time-limit 0.5", 8000, 60);
    CHECK(run.code == 3);
    CHECK(contains(run.out, "stopped by the "));
    if (!kSanitized) CHECK(seconds_of(begin) < 40);
    // More than fits is not begun: no time passes, whatever there is.
    const Run small = bounded("solve " + long_ops + " --engine time_indexed --memory 1G", 3000, 60);
    CHECK(small.code == 3);
    CHECK(contains(small.out, "stopped by the memory limit"));
  }
  SUBCASE("what the system refuses") {
    if (kSanitized) return;
    big_problem(folder, kFewer, 1000);
    const Run run = bounded("solve " + big + " --quiet --memory 0", 200, 400);
    CHECK(run.code == 3);
    CHECK(contains(run.out + run.err, "memory"));
  }
}

TEST_CASE("an interval below the bound is refused by the bound, whatever the cycles") {
  const Folder folder;
  const std::string loop = folder / "loop.problem.json";
  std::ofstream(loop) << R"({"format":"twill.problem","version":1,"name":"loop",
    "units":{"u":1000000000000},"memories":{},
    "warps":[{"name":"w","width":1,"registers":8}],
    "ops":[{"id":"a","cycles":1000000000,"reservation":{"u":[[0,1000000000,1]]}},
           {"id":"b","cycles":1}],
    "edges":[{"from":"a","to":"b","delay":1000000000,"distance":0},
             {"from":"b","to":"a","delay":500,"distance":1}]})";
  const Run run = bounded("solve " + loop + " --ii 3", 1500, 60);
  CHECK(run.code == 1);
  CHECK(contains(run.out, "no schedule has I = 3 (proved); I is at least 1000000500"));
  CHECK(contains(run.out, "by the recurrence bound: a -> b -> a"));
  CHECK_FALSE(contains(run.out, "clashes"));
  const Run best = bounded("solve " + loop, 1500, 60);
  CHECK(best.code == 0);
  CHECK(contains(best.out, "I  1000000500 cycles "));
}

TEST_CASE("a terminal that closes is a stop like any other") {
  const Folder folder;
  const std::string big = big_problem(folder, kSanitized ? 200 : 700, 1000);
  const std::string out = folder / "out.json";
  const Run run = twill::test::run_command(
      "sh -c \"'" + std::string(TWILL_PROGRAM) + "' solve '" + big + "' --json --quiet > '" + out +
      "' & p=\\$!; sleep 2; kill -HUP \\$p; wait \\$p; exit \\$?\"");
  CHECK(run.code == 3);
  CHECK(nlohmann::json::parse(bytes(out))["options"]["stopped by"] == "stopped");
}

#ifdef TWILL_WITH_BENCH
TEST_CASE("two runs do not write one file of rows") {
  const Folder folder;
  const std::string rows = folder / "rows.jsonl";
  const int file = ::open(rows.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  REQUIRE(file >= 0);
  REQUIRE(::flock(file, LOCK_EX | LOCK_NB) == 0);
  const Run run = bounded("bench run --quick --resume -o " + rows, 4000, 60);
  CHECK(run.code == 2);
  CHECK(contains(run.err, "another run is writing this file"));
  CHECK(folder.entries() == 1);  // no instances were made
  ::close(file);
}
#endif

}  // namespace limits_test
