// solve --tiles as a user runs it: the table, the schedule, the certificate, what is refused.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "graph/problem_io.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace tiles_cli_test {

using twill::test::bytes;
using twill::test::contains;
using twill::test::Run;
using twill::test::run_twill;
using Folder = twill::test::TemporaryDirectory;

namespace {

const std::string kMlp = "solve hopper-mlp-tiles --machine hopper --quiet ";

}  // namespace

TEST_CASE("solve --tiles auto: table, JSON, schedule and problem, certificate") {
  const Folder folder;
  const std::string file = folder / "a.schedule.json", problem = folder / "a.problem.json";
  const Run run =
      run_twill(kMlp + "--tiles auto -o " + file + " --certificate " + (folder / "proof"));
  CHECK(run.code == 0);
  CHECK(contains(run.out, "Tiles: 16 combinations, 64 choices with their layouts: optimal"));
  CHECK(contains(run.out, "best: rows=64 hidden=128 model=128 T=bf16, layout 2x4"));
  CHECK(contains(run.out, "I / work = 7/12288"));
  CHECK(contains(run.out, ", the default"));
  CHECK(contains(run.out, "Ragged ends are not counted"));
  const auto schedule = nlohmann::json::parse(bytes(file));
  CHECK(schedule["initiation_interval"] == 1792);
  CHECK(schedule["options"]["tile hidden"] == "128");
  CHECK(schedule["options"]["tile T"] == "bf16");
  CHECK(schedule["problem_sha256"] == twill::sha256(bytes(problem)));
  CHECK(run_twill("verify " + problem + " " + file).code == 0);
  const Run checked = run_twill("check " + (folder / "proof"));
  CHECK(checked.code == 0);
  CHECK(
      contains(checked.out, "proved: no choice of 64 has a smaller I / work than 1792 / 3145728"));
  CHECK(contains(checked.out, "accepted: optimal, I = 1792, L = 3928"));
  CHECK(contains(checked.err, "64 choices lowered again"));

  const Run json = run_twill(kMlp + "--tiles auto --json");
  const auto all = nlohmann::json::parse(json.out);
  CHECK(all["format"] == "twill.tiles");
  CHECK(all["choices"].size() == 64);
  CHECK(all["work_unit"] == "MACs");
  CHECK(contains(all["note"], "Ragged ends"));
  const auto& best = all["choices"][all["best"].get<std::size_t>()];
  CHECK(best["closed"] == "best");
  CHECK(best["values"]["rows"] == "64");
  CHECK(best["work"] == 3145728);
  CHECK(all["schedule"]["length"] == 3928);
}

TEST_CASE("--tiles with values: fixed ones alone, or with auto; --type") {
  const auto ii = [](const std::string& options) {
    const Run run = run_twill(kMlp + options + " --json");
    CHECK(run.code == 0);
    const auto json = nlohmann::json::parse(run.out);
    return json.contains("schedule") ? json["schedule"]["initiation_interval"].get<int>()
                                     : json["initiation_interval"].get<int>();
  };
  CHECK(ii("") == 2177);  // hopper-mlp
  CHECK(ii("--tiles hidden=32") == 1089);
  CHECK(ii("--tiles rows=64,hidden=128") == 1792);
  CHECK(ii("--tiles auto,rows=128") == 3265);
  CHECK(ii("--tiles rows=128 --tiles auto --type f16") == 3265);
  CHECK(ii("--tiles auto,model=64 --type T=f16 --registers auto") > 0);
  const Run plain = run_twill(kMlp + "--tiles hidden=32 --json");
  CHECK(nlohmann::json::parse(plain.out)["options"]["tile hidden"] == "32");
  const Run lowered =
      run_twill("lower fmha-forward-tiles --machine hopper --quiet --tiles keys=176");
  CHECK(lowered.code == 0);
  CHECK(contains(lowered.out, "\"name\": \"hopper-forward-tiles\""));
  const Run explained =
      run_twill("explain hopper-mlp-tiles --machine hopper --tiles hidden=32 --layout 1x8");
  CHECK(explained.code == 0);
}

TEST_CASE("--tiles: limits, and what is refused with its place") {
  const Run stopped = run_twill(
      "solve fmha-backward-tiles --machine hopper --tiles auto --conflict-limit 1 --quiet");
  CHECK(stopped.code == 3);
  CHECK(contains(stopped.out, "stopped by: conflict limit"));
  CHECK(contains(stopped.out, " open"));
  const std::pair<const char*, const char*> refused[] = {
      {"solve gemm --machine hopper --tiles auto", "the kernel has no parameters to choose"},
      {"solve gemm --machine hopper --tiles m=64", "the kernel has no parameters"},
      {"solve gemm --machine hopper --type f8", "--type: found \"f8\": the kernel has no element"},
      {"lower hopper-mlp-tiles --machine hopper --tiles auto", "only `solve` chooses tiles"},
      {"explain hopper-mlp-tiles --machine hopper --tiles auto", "only `solve` chooses tiles"},
      {"solve hopper-mlp-tiles --machine hopper --tiles auto,7",
       "--tiles: found \"7\": must be NAME=VALUE"},
      {"solve hopper-mlp-tiles --machine hopper --tiles rows=7",
       "/parameters/rows: found \"7\": must be one of: 64, 128"},
      {"solve hopper-mlp-tiles --machine hopper --tiles cols=7",
       "no such parameter; the kernel has: rows, hidden, model, T"},
      {"solve hopper-mlp-tiles --machine hopper --type f8", "must be one of: bf16, f16"},
      {"solve fmha-forward-tiles --machine hopper --tiles rows=64,subtiles=3",
       "/where: found a condition that is not met"},
      {"solve hopper-mlp-tiles --machine hopper --tiles auto --normalize 300",
       "tiles are compared in clocks"},
      {"solve hopper-mlp-tiles --machine hopper --tiles auto --ii 300",
       "one interval says nothing of tiles"},
      {"solve hopper-mlp-tiles --machine hopper --tiles auto --stages paper", "must be complete"},
      {"solve hopper-mlp-tiles --machine hopper --tiles auto --layout nine", "no such layout"},
      {"solve hopper-mlp-tiles --tiles auto", "a kernel needs a machine"},
  };
  for (const auto& [command, rule] : refused) {
    const Run run = run_twill(command);
    CAPTURE(std::string(command));
    CAPTURE(run.err);
    CHECK(run.code == 2);
    CHECK(contains(run.err, rule));
  }
  const std::string example = std::string(TWILL_TEST_DATA) + "/examples/figure-1.problem.json";
  const Run problem = run_twill("solve " + example + " --tiles auto");
  CHECK(problem.code == 2);
  CHECK(contains(problem.err, "only a kernel file has tiles to choose"));
  CHECK(run_twill("solve " + example + " --tiles m=2").code == 2);
  const Folder folder;
  const Run pinned = run_twill(kMlp + "--tiles auto --pin h1=wg01 --layout 1x8 --certificate " +
                               (folder / "proof"));
  CHECK(pinned.code == 2);
  CHECK(contains(pinned.err, "pins must be in the kernel file"));
  CHECK(folder.entries() == 0);
  CHECK(run_twill(kMlp + "--tiles auto --pin h1=wg01 --layout 1x8").code == 0);
}

}  // namespace tiles_cli_test
