// The program as a user runs it: exit codes, files, messages.

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "graph/problem_io.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace cli_test {

namespace fs = std::filesystem;
using twill::test::bytes;
using twill::test::contains;
using twill::test::put;
using twill::test::Run;
using twill::test::run_twill;
using Folder = twill::test::TemporaryDirectory;

namespace {

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
      {"solve " + example("figure-1") + " --ii 2 --ii-range 3..5",
       "--ii: found 2: must be in the range 3..5 of --ii-range"},
      {"solve " + example("figure-1") + " --ii-range 5..3", "--ii-range: found 5..3"},
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
  CHECK(first["made_by"]["machine"] == "hopper");  // which a problem does not say
  CHECK(first["version"] == 2);
  CHECK(second["version"] == 1);
  for (const char* key : {"made_by", "version"}) {
    first.erase(key);
    second.erase(key);
  }
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

TEST_CASE("version 2: what made it, across layouts, one more slot, side by side") {
  const Folder folder;
  const std::string kernel = "solve gemm --machine hopper --normalize 20 --quiet ";
  REQUIRE(run_twill(kernel + "--set units.SFU=2 -o " + (folder / "a.schedule.json")).code == 0);
  const auto file = nlohmann::json::parse(bytes(folder / "a.schedule.json"));
  CHECK(file["version"] == 2);
  CHECK(file["made_by"]["machine"] == "hopper");
  CHECK(file["made_by"]["settings"] == nlohmann::json::array({"units.SFU=2"}));
  CHECK(file["made_by"]["options"]["normalize"] == "20");
  CHECK_FALSE(contains(bytes(folder / "a.problem.json"), "made_by"));
  const std::string pair = (folder / "a.problem.json") + " " + (folder / "a.schedule.json");
  for (const char* format : {"text", "html", "dot", "svg", "trace"})
    CHECK(contains(run_twill("show " + pair + " --format " + format).out,
                   "machine hopper, layout " + file["made_by"]["layout"].get<std::string>() +
                       ", units.SFU=2"));
  CHECK(run_twill("verify " + pair).code == 0);
  // Of a problem file alone nobody knows: version 1, as ever.
  CHECK(contains(run_twill("solve " + (folder / "a.problem.json") + " --quiet --json").out,
                 "\"version\": 1,"));

  const Run goals = run_twill(
      "solve fmha-forward --machine hopper --normalize 20 --goals "
      "slots,handovers --length-slack 4 -o " +
      (folder / "g.json"));
  CHECK(goals.code == 0);
  CHECK(contains(goals.err, "best by its goals: layout "));
  CHECK(contains(goals.err, ": slots = "));
  std::string slack = bytes(folder / "g.json");
  CHECK(contains(slack, "\"length_slack\": {\n    \"cycles\": 4,"));
  const std::string both = (folder / "g.problem.json") + " " + (folder / "g.json");
  CHECK(run_twill("verify " + both).code == 0);
  const auto json = nlohmann::json::parse(slack);
  const std::string claimed = "\"at_most\": " + json["length_slack"]["at_most"].dump();
  slack.replace(slack.find(claimed), claimed.size(),
                "\"at_most\": " + std::to_string(json["length"].get<int>() - 1));
  put(folder / "g.json", slack);
  const Run beyond = run_twill("verify " + both);
  CHECK(beyond.code == 1);
  CHECK(contains(beyond.out, "refused: length slack: "));

  // One more warpgroup: the problem has a slot more, and its schedule file says why.
  const Run more = run_twill("lower gemm --machine hopper --layout 2x4 --more wg0");
  const Run less = run_twill("lower gemm --machine hopper --layout 2x4");
  REQUIRE(more.code == 0);
  auto with = nlohmann::json::parse(more.out), without = nlohmann::json::parse(less.out);
  REQUIRE(with["warps"].size() == without["warps"].size() + 1);
  auto slot = with["warps"].back();
  CHECK(slot["name"] == "wg0-more");
  with["warps"].erase(with["warps"].size() - 1);
  CHECK(with == without);
  slot["name"] = "wg0";
  CHECK(std::count(without["warps"].begin(), without["warps"].end(), slot) == 1);
  const Run told = run_twill(
      "solve gemm --machine hopper --layout 2x4 --more wg0 --more wg0 --quiet "
      "--json");
  CHECK(nlohmann::json::parse(told.out)["made_by"]["options"]["more"] == "wg0, wg0");
  const Run nobody = run_twill("solve gemm --machine hopper --layout 2x4 --more wg7 --quiet");
  CHECK(nobody.code == 2);
  CHECK(contains(nobody.err, "must be a slot of the layout: "));
  CHECK(run_twill("solve gemm --machine hopper --more wg0 --registers auto --quiet").code == 2);

  const Run page = run_twill("diff " + example("figure-1") + " - - --format html");
  CHECK(page.code == 2);
  REQUIRE(run_twill("solve " + example("figure-1") + " --quiet -o " + (folder / "x.json")).code ==
          0);
  REQUIRE(run_twill("solve " + example("figure-1") + " --quiet --ii 3 -o " + (folder / "y.json"))
              .code == 0);
  const std::string two =
      example("figure-1") + " " + (folder / "x.json") + " " + (folder / "y.json");
  const Run beside = run_twill("diff " + two + " --format html");
  CHECK(beside.code == 1);
  CHECK(contains(beside.out, "figure-1, two schedules"));
  CHECK(run_twill("diff " + two + " -o " + (folder / "page.html")).code == 2);
  CHECK(run_twill("diff " + two + " --format html -o " + (folder / "page.html")).code == 1);
  CHECK(bytes(folder / "page.html") == beside.out);
}

TEST_CASE("the pictures of pages are what the program draws now") {
  // twill solve fmha-forward --machine hopper --quiet --format svg
  //   > engine/examples/fmha-forward-hopper.svg
  const Run now = run_twill("solve fmha-forward --machine hopper --quiet --format svg");
  CHECK(now.code == 0);
  CHECK(now.out ==
        bytes(std::string(TWILL_TEST_DATA) + "/../../engine/examples/fmha-forward-hopper.svg"));
  CHECK(contains(bytes(std::string(TWILL_TEST_DATA) + "/../../README.md"),
                 "](engine/examples/fmha-forward-hopper.svg)"));
  // twill solve fmha-backward --machine blackwell --quiet --format svg > bench/results/machine.svg
  const Run backward = run_twill("solve fmha-backward --machine blackwell --quiet --format svg");
  CHECK(backward.out == bytes(std::string(TWILL_TEST_DATA) + "/../../bench/results/machine.svg"));
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

TEST_CASE("mistyped names are told with the nearest right one; what cannot be written says why") {
  const auto said = [](const std::string& line) {
    const Run run = run_twill(line);
    CHECK(run.code == 2);
    return run.err;
  };
  CHECK(contains(said("sovle x"), "\"sovle\" is no command of twill; did you mean solve?"));
  CHECK(contains(said("solve --mashine hopper"), "did you mean --machine?"));
  CHECK(contains(said("solve gemm --machine hoper"), "did you mean hopper?"));
  CHECK(contains(said("solve gem --machine hopper"), "did you mean gemm?"));
  for (const char* line :
       {"solve no/such.json", "solve no/such.json --tiles auto --machine hopper"})
    CHECK(contains(said(line), "\"no/such.json\": must be a file that exists, or a built-in"));
  const Run full = run_twill("solve --quiet " + example("figure-1") + " -o /dev/full");
  CHECK(full.code == 2);
  CHECK(contains(full.err, "/dev/full: cannot be written: No space left on device"));
  // What was solved is not lost.
  CHECK(nlohmann::json::parse(full.out)["initiation_interval"] == 2);
  const std::string figure = "figure-1 --machine figure-1 --quiet";
  const Run program = run_twill("program " + figure + " -o /dev/full");
  CHECK(program.code == 2);
  CHECK(nlohmann::json::parse(program.out)["format"] == "twill.program");
  const Run kernel = run_twill("emit gemm --machine hopper --quiet --to gluon -o /dev/full");
  CHECK(kernel.code == 2);
  CHECK(contains(kernel.out, "def gemm"));
  const Run nest = run_twill("nest " + figure + " --inner P --times 2 -o /no/such/folder/n");
  CHECK(nest.code == 2);
  CHECK(nlohmann::json::parse(nest.out)["format"] == "twill.schedule");
  for (const char* line :
       {"encodings > /dev/full", "kernels > /dev/full", "encodings --json > /dev/full"}) {
    const Run lost = run_twill(line);
    CHECK(lost.code == 2);
    CHECK(contains(lost.err, "standard output: cannot be written: No space left on device"));
  }
}

}  // namespace cli_test
