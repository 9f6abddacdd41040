// Programs as a user makes, runs and emits them: `twill program`, `run`, `verify`, `emit`.

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "tests/support/run_program.hpp"
#include "tests/support/temporary_directory.hpp"

namespace program_cli_test {

using twill::test::bytes;
using twill::test::contains;
using twill::test::put;
using twill::test::Run;
using twill::test::run_twill;
using Folder = twill::test::TemporaryDirectory;

TEST_CASE("several iterations in one: solve, program, run, emit") {
  const Folder folder;
  const std::string loop = " blackwell-fwd-plain --machine blackwell --unroll 2";
  const Run solved = run_twill("solve" + loop + " -o " + (folder / "s.json"));
  CHECK(solved.code == 0);
  CHECK(run_twill("verify " + (folder / "s.problem.json") + " " + (folder / "s.json")).code == 0);
  const Run shown = run_twill("solve" + loop + " --quiet");
  CHECK(contains(shown.out, "I  2560 cycles"));
  CHECK(contains(shown.out, "of 2 iterations, 1280 cycles each"));
  CHECK(contains(run_twill("program" + loop).out, "i1_exp_p[i"));
  CHECK(contains(run_twill("run" + loop + " --iterations 3").out, "right"));
  const Run emitted = run_twill("emit" + loop + " -o " + (folder / "k.py"));
  CHECK(emitted.code == 0);
  CHECK(contains(bytes(folder / "k.py"), "blackwell-fwd-plain unrolled 2 times on blackwell"));
  // A pin names a copy; what says nothing of copies is refused.
  CHECK(run_twill("solve" + loop + " --layout softmax-correction --pin i0_exp_p=softmax1 --quiet")
            .code == 0);
  CHECK(run_twill("solve" + loop + " --layout softmax-correction --pin exp_p=softmax1 --quiet")
            .code == 2);
  CHECK(run_twill("solve" + loop + " --unroll 65").code == 2);
  CHECK(run_twill("solve" + loop + " --tiles auto").code == 2);
  const std::string module =
      " " TWILL_TEST_DATA "/../../graph/kernels/triton/hopper-attention-forward.ttgir";
  CHECK(run_twill("solve" + module + " --unroll 2 --quiet").code == 0);
  CHECK(run_twill("solve" + module + " --unroll 2 --emit ttgir").code == 2);
}

TEST_CASE("an op of a module that nobody knows is named before a program or a kernel fails by it") {
  const Folder folder;
  std::string module = bytes(TWILL_TEST_DATA "/ttgir/gemm-masked-hopper.ttgir");
  for (std::size_t at = 0; (at = module.find("tt.load", at)) != std::string::npos;)
    module.replace(at, 7, "tt.lod");
  put(folder / "odd.ttgir", module);
  for (const std::string command : {"solve ", "program ", "run ", "emit "}) {
    const std::string out = command == "run " ? "" : " -o " + (folder / "out");
    const Run said = run_twill(command + (folder / "odd.ttgir") + out);
    CHECK(said.code == 1);
    CHECK(contains(said.err, "warning: unknown op tt.lod (line 85, column"));
  }
  CHECK_FALSE(contains(run_twill("run " + (folder / "odd.ttgir") + " --quiet").err, "unknown op"));
}

TEST_CASE("emit: a left factor that is stored to shared memory is said, and can be kept") {
  const std::string emit =
      "emit " TWILL_TEST_DATA
      "/../../graph/kernels/triton/hopper-attention-backward.ttgir --conflict-limit 5000";
  const std::string stored = "gl.allocate_shared_memory(gl.float16, [128, 64]";
  const Run either = run_twill(emit);
  CHECK(either.code == 0);
  CHECK(contains(either.err, "(--left-factors memory); in registers I = 33"));
  CHECK(contains(either.out, stored));
  const Run kept = run_twill(emit + " --left-factors registers");
  CHECK(kept.code == 0);
  CHECK_FALSE(contains(kept.err, "--left-factors"));
  CHECK_FALSE(contains(kept.out, stored));
  CHECK(run_twill(emit + " --left-factors shared").code == 2);

  // On 1 x 8 warps each warp has the whole of dQ's left factor.
  std::string text =
      bytes(TWILL_TEST_DATA "/../../graph/kernels/triton/hopper-attention-backward.ttgir");
  const std::string warps = "warpsPerCTA = [4, 2]";
  REQUIRE(text.find(warps) != std::string::npos);
  text.replace(text.find(warps), warps.size(), "warpsPerCTA = [1, 8]");
  const Folder folder;
  const std::string whole = folder / "whole.ttgir";
  put(whole, text);
  CHECK(contains(run_twill("emit " + whole + " --conflict-limit 5000").err,
                 "(--left-factors memory); in registers it has no schedule (proved)"));
  CHECK(contains(run_twill("solve " + whole + " --conflict-limit 5000").err,
                 "twill: with --left-factors memory: I = 32"));
  CHECK(contains(run_twill("solve " + whole + " --resident-registers 125").err,
                 "one can with: --left-factors memory"));
}

TEST_CASE("emit: that a kernel of sub-tiles is faster is said, with the option for it") {
  const std::string module =
      " " TWILL_TEST_DATA "/../../graph/kernels/triton/hopper-attention-forward.ttgir";
  const std::string offer = "--subtile M=2 makes it faster: I = 2048, not 2729\n";
  const Run emitted = run_twill("emit" + module);
  CHECK(emitted.code == 0);
  CHECK(contains(emitted.err, offer));
  const Run quiet = run_twill("emit" + module + " --quiet");
  CHECK(quiet.err == "");
  CHECK(quiet.out == emitted.out);  // what is written is what was asked for
  CHECK_FALSE(contains(run_twill("emit" + module + " --subtile M=2").err, "faster"));
  const std::string gemm =
      " " TWILL_TEST_DATA "/../../graph/kernels/triton/hopper-gemm-persistent.ttgir";
  const Run bound = run_twill("emit" + gemm);
  CHECK(bound.code == 0);
  CHECK_FALSE(contains(bound.err, "faster"));
}

TEST_CASE("run: of a module whose outer loop is the default, the loop whose meaning is known") {
  const std::string module =
      " " TWILL_TEST_DATA "/../../graph/kernels/triton/blackwell-gemm-persistent.ttgir";
  const Run run = run_twill("run" + module);
  CHECK(run.code == 0);
  CHECK(contains(run.err, "loop 1 of the module is run (--loop)"));
  CHECK(run.out == run_twill("run" + module + " --loop 1").out);
  CHECK(run_twill("run" + module + " --loop 0").code == 2);  // who asks for a loop gets it
}

TEST_CASE(
    "a mask of a tile is used where it is made: in memory it would be larger than it is charged") {
  const std::string module =
      " " TWILL_TEST_DATA "/ttgir/masked-attention-hopper.ttgir --conflict-limit 3000";
  const Run run = run_twill("run" + module);
  CHECK(run.code == 0);
  CHECK(contains(run.out, "right"));
  const auto program = nlohmann::json::parse(run_twill("program" + module + " --json").out);
  // (What satisfies that satisfies the problem as it is, whose bound stays.)
  CHECK(program["status"] == "feasible");
  CHECK(program["lower_bound"] <= program["initiation_interval"]);
  CHECK(program.contains("meaning"));
}

TEST_CASE("a search that a limit ends: the program of the best so far, and what is open") {
  // (Without a limit 6 CPU s; unrolled more than a minute.)
  const std::string module = " " TWILL_TEST_DATA "/ttgir/convolution-depthwise-hopper.ttgir";
  const Run limited = run_twill("program" + module + " --conflict-limit 1000");
  CHECK(limited.code == 0);
  CHECK(contains(limited.err,
                 "twill: stopped by the conflict limit: I = 676, proved the least; "
                 "L = "));
  CHECK(contains(limited.err, " (no limit: --conflict-limit 0)\n"));
  CHECK(run_twill("program" + module + " --conflict-limit 1000 --quiet").err == "");
  const Run timed = run_twill("program" + module + " --unroll 2 --time-limit 8");
  // (A slow build may have come to no program by then, or no schedule, and says so.)
  if (timed.code == 1)
    CHECK(contains(timed.err, "; the time was over before all schedules were tried"));
  else
    CHECK(contains(timed.err, timed.code == 0 ? "twill: stopped by the time limit: I = "
                                              : "no schedule found: stopped by the time limit"));
  // Nothing is left open: nothing is said.
  CHECK_FALSE(contains(run_twill("program gemm --machine hopper").err, "stopped"));
  CHECK(contains(run_twill("emit --help").out, "--conflict-limit INT=50000"));
  CHECK(contains(run_twill("solve --help").out, "--conflict-limit INT=0"));
}

TEST_CASE("where there is no schedule, or no room for a kernel, other ways are tried and named") {
  const std::string blocks = " " TWILL_TEST_DATA "/ttgir/fp8-blocks-blackwell.ttgir";
  const std::string none = "it has no schedule as it is (proved)";
  const Run run = run_twill("run" + blocks);
  CHECK(run.code == 0);
  CHECK(contains(run.err, none + ": made with --registers auto\n"));
  CHECK(contains(run.out, "right"));
  CHECK(run_twill("run" + blocks + " --registers auto").code == 0);
  // Who asks for the machine file's registers gets no others.
  CHECK(run_twill("run" + blocks + " --registers machine").code == 1);
  const std::string swiglu = " " TWILL_TEST_DATA "/ttgir/swiglu-hopper.ttgir";
  const Run emitted = run_twill("emit" + swiglu);
  CHECK(emitted.code == 0);
  // (With tiles handed on behind the loop there is one as it is.)
  CHECK_FALSE(contains(emitted.err, "made with"));
  CHECK(contains(emitted.out, "every I = 1024 cycles"));
  // A schedule is of the registers that its problem has; several loops share theirs.
  const Run both = run_twill("emit hopper-fwd-sub2 s.json --registers auto");
  CHECK(both.code == 2);
  CHECK(contains(both.err, "does not go with a schedule"));
  const Run several = run_twill("emit " TWILL_TEST_DATA
                                "/ttgir/attention-causal-two-loops-hopper.ttgir --registers auto");
  CHECK(several.code == 2);
  CHECK(contains(several.err, "which share their registers"));
}

TEST_CASE("-o - is standard output, and no file of that name") {
  const std::string program = "program figure-1 --machine figure-1 --quiet ";
  CHECK(run_twill(program + "-o -").out == run_twill(program + "--json").out);
  CHECK(run_twill("emit gemm --machine hopper --quiet -o -").out ==
        run_twill("emit gemm --machine hopper --quiet").out);
  CHECK(::access("-", F_OK) != 0);
}

TEST_CASE("emit: that turns make a kernel faster by a replay is said, if so") {
  const std::string kernel = "emit hopper-fwd-sub2 --machine hopper ";
  const Run emitted = run_twill(kernel);
  REQUIRE(emitted.code == 0);
  const std::regex said(
      "replayed in time it takes ([0-9]+) clocks an iteration, with --turns ([0-9]+) \\(I = "
      "2048\\)\n");
  std::smatch numbers;
  REQUIRE(std::regex_search(emitted.err, numbers, said));
  // As `twill run --time` has both.
  const std::string timed = "run hopper-fwd-sub2 --machine hopper --time --runs 0 --json --quiet ";
  for (const auto& [options, number] : {std::pair("", 1), std::pair("--turns", 2)}) {
    const auto order = nlohmann::json::parse(run_twill(timed + options).out)["orders"][1];
    CHECK(std::abs(order["middle"].get<double>() -
                   std::stod(numbers[static_cast<std::size_t>(number)])) < 2);
  }
  CHECK(run_twill(kernel + "--quiet").out == emitted.out);
  CHECK_FALSE(contains(run_twill(kernel + "--turns").err, "replayed"));
  CHECK_FALSE(contains(run_twill("emit gemm --machine hopper").err, "replayed"));
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

TEST_CASE("run: other inputs where an error within its bound decides what is the largest") {
  const std::string module = " " TWILL_TEST_DATA "/ttgir/best-expert-hopper.ttgir";
  const Run run = run_twill("run" + module + " --iterations 7 --orders 0 --quiet");
  CHECK(run.code == 0);
  CHECK(contains(run.out, "inputs of seed 1 (with those of 0 something is not known)"));
  const auto json = nlohmann::json::parse(
      run_twill("run" + module + " --iterations 7 --orders 0 --quiet --json").out);
  CHECK(json.at("seed") == 1);
  CHECK(json.at("seeds_passed_over") == 1);
  // Where all is known, the seed is the one asked for.
  const Run other = run_twill("run" + module + " --iterations 6 --orders 0 --seed 3 --quiet");
  CHECK(contains(other.out, "inputs of seed 3\n"));
}

TEST_CASE("verify --sequences: runs one after the other, whose phases go on") {
  const Folder folder;
  const std::string file = folder / "p.json", other = folder / "q.json";
  CHECK(run_twill("program gemm --machine hopper -o " + file).code == 0);
  const Run right = run_twill("verify --sequences " + file);
  CHECK(right.code == 0);
  CHECK(contains(right.out, "and of runs one after the other at every sequence of them"));
  // A wait for the next iteration's load, which is right wherever there is a next one.
  auto program = nlohmann::json::parse(bytes(file));
  for (auto& slot : program["slots"])
    for (auto& op : slot["ops"])
      if (op["id"] == "mma") {
        auto wait = op["waits"].back();
        wait["offset"] = -1;
        op["waits"].push_back(wait);
      }
  put(other, program.dump());
  CHECK(run_twill("verify " + other).code == 0);
  const Run refused = run_twill("verify --sequences " + other);
  CHECK(refused.code == 1);
  CHECK(contains(refused.out, "refused: tiles: mma waits for a later iteration of ld_b"));
  CHECK(run_twill("solve gemm --machine hopper -o " + (folder / "s.json")).code == 0);
  const Run both =
      run_twill("verify --sequences " + (folder / "s.problem.json") + " " + (folder / "s.json"));
  CHECK(both.code == 2);
  CHECK(contains(both.err, "is for a program file alone"));
}

TEST_CASE(
    "emit --persistent: programs that do block after block, of kernels that Twill has whole") {
  const Run kept = run_twill("emit gemm --machine hopper --persistent --quiet");
  CHECK(kept.code == 0);
  CHECK(contains(kept.out, "for tile in range(gl.program_id(0), tile_count, gl.num_programs(0)):"));
  CHECK(contains(kept.out, "programs = min(tiles, PROGRAMS or torch.cuda.get_device_properties"));
  CHECK(!contains(kept.out, "block_0 = gl.program_id(0)"));
  const Run one = run_twill("emit gemm --machine hopper --quiet");
  CHECK(!contains(one.out, "tile_count"));
  const Run cuda = run_twill("emit gemm --machine hopper --persistent --to cuda");
  CHECK(cuda.code == 2);
  CHECK(contains(cuda.err, "--persistent"));
  const Run module =
      run_twill("emit " TWILL_TEST_DATA
                "/../../graph/kernels/triton/hopper-attention-forward.ttgir --persistent");
  CHECK(module.code == 2);
  CHECK(contains(module.err, "--persistent: found true: is for kernels that Twill writes whole"));
}

TEST_CASE("program: a file without a schedule is refused for that, whatever layout it is of") {
  const Folder folder;
  const std::string file = folder / "s.json";
  const Run solved = run_twill("solve hopper-fwd-sub2 --machine hopper --ii 100 -o " + file);
  CHECK(solved.code == 1);
  const Run made = run_twill("program hopper-fwd-sub2 --machine hopper " + file);
  CHECK(made.code == 2);
  CHECK(contains(made.err, "/status: found infeasible: a program needs a schedule"));
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
  CHECK(run_twill("run figure-1 --machine figure-1 --quiet").code == 2);
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
  const std::string costed = "run hopper-fwd-sub2 --machine hopper --quiet --time ";
  const std::string kernel = costed + "--wait-cost 0 --arrive-cost 0 --no-contention ";
  const Run slow = run_twill(kernel + "--runs 0 --iterations 40");
  CHECK(contains(slow.out,
                 "more than I: the schedule's order on units that slots share is not kept"));
  const Run json =
      run_twill(costed + "--json --runs 8 --iterations 30 --wait-cost 20 --arrive-cost 9");
  CHECK(json.code == 0);
  CHECK(unlike_schema(json.out, "time") == "");
  const auto answer = Json::parse(json.out);
  CHECK(answer["orders"].size() == 2);
  CHECK(answer["orders"][0]["varied"]["runs"] == 8);
  CHECK(run_twill(costed + "--json --runs 8 --iterations 30 --wait-cost 20 --arrive-cost 9").out ==
        json.out);
  // Without an option barriers cost what the machine file says, in cycles of the problem.
  const Run machine = run_twill(costed + "--runs 0 --iterations 30");
  CHECK(contains(machine.out, "a wait on a barrier costs 30, an arrival 41 (the machine's: "));
  // Nor do units of it leave each other alone.
  CHECK(contains(machine.out,
                 "units slow each other down (the machine's: --no-contention):\n"
                 "SFU x 1.2, ALU x 1.39 beside TC, TC x 1.07 beside SFU, TC x 1.105 beside ALU\n"));
  CHECK(answer["contention"][1] == Json{{"unit", "ALU"}, {"while", "TC"}, {"thousandths", 1390}});
  const Run apart = run_twill(costed + "--json --runs 0 --iterations 30 --no-contention");
  CHECK(unlike_schema(apart.out, "time") == "");
  CHECK_FALSE(Json::parse(apart.out).contains("contention"));
  CHECK(Json::parse(apart.out)["orders"][1]["middle"] <
        Json::parse(
            run_twill(costed + "--json --runs 0 --iterations 30").out)["orders"][1]["middle"]);
  const auto known = [&](const std::string& options) {
    const auto told =
        Json::parse(run_twill(costed + "--json --runs 0 --iterations 30 " + options).out);
    return std::pair<int, int>(told["wait_cost"], told["arrive_cost"]);
  };
  CHECK(known("") == std::pair(30, 41));
  CHECK(known("--wait-cost 7") == std::pair(7, 41));
  CHECK(known("--set barriers.arrive=12") == std::pair(30, 12));
  const auto [wait, arrive] = known("--normalize 300");
  CHECK(wait < 30);
  CHECK(wait > 0);
  CHECK(arrive > wait);
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

TEST_CASE(
    "emit: a kernel to a file or to standard output; what cannot be is refused, nothing written") {
  const Folder folder;
  const std::string file = folder / "gemm.py", program = folder / "gemm.program.json";
  CHECK(run_twill("emit gemm --machine hopper --quiet -o " + file).code == 0);
  CHECK(contains(bytes(file), "@gluon.jit"));
  CHECK(contains(bytes(file), "optimal, one iteration every I = "));
  CHECK(run_twill("emit gemm --machine hopper --quiet").out == bytes(file));
  REQUIRE(run_twill("program gemm --machine hopper --quiet -o " + program).code == 0);
  CHECK(contains(run_twill("emit " + program).out, "@gluon.jit"));
  const std::string none = folder / "none.py";
  const Run refused = run_twill("emit hopper-bwd-q80 --machine hopper --quiet -o " + none);
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "no kernel: "));
  CHECK(bytes(none).empty());
  const Run language = run_twill("emit gemm --machine hopper --to fortran");
  CHECK(language.code == 2);
  put(program, "{}");
  CHECK(run_twill("emit " + program).code == 2);
}

}  // namespace program_cli_test
