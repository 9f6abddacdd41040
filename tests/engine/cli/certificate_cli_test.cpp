// Certificates as a user makes and checks them: `twill solve --certificate`, `twill check`.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/support/run_program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace certificate_cli_test {

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

}  // namespace certificate_cli_test
