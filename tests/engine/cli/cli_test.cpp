// The program as a user runs it: exit codes, files, messages.

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "graph/problem_io.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace fs = std::filesystem;
using twill::test::bytes;
using twill::test::contains;
using twill::test::Run;
using twill::test::run_twill;
using Folder = twill::test::TemporaryDirectory;

namespace {

void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string example(const std::string& name) {
  return std::string(TWILL_TEST_DATA) + "/examples/" + name + ".problem.json";
}

}  // namespace

TEST_CASE("solve a problem file: picture, JSON, schedule file; verify and show it") {
  const Folder folder;
  const Run picture = run_twill("solve " + example("figure-1"));
  CHECK(picture.code == 0);
  CHECK(contains(picture.out, "figure-1: optimal"));
  CHECK(contains(picture.out, "O[n-1]"));

  const Run json = run_twill("solve --json --quiet " + example("figure-1"));
  CHECK(json.code == 0);
  CHECK(is_silent(json));
  const auto schedule = nlohmann::json::parse(json.out);
  CHECK(schedule["initiation_interval"] == 2);
  CHECK(schedule["length"] == 4);
  CHECK(schedule["problem_sha256"] == twill::sha256(bytes(example("figure-1"))));

  const std::string file = folder / "f.schedule.json";
  const Run written = run_twill("solve " + example("figure-1") + " -o " + file);
  CHECK(written.code == 0);
  CHECK(written.out.empty());
  CHECK(folder.entries() == 1);  // the problem is the input: no copy beside it
  const Run verified = run_twill("verify " + example("figure-1") + " " + file);
  CHECK(verified.code == 0);
  CHECK(verified.out == "accepted: I = 2, L = 4\n");
  const char* const beginnings[][2] = {{"text", "figure-1: "},
                                       {"dot", "digraph "},
                                       {"html", "<!DOCTYPE html>"},
                                       {"trace", "{\"displayTimeUnit\""}};
  for (const auto& [format, beginning] : beginnings) {
    CAPTURE(format);
    const std::string show = "show " + example("figure-1") + " " + file + " --format " + format;
    const Run shown = run_twill(show);
    CHECK(shown.code == 0);
    CHECK(shown.err.empty());
    CHECK(shown.out.starts_with(beginning));
    CHECK(run_twill(show + " -o " + (folder / "picture")).out.empty());
    CHECK(bytes(folder / "picture") == shown.out);
  }
}

TEST_CASE("exit code 1: no schedule, refused") {
  const Folder folder;
  const Run none = run_twill("solve " + example("undercount"));
  CHECK(none.code == 1);
  CHECK(contains(none.out, "infeasible"));
  CHECK(contains(none.out, "what clashes"));
  const std::string empty = folder / "none.schedule.json";
  CHECK(run_twill("solve " + example("undercount") + " -o " + empty).code == 1);
  const auto file = nlohmann::json::parse(bytes(empty));
  CHECK(file["status"] == "infeasible");
  CHECK_FALSE(file.contains("ops"));
  CHECK(run_twill("verify " + example("undercount") + " " + empty).code == 1);
  CHECK(run_twill("solve --ii 3 " + example("non-monotone")).code == 1);
  CHECK(run_twill("solve --ii 2 " + example("non-monotone")).code == 0);

  const std::string good = folder / "good.schedule.json";
  REQUIRE(run_twill("solve " + example("figure-1") + " -o " + good).code == 0);
  auto schedule = nlohmann::ordered_json::parse(bytes(good));
  schedule["ops"][1]["start"] = 0;
  put(folder / "bad.json", schedule.dump());
  const Run refused = run_twill("verify " + example("figure-1") + " " + (folder / "bad.json"));
  CHECK(refused.code == 1);
  CHECK(contains(refused.out, "refused: dependence"));
  const Run shown = run_twill("show " + example("figure-1") + " " + (folder / "bad.json"));
  CHECK(shown.code == 0);
  CHECK(contains(shown.err, "not valid"));

  // The same problem in other bytes is another problem.
  put(folder / "other.problem.json", bytes(example("figure-1")) + "\n");
  const Run other = run_twill("verify --json " + (folder / "other.problem.json") + " " + good);
  CHECK(other.code == 1);
  CHECK(nlohmann::json::parse(other.out)["rule"] == "problem_sha256");
}

TEST_CASE("exit code 2: bad input and usage, with the place and what is known") {
  const Folder folder;
  put(folder / "broken.json", "{\"format\": \"twill.problem\", \"version\": 1, \"nmae\": 3}");
  put(folder / "what.json", "{\"format\": \"twill.what\"}");
  put(folder / "half.json", "{\"format\": ");
  const struct {
    std::string arguments, message;
  } cases[] = {
      {"", "subcommand"},
      {"solve", "KERNEL"},
      {"solve nonsense", "fmha-forward"},
      {"solve fmha-forward", "hopper"},
      {"solve fmha-forward --machine nonsense", "hopper-paper"},
      {"solve fmha-forward --machine hopper --layout nonsense", "2x4"},
      {"solve figure-1 --machine figure-1 --set nonsense", "PATH=VALUE"},
      {"solve figure-1 --machine figure-1 --set units.XXX=2", "XXX"},
      {"solve " + example("figure-1") + " --machine hopper", "already on a machine"},
      {"solve " + example("figure-1") + " --stages nonsense", "nonsense"},
      {"solve " + example("figure-1") + " --ii 0", "--ii"},
      {"solve " + example("figure-1") + " --ii two", "two"},
      {"solve " + example("figure-1") + " --memory 12X", "500M"},
      {"solve " + example("figure-1") + " --normalize 0", "--normalize"},
      {"solve " + example("figure-1") + " --json --format dot", "--json"},
      {"solve " + example("figure-1") + " --format png", "png"},
      {"solve " + (folder / "broken.json"), "broken.json"},
      {"solve " + (folder / "what.json"), "twill.kernel or twill.problem"},
      {"solve " + (folder / "half.json"), "half.json"},
      {"verify " + example("figure-1") + " /nonexistent", "/nonexistent"},
      {"verify - -", "standard input"},
      {"kernels --show nonsense", "gemm"},
      {"machines --show nonsense", "hopper"},
  };
  for (const auto& [arguments, message] : cases) {
    CAPTURE(arguments);
    const Run run = run_twill(arguments + " </dev/null");
    CAPTURE(run.err);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(run.err.starts_with("twill: "));
    CHECK(contains(run.err, message));
  }
}

TEST_CASE("nothing is written when something is refused, and no input is overwritten") {
  const Folder folder;
  const std::string out = folder / "out.schedule.json";
  put(out, "old");
  CHECK(run_twill("solve nonsense -o " + out).code == 2);
  CHECK(bytes(out) == "old");
  CHECK(folder.entries() == 1);
  CHECK(run_twill("solve " + example("figure-1") + " -o " + (folder / "missing/x.json")).code == 2);
  CHECK(folder.entries() == 1);
  const std::string input = folder / "x.problem.json";
  put(input, bytes(example("figure-1")));
  CHECK(run_twill("solve " + input + " -o " + input).code == 2);
  CHECK(run_twill("solve --normalize 9 " + input + " -o " + (folder / "x.schedule.json")).code ==
        2);
  CHECK(bytes(input) == bytes(example("figure-1")));
  CHECK(folder.entries() == 2);
}

TEST_CASE("a kernel: lower and solve agree on the problem and its hash") {
  const Folder folder;
  const std::string kernel = "gemm --machine hopper --layout 2x4 --normalize 20";
  REQUIRE(run_twill("lower " + kernel + " -o " + (folder / "a.problem.json")).code == 0);
  const Run solved = run_twill("solve " + kernel + " -o " + (folder / "b.schedule.json"));
  CHECK(solved.code == 0);
  CHECK(contains(solved.err, "layout 2x4: optimal"));
  CHECK(contains(solved.err, "largest ratio error"));
  CHECK(bytes(folder / "a.problem.json") == bytes(folder / "b.problem.json"));
  CHECK(folder.entries() == 3);
  CHECK(run_twill("verify " + (folder / "a.problem.json") + " " + (folder / "b.schedule.json"))
            .code == 0);
  CHECK(run_twill("lower " + kernel).out == bytes(folder / "a.problem.json"));
  const Run again = run_twill("solve " + (folder / "a.problem.json") + " --json");
  auto first = nlohmann::json::parse(bytes(folder / "b.schedule.json"));
  auto second = nlohmann::json::parse(again.out);
  first.erase("solver");
  second.erase("solver");
  CHECK(first == second);
  const Run figure = run_twill("solve figure-1 --machine figure-1 --json --quiet");
  CHECK(nlohmann::json::parse(figure.out)["initiation_interval"] == 2);
  const Run faster = run_twill("solve figure-1 --machine figure-1 --set units.TC=2 --json --quiet");
  CHECK(nlohmann::json::parse(faster.out)["initiation_interval"] == 1);
}

TEST_CASE("rings charged to memory") {
  const Folder folder;
  const std::string kernel =
      "gemm --machine hopper --reading paper --layout 2x4 --set memories.smem.capacity=";
  const std::string charged = folder / "c.problem.json", schedule = folder / "c.schedule.json";
  const Run solved = run_twill("solve " + kernel + "98304 --rings charged -o " + schedule);
  CHECK(solved.code == 0);
  const auto problem = nlohmann::json::parse(bytes(charged));
  CHECK(problem["version"] == 3);
  CHECK(problem["memories"]["smem"]["rings"] == true);
  CHECK(run_twill("verify " + charged + " " + schedule).code == 0);
  CHECK(contains(run_twill("show " + charged + " " + schedule).out, "ring of ld_a: "));
  CHECK(contains(run_twill("show --format html " + charged + " " + schedule).out,
                 "charged to smem at every cycle: ld_a "));
  const Run values = run_twill("evaluate --json " + charged + " " + schedule);
  CHECK(values.code == 0);
  const auto smem = nlohmann::json::parse(values.out)["memories"][0];
  REQUIRE(smem["rings"].size() == 2);
  std::int64_t taken = 0;
  for (const auto& ring : smem["rings"])
    taken += ring["buffers"].get<std::int64_t>() * ring["each"].get<std::int64_t>();
  CHECK(smem["peak"] == taken);  // nothing else is in this memory
  CHECK(contains(run_twill("evaluate " + charged + " " + schedule).out, "    ring of ld_a: "));
  // Live is the reading's default, and the file is as it always was.
  const std::string plain = run_twill("lower " + kernel + "98304").out;
  CHECK(plain == run_twill("lower " + kernel + "98304 --rings live").out);
  CHECK(nlohmann::json::parse(plain)["version"] == 1);
  // One buffer each is too much: no schedule at all, and the rings are named.
  const auto capacity = problem["memories"]["smem"]["capacity"].get<std::int64_t>();
  const std::string less = std::to_string(98304 - capacity + 32767);
  const Run none = run_twill("solve " + kernel + less + " --rings charged");
  CHECK(none.code == 1);
  CHECK(contains(none.out, "ring of ld_a: 1 x 16384 + ring of ld_b: 1 x 16384 = 32768 > 32767"));
  const Run file = run_twill("solve " + charged + " --rings live");
  CHECK(file.code == 2);
  CHECK(contains(file.err, "--rings"));
  const Run straight = run_twill("solve " + charged +
                                 " --engine time_indexed --encoding form=straight-line-literal");
  CHECK(straight.code == 2);
  CHECK(contains(straight.err, "/memories/smem/rings"));
}

TEST_CASE("standard input, decided by content") {
  const Run problem = run_twill("solve - --json <" + example("figure-1"));
  CHECK(problem.code == 0);
  CHECK(nlohmann::json::parse(problem.out)["initiation_interval"] == 2);
  const Folder folder;
  put(folder / "no-ending", run_twill("kernels --show figure-1").out);
  const Run kernel = run_twill("solve - --machine figure-1 --json <" + (folder / "no-ending"));
  CHECK(kernel.code == 0);
  CHECK(run_twill("lower " + (folder / "no-ending") + " --machine figure-1 --quiet").code == 0);
}

TEST_CASE("lists and versions") {
  CHECK(contains(run_twill("kernels").out, "figure-1"));
  CHECK(contains(run_twill("kernels").out, "On blackwell: blackwell-fwd-sub2-chunked"));
  CHECK(contains(run_twill("machines").out, "blackwell-paper"));
  const auto list = nlohmann::json::parse(run_twill("machines --json").out);
  CHECK(list.size() >= 4);
  for (const auto& machine : list) {
    const Run shown = run_twill("machines --show " + machine["name"].get<std::string>());
    CHECK(nlohmann::json::parse(shown.out)["name"] == machine["name"]);
  }
  const Run version = run_twill("--version");
  CHECK(version.code == 0);
  for (const char* name : {"Twill ", "CaDiCaL ", "Boost ", "oneTBB ", "Compiler "}) {
    CHECK(contains(version.out, name));
  }
  CHECK(run_twill("--help").code == 0);
  CHECK(run_twill("solve --help").code == 0);
}

// Until the child runs the program and has installed a handler for the signal, as /proc tells:
// until then it is this test, whose doctest catches signals too, and a program under a sanitizer on
// a busy machine takes its time to come up.
void wait_until_caught(pid_t child, int signal) {
  const std::string folder = "/proc/" + std::to_string(child);
  for (int i = 0; i < 3000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (fs::read_symlink(folder + "/exe") != fs::canonical(TWILL_PROGRAM)) continue;
    const std::string status = bytes(folder + "/status");
    const std::size_t at = status.find("\nSigCgt:\t");
    REQUIRE(at != std::string::npos);
    if (std::stoull(status.substr(at + 9, 16), nullptr, 16) >> (signal - 1) & 1) return;
  }
  FAIL("the program does not catch the signal");
}

TEST_CASE("exit code 3: limits and signals, with the best so far written") {
  const Folder folder;
  // Raw cycles in clauses, one variable a cycle: far more than a second of work.
  const std::string hard = "solve hopper-bwd-sub2 --machine hopper --engine time_indexed --quiet";
  const std::string limited = folder / "limit.schedule.json";
  CHECK(run_twill(hard + " --time-limit 0.5 -o " + limited).code == 3);
  const std::string status = nlohmann::json::parse(bytes(limited))["status"];
  CHECK((status == "feasible" || status == "unknown"));
  CHECK(fs::exists(folder / "limit.problem.json"));

  const std::string stopped = folder / "signal.schedule.json";
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::execl(TWILL_PROGRAM, "twill", "solve", "hopper-bwd-sub2", "--machine", "hopper", "--engine",
            "time_indexed", "--quiet", "-o", stopped.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  wait_until_caught(child, SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ::kill(child, SIGTERM);
  ::kill(child, SIGTERM);  // as `timeout` does: two at once are one request
  int result = 0;
  REQUIRE(::waitpid(child, &result, 0) == child);
  REQUIRE(WIFEXITED(result));
  CHECK(WEXITSTATUS(result) == 3);
  CHECK(nlohmann::json::parse(bytes(stopped))["problem_sha256"] ==
        twill::sha256(bytes(folder / "signal.problem.json")));
}

TEST_CASE("solve --certificate and check") {
  const Folder folder;
  const Run solved = run_twill("solve " + example("undercount-figure-1") + " --quiet --json" +
                               " --certificate " + (folder / "proof"));
  REQUIRE(solved.code == 0);
  CHECK(fs::exists(folder / "proof/manifest.json"));
  const Run good = run_twill("check " + (folder / "proof"));
  CHECK(good.code == 0);
  CHECK(contains(good.out, "proved: no schedule has I < 3: "));
  CHECK(contains(good.out, "accepted: optimal, I = 3, L = "));
  CHECK(contains(good.err, "schedule replayed"));
  const Run json = run_twill("check --json --quiet " + (folder / "proof"));
  CHECK(json.err == "");
  CHECK(nlohmann::json::parse(json.out)["accepted"] == true);

  // Not over something else, and not a part of it.
  const Run again =
      run_twill("solve " + example("figure-1") + " --quiet --certificate " + (folder / "proof"));
  CHECK(again.code == 2);
  CHECK(contains(again.err, "must not exist or be an empty directory"));
  CHECK(folder.entries() == 1);

  std::string schedule = bytes(folder / "proof/schedule.json");
  schedule[schedule.size() / 2] ^= 1;
  put(folder / "proof/schedule.json", schedule);
  const Run bad = run_twill("check " + (folder / "proof"));
  CHECK(bad.code == 1);
  CHECK(contains(bad.out, "refused: schedule.json: its SHA-256 is "));
  fs::remove(folder / "proof/schedule.json");
  CHECK(run_twill("check " + (folder / "proof")).code == 2);
  CHECK(run_twill("check " + (folder / "nothing")).code == 2);
  CHECK(run_twill("solve " + example("figure-1") + " --stages paper --certificate " +
                  (folder / "paper"))
            .code == 2);
}

TEST_CASE("what a search left out stands in all that it says") {
  const struct {
    const char *flags, *only;
  } searches[] = {{"--stages 1", "of at most 1 stage"},
                  {"--ii 7", "at I = 7"},
                  {"--no-handover", "without hand-overs of registers between slots"}};
  for (const auto& [flags, only] : searches) {
    CAPTURE(flags);
    const Folder folder;
    const std::string solve = "solve " + example("stage-gap") + " " + flags;
    const Run text = run_twill(solve + " --certificate " + (folder / "proof"));
    CHECK(contains(text.out, std::string("only schedules ") + only + " were searched\n"));
    CHECK_FALSE(contains(text.out, "possible"));
    CHECK_FALSE(contains(text.out, "no schedule exists at any I"));
    const auto json = nlohmann::json::parse(run_twill(solve + " --json --quiet").out);
    CHECK(json["options"]["searched only"] == only);
    CHECK(contains(run_twill(solve + " --quiet --format html").out,
                   std::string("Only schedules ") + only + " were searched."));
    const Run check = run_twill("check --quiet " + (folder / "proof"));
    CHECK(check.code == 0);
    std::istringstream lines(check.out);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(contains(line, std::string("among schedules ") + only));
    }
    const auto report =
        nlohmann::json::parse(run_twill("check --quiet --json " + (folder / "proof")).out);
    CHECK(report["searched only"] == only);
  }
  // Of smaller intervals than the one asked for nothing was proved.
  CHECK(contains(run_twill("solve --quiet --ii 7 " + example("stage-gap")).out,
                 "I  7 cycles  (lower bound 1)"));
  const Run all = run_twill("solve --quiet " + example("stage-gap"));
  CHECK(contains(all.out, "smallest possible"));
  CHECK_FALSE(contains(all.out, "searched only"));
}

TEST_CASE("every answer has a certificate, and a schedule is there before it") {
  const Folder folder;
  const std::string hostile = std::string(TWILL_TEST_DATA) + "/hostile/";
  // The bound is above the interval at which all ops can run one after the other.
  const Run none = run_twill("solve --quiet " + hostile + "no-room.problem.json --certificate " +
                             (folder / "none"));
  CHECK(none.code == 1);
  CHECK(contains(none.out, "no schedule exists at any I (proved)\n"));
  CHECK_FALSE(contains(none.out, "I is at least"));
  CHECK(run_twill("check " + (folder / "none")).code == 0);
  // Bounds that only pins, lifetimes or long loops have are found a second time, too.
  for (const char* name : {"hang-cycles", "hang-distance", "pinhang", "slow-1", "ub-length"}) {
    CAPTURE(name);
    const std::string proof = folder / name;
    CHECK(run_twill("solve --quiet " + hostile + name + ".problem.json --certificate " + proof)
              .code <= 1);
    CHECK(run_twill("check --quiet " + proof).code == 0);
  }
  // A goal that is named again.
  const Run twice = run_twill("solve --quiet " + hostile +
                              "goal-twice.problem.json --goals start:b,slots,slots,canonical "
                              "--certificate " +
                              (folder / "twice"));
  CHECK(twice.code == 0);
  CHECK(contains(twice.out, "goal canonical: 4 of 4"));
  CHECK(run_twill("check " + (folder / "twice")).code == 0);
  // What cannot be written does not take the schedule with it.
  const Run lost = run_twill("solve --quiet " + example("stage-gap") + " -o " +
                             (folder / "s.json") + " --certificate " + (folder / "absent/proof"));
  CHECK(lost.code == 2);
  CHECK(run_twill("verify " + example("stage-gap") + " " + (folder / "s.json")).code == 0);
}

TEST_CASE("certificates where a later layout wins, and where a search is stopped") {
  const Folder folder;
  int stopped = 0, later = 0;
  for (int limit = 8; limit <= 8192; limit *= 2) {
    CAPTURE(limit);
    const std::string proof = folder / std::to_string(limit);
    const Run solved = run_twill("solve hopper-fwd-plain --machine blackwell --json --threads 1" +
                                 std::string(" --conflict-limit ") + std::to_string(limit) +
                                 " --certificate " + proof);
    stopped += solved.code == 3 ? 1 : 0;
    later += contains(solved.err, "best: layout 8+4-wide") ? 1 : 0;
    const auto schedule = nlohmann::json::parse(solved.out);
    std::string accepted = "accepted: " + schedule["status"].get<std::string>();
    if (schedule.contains("length"))
      accepted +=
          ", I = " + schedule["initiation_interval"].dump() + ", L = " + schedule["length"].dump();
    const Run checked = run_twill("check " + proof);
    CHECK(checked.code == 0);
    CHECK(contains(checked.out, accepted + "\n"));
    if (limit < 8192) continue;
    CHECK(solved.code == 0);
    CHECK(contains(solved.err, "layout 8+4: optimal, I = 2305"));
    CHECK(contains(solved.err, "layout compute-reduce: no schedule is better than I = 1921"));
    CHECK(contains(accepted, "optimal, I = 1921"));
  }
  CHECK(stopped > 2);
  CHECK(later > 1);
}

TEST_CASE("solve --registers auto: the split is shown, and its problem is written") {
  const Folder folder;
  const std::string file = folder / "a.schedule.json", problem = folder / "a.problem.json";
  const std::string kernel = "solve blackwell-fwd-plain --machine blackwell --registers ";
  const Run split = run_twill(kernel + "auto --quiet --format text -o " + file + " --certificate " +
                              (folder / "proof"));
  CHECK(split.code == 0);
  CHECK(contains(split.out, "Register split (setmaxnreg), chosen; 128 a thread at launch"));
  CHECK(contains(split.out, "  load + mma + aux: 24 gross, 0 net\n"));
  const auto schedule = nlohmann::json::parse(bytes(file));
  CHECK(schedule["initiation_interval"] == 1472);  // 1728 with the machine file's counts
  CHECK(schedule["options"]["registers"] == "auto");
  CHECK(schedule["options"].contains("setmaxnreg softmax0"));
  CHECK(schedule["problem_sha256"] == twill::sha256(bytes(problem)));
  CHECK(run_twill("verify " + problem + " " + file).code == 0);
  const auto again = nlohmann::json::parse(run_twill("solve --json --quiet " + problem).out);
  CHECK(again["initiation_interval"] == 1472);
  CHECK(again["length"] == schedule["length"]);
  const Run checked = run_twill("check " + (folder / "proof"));
  CHECK(checked.code == 0);
  CHECK(contains(checked.out, "proved: no register split has a schedule with I < 1472, nor one "));
  CHECK(contains(checked.out, "proved: with 240 of load + mma + aux, 240 of softmax0, "));

  const auto fixed = nlohmann::json::parse(run_twill(kernel + "machine --json --quiet").out);
  CHECK(fixed["initiation_interval"] == 1728);
  const Run file_given = run_twill("solve " + problem + " --registers auto");
  CHECK(file_given.code == 2);
  CHECK(contains(file_given.err, "--registers: found auto: a problem file has its counts already"));
  const Run no_file = run_twill("solve figure-1 --machine figure-1 --registers auto");
  CHECK(no_file.code == 2);
  CHECK(contains(no_file.err, "/register_file"));
  CHECK(run_twill(kernel + "some").code == 2);
}

// Of several layouts later ones are only asked for something better, which the form does not have.
TEST_CASE("solve with the straight-line program: several layouts, and what it refuses") {
  const std::string form = " --encoding form=straight-line";
  const Run layouts = run_twill("solve figure-1 --machine blackwell --quiet --json" + form);
  CHECK(layouts.code == 0);
  CHECK(nlohmann::json::parse(layouts.out)["status"] == "optimal");
  const Run refused = run_twill("solve figure-1 --machine figure-1 --no-handover" + form);
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "--no-handover: found form=straight-line"));
  CHECK(refused.out.empty());
}

TEST_CASE("solve --goals") {
  const Run run = run_twill("solve " + example("undercount-figure-1") +
                            " --quiet --json --goals slots,registers");
  CHECK(run.code == 0);
  const auto goals = nlohmann::json::parse(run.out)["goals"];
  REQUIRE(goals.size() == 2);
  CHECK(goals[0]["name"] == "slots");
  CHECK(goals[1]["name"] == "registers");
  for (const auto& goal : goals) CHECK(goal["value"] == goal["lower_bound"]);
  const Run standard =
      run_twill("solve " + example("figure-1") + " --quiet --json --goals default");
  CHECK(nlohmann::json::parse(standard.out)["goals"].size() == 4);
  const Run wrong = run_twill("solve " + example("figure-1") + " --quiet --goals slots,beauty");
  CHECK(wrong.code == 2);
  CHECK(contains(wrong.err, "--goals: found beauty: must be one of slots, "));
}

TEST_CASE("pins") {
  const Folder folder;
  const std::string path = folder / "x.schedule.json";
  const Run run =
      run_twill("solve " + example("figure-1") + " --pin S@3 --same-slot P,O --quiet -o " + path +
                " --certificate " + (folder / "proof"));
  CHECK(run.code == 0);
  const auto problem = nlohmann::json::parse(bytes(folder / "x.problem.json"));
  CHECK(problem["version"] == 2);
  CHECK(problem["pins"].dump() == R"([{"cycle":3,"op":"S"},{"op":"P","same_warp_as":"O"}])");
  CHECK(nlohmann::json::parse(bytes(path))["ops"][0]["start"] == 3);
  CHECK(run_twill("verify " + (folder / "x.problem.json") + " " + path).code == 0);
  CHECK(run_twill("check " + (folder / "proof")).code == 0);
  // It is a schedule of the problem without pins, too, and refused where it breaks others.
  const Run open = run_twill("evaluate " + example("figure-1") + " " + path + " --sensitivity");
  CHECK(open.code == 0);
  CHECK(contains(open.out, "optimum: I = 2, L = 4 (proved)"));
  CHECK(contains(open.out, "critical recurrence of these orders: 2 cycles over 1 iteration"));
  CHECK(contains(open.out, "  S 1: 1 to 1 (1)\n"));
  const Run broken = run_twill("evaluate " + example("figure-1") + " " + path + " --pin O@3");
  CHECK(broken.code == 1);
  CHECK(contains(broken.out, "refused: pin: "));

  const Run none = run_twill("solve " + example("figure-1") + " --pin S@4 --pin P@3");
  CHECK(none.code == 1);
  CHECK(contains(none.out, "S at cycle 4\n    P at cycle 3\n"));
  const Run why = run_twill("explain " + example("figure-1") + " --pin S@0 --pin O@4 --ii 2");
  CHECK(contains(why.out, "  S at cycle 0\n  O at cycle 4\n  unit TC (1) at residue 0: S + O;"));
  const auto refused = [](const std::string& arguments, const std::string& message) {
    const Run wrong = run_twill("solve " + example("figure-1") + " " + arguments);
    CHECK(wrong.code == 2);
    CHECK_MESSAGE(contains(wrong.err, message), wrong.err);
  };
  refused("--pin S=w9", "--pin: found w9: must name a slot of the problem: w0");
  refused("--pin X@3",
          "--pin: found X@3: must have the form op=slot or op@cycle, op one of S, P, O");
  refused("--pin S@-1", "--pin: found S@-1: the cycle must be a number from 0 to 1000000000");
  refused("--pin S@1 --pin S@2", "/pins/1/op: found \"S\": an op may be pinned to one cycle");
  refused("--same-slot S", "--same-slot: found S: must have the form op,op");
  refused("--forbid S@3", "--forbid: found S@3: must have the form op=slot");
  refused("--pin S@1 --stages paper", "--stages: found paper: the paper's window knows no pins");
}

TEST_CASE("explain") {
  const Run run = run_twill("explain " + example("undercount-figure-1"));
  CHECK(run.code == 0);
  CHECK(contains(run.out, "undercount-figure-1: I = 2 cannot be reached (proved)\n"));
  CHECK(contains(run.out, "  registers of w1 at residue 0: S 100 + P 60 + O 80 = 240 > 180\n"));
  CHECK(contains(run.out, "forced by\n  S -1-> P -1-> O\n"));
  CHECK(contains(run.out,
                 "enough alone, a schedule was found and verified\n  one more slot like w1\n"));
  const Run json = run_twill("explain --json --ii 1 " + example("figure-1"));
  CHECK(nlohmann::json::parse(json.out)["clash"].size() == 1);
  CHECK(contains(run_twill("explain --ii 2 " + example("figure-1")).out, "I = 2 can be reached"));
  const Run none = run_twill("explain " + example("undercount"));
  CHECK(none.code == 0);
  CHECK(contains(none.out, "undercount: no schedule at any I (proved)\n"));
  CHECK(contains(none.out, "  registers of w1: 2 x v 1 = 2 > 1\nforced by\n  v -1-> u\n"));
  CHECK(contains(none.out, "verified\n  16 more registers on w1: I = 2\n"));
  CHECK(run_twill("explain --ii 0 " + example("figure-1")).code == 2);
}

TEST_CASE("explain with the register split chosen") {
  const std::string kernel =
      "explain blackwell-fwd-plain --machine blackwell --layout "
      "softmax-correction --registers ";
  const Run machine = run_twill(kernel + "machine");
  CHECK(contains(machine.out, "I = 1727 cannot be reached"));
  const Run best = run_twill(kernel + "auto");
  CHECK(best.code == 0);
  CHECK(contains(best.out, "I = 1471 cannot be reached (proved)"));
  CHECK(contains(best.out, "register split"));
  CHECK(run_twill("explain --registers auto " + example("figure-1")).code == 2);
}

TEST_CASE("explain --certificate: every answer has its proof") {
  const Folder directory;
  int checked = 0;
  for (const char* name : {"undercount-figure-1", "figure-1", "undercount"}) {
    CAPTURE(name);
    const std::string path = directory / name;
    CHECK(run_twill("explain --certificate " + path + " " + example(name)).code == 0);
    const auto said = nlohmann::json::parse(bytes(path + "/explanation.json"));
    CHECK(said["verdict"] == "unsat");
    CHECK(said["certificate"] == "question");
    std::vector<std::pair<std::string, std::string>> answers = {{"question", "unsat"}};
    for (const auto& change : said["relaxations"])
      answers.emplace_back(change["certificate"], change["verdict"]);
    for (const auto& [answer, verdict] : answers) {
      const Run check = run_twill("check " + path + "/" + answer);
      CHECK_MESSAGE(check.code == 0, check.err);
      const auto schedule = nlohmann::json::parse(bytes(path + "/" + answer + "/schedule.json"));
      const bool reached =
          schedule.contains("ops") &&
          (!said.contains("initiation_interval") ||
           schedule["initiation_interval"].get<int>() <= said["initiation_interval"].get<int>());
      CHECK(reached == (verdict == "sat"));
      ++checked;
    }
    CHECK(run_twill("explain --certificate " + path + " " + example(name)).code == 2);
  }
  CHECK(checked > 12);
}

TEST_CASE("a channel that binds: solve, evaluate, explain, verify, check") {
  const Folder folder;
  auto file = nlohmann::ordered_json::parse(bytes(example("figure-1")));
  file["version"] = 4;
  file["channels"] = {{"bus", {7, 2}}, {"quiet", 1}};
  file["ops"][0]["traffic"] = {{"bus", 16}};
  file["ops"][2]["traffic"] = {{"bus", {1, 3}}};
  const std::string problem = folder / "p.problem.json", schedule = folder / "s.schedule.json";
  put(problem, file.dump(2));
  const Run solved =
      run_twill("solve " + problem + " -o " + schedule + " --certificate " + (folder / "c"));
  CHECK(solved.code == 0);
  const Run checked = run_twill("check " + (folder / "c"));
  CHECK(checked.code == 0);
  CHECK(contains(checked.out, "no schedule has I < 5: channel: bus: 16 + 1/3 at 7/2 a cycle"));
  const Run evaluated = run_twill("evaluate " + problem + " " + schedule);
  CHECK(evaluated.code == 0);
  CHECK(contains(evaluated.out,
                 "channels\n  bus: busy 93.3 %, binds\nbounds on I\n"
                 "  5  channel: bus: 16 + 1/3 at 7/2 a cycle: at least 5 cycles\n"));
  const auto json =
      nlohmann::json::parse(run_twill("evaluate --json " + problem + " " + schedule).out);
  REQUIRE(json["channels"].size() == 1);
  CHECK(json["channels"][0]["name"] == "bus");
  CHECK(json["channels"][0]["least"] == 5);
  CHECK(json["channels"][0]["text"] == "16 + 1/3 at 7/2 a cycle");
  CHECK(json["channels"][0]["busy"].get<double>() == doctest::Approx(49.0 / 3 / 17.5));
  const Run explained = run_twill("explain " + problem);
  CHECK(contains(explained.out, "channel bus: 16 + 1/3 at 7/2 a cycle: at least 5 cycles"));
  CHECK(contains(explained.out,
                 "enough alone, a schedule was found and verified\n"
                 "  twice the rate of channel bus\n"));
  auto faster = nlohmann::ordered_json::parse(bytes(schedule));
  faster["initiation_interval"] = 4;
  put(folder / "fast.json", faster.dump());
  const Run refused = run_twill("verify " + problem + " " + (folder / "fast.json"));
  CHECK(refused.code == 1);
  CHECK(contains(refused.out, "refused: channel: channel bus: an iteration moves"));
  file["channels"]["bus"] = {7, 0};
  put(problem, file.dump(2));
  const Run bad = run_twill("solve " + problem);
  CHECK(bad.code == 2);
  CHECK(contains(bad.err, "/channels/bus/1: found 0: must be an integer from 1 to"));
}

TEST_CASE("nest: a loop in a loop, its certificate, the same unrolled") {
  const Folder folder;
  const std::string command = "nest " + std::string(TWILL_TEST_DATA) +
                              "/nested/gemm-persistent.kernel.json" +
                              " --machine hopper --normalize none --quiet --times 4"
                              " --inner ld_a,alloc_a,ld_b,alloc_b,trans_b,mma";
  const Run nested =
      run_twill(command + " -o " + (folder / "n") + " --certificate " + (folder / "c"));
  CHECK(nested.code == 0);
  CHECK(nested.out.starts_with(
      "inner loop: optimal, I = 512, L = 1368; 4 trips: 2904 cycles a run\n"
      "outer loop, for this schedule of the inner one: optimal, I = 2304, L = 5912, layout 2x4\n"));
  CHECK(run_twill("verify " + (folder / "n.problem.json") + " " + (folder / "n.schedule.json"))
            .code == 0);
  CHECK(run_twill("check " + (folder / "c")).code == 0);
  CHECK(run_twill("solve " + (folder / "n.problem.json")).code == 0);
  // A part that leaves its offset.
  std::string moved = bytes(folder / "n.schedule.json");
  const std::size_t at = moved.find("\"start\": ", moved.find("\"id\": \"inner.wg0\""));
  REQUIRE(at != std::string::npos);
  moved.insert(at + 9, "1");
  put(folder / "m.schedule.json", moved);
  const Run refused =
      run_twill("verify " + (folder / "n.problem.json") + " " + (folder / "m.schedule.json"));
  CHECK(refused.code == 1);
  CHECK(refused.out.find("inner loop: inner loop inner: ") != std::string::npos);
  const Run flat = run_twill(command + " --flat");
  CHECK(flat.code == 0);
  CHECK(flat.out.starts_with("unrolled 4 times: optimal, I = 2304, L = 5465, layout 2x4\n"));
  const Run json = run_twill(command + " --json");
  CHECK(nlohmann::json::parse(json.out).at("schedule").at("initiation_interval") == 2304);
  CHECK(nlohmann::json::parse(json.out).at("inner").at("initiation_interval") == 512);
  CHECK(run_twill(command + ",nothing").code == 2);
  CHECK(run_twill(command + " --times 0").code == 2);
}

TEST_CASE("evaluate and diff") {
  const Folder folder;
  const std::string problem = example("figure-1");
  REQUIRE(run_twill("solve " + problem + " --quiet -o " + (folder / "a.json")).code == 0);
  REQUIRE(run_twill("solve " + problem + " --quiet --ii 3 -o " + (folder / "b.json")).code == 0);
  const Run best = run_twill("evaluate " + problem + " " + (folder / "a.json"));
  CHECK(best.code == 0);
  CHECK(contains(best.out, "  TC: busy 100.0 %\n"));
  CHECK(contains(best.out, "optimum: this is one (proved)\n"));
  const Run slower = run_twill("evaluate --json " + problem + " " + (folder / "b.json"));
  const auto json = nlohmann::json::parse(slower.out);
  CHECK(json["initiation_interval"] == 3);
  CHECK(json["optimum"]["initiation_interval"] == 2);
  CHECK(json["optimum"]["gap"].get<double>() == doctest::Approx(1.0 / 3));
  CHECK(contains(run_twill("evaluate " + problem + " " + (folder / "b.json")).out,
                 "the schedule gives away 33.3 % of its time\n"));

  const Run same =
      run_twill("diff " + problem + " " + (folder / "a.json") + " " + (folder / "a.json"));
  CHECK(same.code == 0);
  CHECK(contains(same.out, "the schedules are the same\n"));
  const Run other =
      run_twill("diff " + problem + " " + (folder / "a.json") + " " + (folder / "b.json"));
  CHECK(other.code == 1);
  CHECK(contains(other.out, "I: 2 -> 3\n"));

  // What the judge refuses is evaluated as far as that has a meaning, and never compared.
  std::string broken = bytes(folder / "a.json");
  const std::size_t at = broken.find("\"start\": 3");
  REQUIRE(at != std::string::npos);
  broken.replace(at, 10, "\"start\": 0");
  put(folder / "broken.json", broken);
  const Run refused = run_twill("evaluate " + problem + " " + (folder / "broken.json"));
  CHECK(refused.code == 1);
  CHECK(contains(refused.out, "refused: dependence: "));
  CHECK(contains(refused.out, "I = 2, L = 4\n"));
  CHECK(contains(refused.out, "  TC: busy 100.0 %\n"));
  CHECK(contains(refused.out, "optimum: I = 2, L = 4 (proved)\n"));
  CHECK_FALSE(contains(refused.out, "critical recurrence"));
  CHECK_FALSE(contains(refused.out, "gives away"));
  const Run values =
      run_twill("evaluate --json --no-optimum --quiet " + problem + " " + (folder / "broken.json"));
  CHECK(values.code == 2);  // it has no --quiet
  const auto said = nlohmann::json::parse(
      run_twill("evaluate --json --no-optimum " + problem + " " + (folder / "broken.json")).out);
  CHECK(said["accepted"] == false);
  CHECK(said["violations"][0]["rule"] == "length");
  CHECK(said["violations"][1]["rule"] == "dependence");
  CHECK(said["units"].size() == 2);
  CHECK_FALSE(said.contains("optimum"));
  CHECK_FALSE(json.contains("accepted"));
  CHECK(run_twill("evaluate --sensitivity " + problem + " " + (folder / "broken.json")).code == 1);
  CHECK(run_twill("diff " + problem + " " + (folder / "a.json") + " " + (folder / "broken.json"))
            .code == 2);
}

TEST_CASE("verify lists all that is wrong, in words and as JSON") {
  const Folder folder;
  const std::string problem = example("figure-1"), file = folder / "a.json";
  REQUIRE(run_twill("solve " + problem + " --quiet -o " + file).code == 0);
  auto schedule = nlohmann::ordered_json::parse(bytes(file));
  // All ops at once: both dependences are broken, and the two products meet on the Tensor Core.
  for (auto& op : schedule["ops"]) op["start"] = 0;
  put(folder / "bad.json", schedule.dump());
  const std::string arguments = problem + " " + (folder / "bad.json");
  const auto json = nlohmann::json::parse(run_twill("verify --json " + arguments).out);
  CHECK(json["accepted"] == false);
  std::multiset<std::string> rules;
  std::string lines;
  for (const auto& violation : json["violations"]) {
    rules.insert(violation["rule"].get<std::string>());
    lines += "refused: " + violation["rule"].get<std::string>() + ": " +
             violation["text"].get<std::string>() + "\n";
  }
  CHECK(rules.count("length") == 1);
  CHECK(rules.count("dependence") == 2);
  CHECK(rules.count("capacity") == 1);
  CHECK(json["rule"] == json["violations"][0]["rule"]);
  CHECK(json["text"] == json["violations"][0]["text"]);
  const Run text = run_twill("verify " + arguments);
  CHECK(text.code == 1);
  CHECK(text.out == lines);
  for (const char* name : {"S", "P", "O", "TC"}) CHECK(contains(text.out, name));
  // evaluate says the same of it.
  CHECK(contains(run_twill("evaluate " + arguments).out, lines));
}

TEST_CASE("program: a listing, a file, verify; of a problem with its schedule and of a kernel") {
  const Folder folder;
  const std::string problem = folder / "p.problem.json", schedule = folder / "p.json",
                    program = folder / "p.program.json";
  REQUIRE(run_twill("solve hopper-fwd-sub2 --machine hopper --quiet -o " + schedule).code == 0);
  const Run listed = run_twill("program " + problem + " " + schedule);
  CHECK(listed.code == 0);
  CHECK(is_silent(listed));
  for (const char* part : {"program of hopper-fwd-sub2: I = 2048", "the schedule is optimal",
                           "judged: no race, wrong version, deadlock or overrun at any trip count",
                           "prologue", "epilogue", "wait ld_k[", "channels", "smem: ",
                           "waits an iteration, on barriers", "nothing\nhere can be executed"})
    CHECK_MESSAGE(contains(listed.out, part), part);
  REQUIRE(run_twill("program " + problem + " " + schedule + " -o " + program).code == 0);
  CHECK(run_twill("program " + problem + " " + schedule + " --json").out == bytes(program));
  const Run alone = run_twill("verify " + program);
  CHECK(alone.code == 0);
  CHECK(contains(alone.out, "accepted: I = 2048, right at every trip count"));
  const Run beside = run_twill("verify " + problem + " " + schedule + " " + program);
  CHECK(beside.code == 0);
  CHECK(contains(beside.out, "the program is of this schedule"));

  // A wait less, and a program that says something else than its schedule.
  auto json = nlohmann::ordered_json::parse(bytes(program));
  auto less = json;
  for (auto& slot : less["slots"])
    for (auto& op : slot["ops"]) op.erase("waits");
  put(folder / "less.json", less.dump(2));
  const Run refused = run_twill("verify --json " + (folder / "less.json"));
  CHECK(refused.code == 1);
  const auto answer = nlohmann::json::parse(refused.out);
  CHECK(answer["accepted"] == false);
  CHECK(!answer["witness"].empty());
  auto other = json;
  other["lower_bound"] = 1;
  put(folder / "other.json", other.dump(2));
  CHECK(run_twill("verify " + problem + " " + schedule + " " + (folder / "other.json")).code == 1);
  other = json;
  other["initiation_interval"] = 2049;
  put(folder / "other.json", other.dump(2));
  const Run slower =
      run_twill("verify " + problem + " " + schedule + " " + (folder / "other.json"));
  CHECK(slower.code == 1);
  CHECK(contains(slower.out, "I = 2049, the schedule's is 2048"));
  json["version"] = 7;
  put(folder / "new.json", json.dump(2));
  CHECK(run_twill("verify " + (folder / "new.json")).code == 2);
  CHECK(run_twill("verify " + problem).code == 2);
  CHECK(run_twill("verify " + program + " " + schedule).code == 2);
  CHECK(run_twill("program " + problem + " " + problem).code == 2);

  // Solved first; where the first schedule has no room another one is looked for.
  const Run solved = run_twill("program blackwell-bwd-sub2 --machine blackwell --quiet");
  CHECK(solved.code == 0);
  CHECK(contains(solved.out, "the first schedule found had no room for its program"));
  CHECK(contains(solved.out, "the schedule is optimal"));
}

TEST_CASE("run: a kernel, its program file, and a program that was made wrong") {
  const Folder folder;
  const std::string program = folder / "p.program.json";
  const Run kernel = run_twill("run hopper-fwd-sub2 --machine hopper --quiet --iterations 3");
  CHECK(kernel.code == 0);
  CHECK(is_silent(kernel));
  for (const char* part : {"run of hopper-fwd-sub2: n = 3, I = 2048",
                           "late: ", "eager: ", "random 2: ", "s0_O ", "s1_LSE ", "right\n"})
    CHECK_MESSAGE(contains(kernel.out, part), part);
  REQUIRE(run_twill("program hopper-fwd-sub2 --machine hopper --quiet -o " + program).code == 0);
  CHECK(run_twill("verify " + program).code == 0);
  // The same program, the same numbers.
  CHECK(run_twill("run " + program + " --iterations 3").out == kernel.out);
  CHECK(run_twill("run " + program + " --iterations 3 --seed 9").out != kernel.out);
  // No iteration: an empty row.
  const Run none = run_twill("run --json --iterations 0 --orders 0 " + program);
  CHECK(none.code == 0);
  const auto empty = nlohmann::json::parse(none.out);
  CHECK(empty["right"] == true);
  CHECK(empty["runs"].size() == 2);
  CHECK(empty["runs"][0]["outputs"][0]["largest_error"] == 0);
  CHECK(empty["runs"][0]["outputs"][0]["numbers"] == 64 * 128);

  // Without its waits it reads what is not there; without its barriers' arrivals it hangs.
  auto json = nlohmann::ordered_json::parse(bytes(program));
  auto less = json;
  for (auto& slot : less["slots"])
    for (auto& op : slot["ops"]) op.erase("waits");
  put(folder / "less.json", less.dump(2));
  const Run wrong = run_twill("run " + (folder / "less.json") + " --iterations 3");
  CHECK(wrong.code == 1);
  CHECK(contains(wrong.out, "numbers are wrong"));
  CHECK(contains(wrong.out, "the judge refuses it: "));
  CHECK(contains(wrong.out, "wrong\n"));
  // A wait less that no order shows by itself: the witness of the judge does.
  bool replayed = false;
  for (std::size_t slot = 0; slot < json["slots"].size() && !replayed; ++slot)
    for (std::size_t op = 0; op < json["slots"][slot]["ops"].size() && !replayed; ++op) {
      auto one = json;
      if (!one["slots"][slot]["ops"][op].contains("waits")) continue;
      one["slots"][slot]["ops"][op]["waits"].erase(0);
      put(folder / "one.json", one.dump(2));
      const Run run = run_twill("run --json --iterations 3 --orders 1 " + (folder / "one.json"));
      CHECK(run.code == 1);
      const auto answer = nlohmann::json::parse(run.out);
      CHECK(!answer["refused"]["witness"].empty());
      replayed = contains(answer["runs"].back()["order"].get<std::string>(), " kept back until ");
    }
  CHECK(replayed);
  auto deaf = json;
  for (auto& event : deaf["events"])
    if (event.contains("barrier")) event["barrier"]["arrivals"] = 2;
  put(folder / "deaf.json", deaf.dump(2));
  const Run hung = run_twill("run --json " + (folder / "deaf.json") + " --iterations 3");
  CHECK(hung.code == 1);
  CHECK(nlohmann::json::parse(hung.out)["runs"][0]["fault"] == "hang");

  // What says nothing of its ops, or something else, is not executed.
  auto mute = json;
  mute.erase("meaning");
  put(folder / "mute.json", mute.dump(2));
  const Run silent = run_twill("run " + (folder / "mute.json"));
  CHECK(silent.code == 2);
  CHECK(contains(silent.err, "it does not say what its ops compute"));
  auto other = json;
  other["meaning"]["ops"].erase(other["meaning"]["ops"].size() - 1);
  put(folder / "other.json", other.dump(2));
  CHECK(run_twill("run " + (folder / "other.json")).code == 2);
  CHECK(run_twill("run " + program + " --machine hopper").code == 2);
  CHECK(run_twill("run " + program + " --iterations -1").code == 2);
  CHECK(run_twill("run hopper-gla --machine hopper --quiet").code == 2);
}

namespace {

using Json = nlohmann::ordered_json;

/// "" = `value` has the shape that a schema of ours gives it: keys, types, constants; else where
/// not.
std::string unlike(const Json& value, const Json& rules, const Json& schema,
                   const std::string& at) {
  if (rules.contains("$ref"))
    return unlike(value, schema.at(Json::json_pointer(rules["$ref"].get<std::string>().substr(1))),
                  schema, at);
  if (rules.contains("const")) return value == rules["const"] ? "" : at;
  if (rules.contains("enum")) {
    for (const Json& one : rules["enum"])
      if (one == value) return "";
    return at;
  }
  const auto is = [&](const std::string& type) {
    return type == "object"    ? value.is_object()
           : type == "array"   ? value.is_array()
           : type == "string"  ? value.is_string()
           : type == "boolean" ? value.is_boolean()
           : type == "integer" ? value.is_number_integer()
           : type == "null"    ? value.is_null()
                               : type == "number" && value.is_number();
  };
  const Json& type = rules.at("type");
  bool right = false;
  for (const Json& one : type.is_array() ? type : Json::array({type}))
    right = right || is(one.get<std::string>());
  if (!right) return at;
  if (rules.contains("minimum") && value.get<double>() < rules["minimum"].get<double>()) return at;
  if (value.is_array())
    for (std::size_t k = 0; k < value.size(); ++k)
      if (auto no = unlike(value[k], rules.at("items"), schema, at + "/" + std::to_string(k));
          !no.empty())
        return no;
  if (!value.is_object()) return "";
  for (const Json& key : rules.at("required"))
    if (!value.contains(key.get<std::string>())) return at + " without " + key.get<std::string>();
  for (const auto& [key, one] : value.items()) {
    if (!rules.at("properties").contains(key)) return at + "/" + key;
    if (auto no = unlike(one, rules["properties"][key], schema, at + "/" + key); !no.empty())
      return no;
  }
  return "";
}

std::string unlike_schema(const std::string& text, const std::string& name) {
  const Json schema =
      Json::parse(bytes(TWILL_TEST_DATA "/../../graph/schema/" + name + ".schema.json"));
  return unlike(Json::parse(text), schema, schema, "/");
}

}  // namespace

TEST_CASE("run --time: beside I, with costs of barriers, varied, as a trace") {
  const Folder folder;
  const Run run = run_twill("run figure-1 --machine figure-1 --quiet --time --runs 5");
  CHECK(run.code == 0);
  CHECK(is_silent(run));
  for (const char* part : {"time of figure-1: n = 100, I = 2", "2 clocks an iteration, exactly I",
                           "units in the order of arrival (no turns)", "nothing is known: 0",
                           "costs varied, 5 runs of seed 0"})
    CHECK_MESSAGE(contains(run.out, part), part);
  const std::string kernel = "run hopper-fwd-sub2 --machine hopper --quiet --time ";
  const Run slow = run_twill(kernel + "--runs 0 --iterations 40");
  CHECK(contains(slow.out,
                 "more than I: the schedule's order on units that slots share is not kept"));
  const Run json =
      run_twill(kernel + "--json --runs 8 --iterations 30 --wait-cost 20 --arrive-cost 9");
  CHECK(json.code == 0);
  CHECK(unlike_schema(json.out, "time") == "");
  const auto answer = Json::parse(json.out);
  CHECK(answer["orders"].size() == 2);
  CHECK(answer["orders"][0]["varied"]["runs"] == 8);
  CHECK(run_twill(kernel + "--json --runs 8 --iterations 30 --wait-cost 20 --arrive-cost 9").out ==
        json.out);
  const Run free = run_twill(kernel + "--json --runs 0 --iterations 30");
  CHECK(unlike_schema(free.out, "time") == "");
  CHECK(Json::parse(free.out)["orders"][0]["steady"]["clocks"] == 2048);
  CHECK(Json::parse(free.out)["orders"][0]["total"] < answer["orders"][0]["total"]);
  for (const char* n : {"0", "1", "3"})
    CHECK(unlike_schema(run_twill(kernel + "--json --iterations " + n).out, "time") == "");

  const std::string trace = folder / "t.json";
  for (const char* turns : {"schedule", "arrival"}) {
    CHECK(
        run_twill(kernel + "--runs 0 --iterations 10 --trace " + trace + " --trace-order " + turns)
            .code == 0);
    const auto events = Json::parse(bytes(trace))["traceEvents"];
    const auto issued = std::count_if(events.begin(), events.end(), [](const Json& e) {
      return e["ph"] != "M" && e["pid"] == 2 && e["name"] == "s0_qk";
    });
    CHECK(issued == 10);
  }

  // A program's file has no costs; options of time need it.
  const std::string program = folder / "p.json";
  REQUIRE(run_twill("program figure-1 --machine figure-1 --quiet -o " + program).code == 0);
  const Run none = run_twill("run --time " + program);
  CHECK(none.code == 2);
  CHECK(contains(none.err, "a program file has no costs"));
  CHECK(run_twill("run figure-1 --machine figure-1 --quiet --wait-cost 3").code == 2);
  CHECK(run_twill("run figure-1 --machine figure-1 --quiet --time --spread 101").code == 2);
  CHECK(run_twill("run hopper-bwd --machine hopper --quiet --time --runs 100000").code == 2);

  const Run numbers =
      run_twill("run hopper-fwd-sub2 --machine hopper --quiet --json --iterations 2");
  CHECK(unlike_schema(numbers.out, "run") == "");
  auto json_program =
      Json::parse(run_twill("program hopper-fwd-sub2 --machine hopper --quiet --json").out);
  for (auto& slot : json_program["slots"])
    for (auto& op : slot["ops"]) op.erase("waits");
  put(folder / "less.json", json_program.dump());
  const Run wrong = run_twill("run --json --iterations 2 " + (folder / "less.json"));
  CHECK(wrong.code == 1);
  CHECK(unlike_schema(wrong.out, "run") == "");
}
