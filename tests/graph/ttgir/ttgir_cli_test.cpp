// TTGIR modules as a user of the program meets them: which loop, what is said, what is written.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/run_program.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_cli_test {

using twill::test::bytes;
using twill::test::contains;
using twill::test::put;
using twill::test::Run;
using twill::test::run_twill;
using Folder = twill::test::TemporaryDirectory;

namespace {

std::string module_file(const std::string& name) {
  return twill::test::kTritonFolder + name + ".ttgir";
}

nlohmann::json solved(const std::string& arguments) {
  const Run run = run_twill("solve --json --quiet " + arguments);
  CAPTURE(arguments);
  CAPTURE(run.err);
  REQUIRE(run.code == 0);
  CHECK(is_silent(run));
  return nlohmann::json::parse(run.out);
}

}  // namespace

TEST_CASE("loops: listing, default choice, by number") {
  const std::string file = module_file("blackwell-gemm-persistent");
  const Run listing = run_twill("solve " + file + " --list-loops");  // no machine is needed
  CHECK(listing.code == 0);
  CHECK(contains(listing.out, "* 0  gemm_persistent  line "));
  CHECK(contains(listing.out, "tt.warp_specialize"));
  CHECK(contains(listing.out, "\n  1  gemm_persistent  line "));
  CHECK(run_twill("lower " + file + " --list-loops").out == listing.out);
  // The inner loop is a product of 128 x 256 x 64 macs, 4096 a clock.
  CHECK(solved(file + " --machine blackwell --reading paper --loop 1")["initiation_interval"] ==
        512);
  // Its operands are 49,152 bytes through a port of 64 a clock.
  CHECK(solved(file + " --machine blackwell --loop 1")["initiation_interval"] == 768);
  CHECK(solved(file + " --machine blackwell")["initiation_interval"] > 512);
  const Run none = run_twill("solve " + file + " --machine blackwell --loop 2");
  CHECK(none.code == 2);
  CHECK(contains(none.err, "must be a loop from 0 to 1"));
}

TEST_CASE(
    "sub-tiling: the tool's equals the one written in the kernel's source; auto keeps the best") {
  const std::string whole = module_file("blackwell-attention-forward-m256");
  const auto tool = solved(whole + " --machine blackwell --subtile M=2");
  const auto source =
      solved(module_file("blackwell-attention-forward-sub2") + " --machine blackwell");
  CHECK(tool["initiation_interval"] == 2064);  // the exponentials of 2 x 128 x 128 and 2 x 128
  CHECK(tool["initiation_interval"] == source["initiation_interval"]);
  CHECK(tool["length"] == source["length"]);
  CHECK(solved(whole + " --machine blackwell")["initiation_interval"] > 2064);
  const Run all = run_twill("solve " + whole + " --machine blackwell --subtile auto --json");
  CHECK(all.code == 0);
  CHECK(nlohmann::json::parse(all.out)["initiation_interval"] == 2064);
  CHECK(contains(all.err, "layout M=1 8+4: "));
  CHECK(contains(all.err, "best: layout M=2 "));
  CHECK(tool["ring_depths"].contains("v"));
  // What is not legal is said, with the op that forbids it.
  const Run narrow = run_twill("solve " + module_file("blackwell-attention-forward") +
                               " --machine blackwell --subtile auto --json");
  CHECK(narrow.code == 0);
  CHECK(contains(narrow.err, "M=4 is left out: "));
  CHECK(contains(narrow.err, "a product needs 64 rows"));
  const Run one = run_twill("solve " + module_file("blackwell-attention-forward") +
                            " --machine blackwell --subtile M=4");
  CHECK(one.code == 2);
  CHECK(contains(one.err, "line "));
  CHECK(contains(one.err, "cannot be sub-tiled 4 ways along M"));
}

namespace {

/// The slots that hold the loads, the products, each sub-tile's softmax and the rescaling of both
/// accumulators; `rescale` are the ops of the latter.
struct Roles {
  std::set<std::string> loads, products, softmax[2], correction;

  Roles(const nlohmann::json& schedule, const std::vector<std::string>& rescale) {
    for (const auto& op : schedule["ops"]) {
      const std::string id = op["id"], slot = op["warp"];
      const auto is = [&](const std::vector<std::string>& parts) {
        return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
          return id.find(part) != std::string::npos;
        });
      };
      if (id == "k_13" || id == "v")
        loads.insert(slot);
      else if (is({"_s_16", "_acc_40"}))
        products.insert(slot);
      else if (is({"_s_17", "_m_new_19", "_p_22", "_p_25", "_p_26", "_l_29", "_acc_37", "_acc_38"}))
        softmax[id.starts_with("s0_") ? 0 : 1].insert(slot);
      else if (is(rescale))
        correction.insert(slot);
    }
  }

  void check_apart() const {
    CHECK(loads == std::set<std::string>{"load"});
    CHECK(softmax[0].size() == 1);
    CHECK(softmax[1].size() == 1);
    CHECK(correction.size() == 1);
    CHECK(softmax[0] != softmax[1]);
    CHECK(softmax[0] != correction);
    CHECK(softmax[1] != correction);
  }
};

}  // namespace

TEST_CASE("FlashAttention-4's roles come from the compiler's module, without pins") {
  // Of the equally fast schedules: the fewest registers at the fullest moment, then the fewest
  // slots and hand-overs. That gives the softmaxes a slot each and the accumulators a third; that
  // as few slots as possible issue to a unit gives the products a fourth.
  const std::string module = module_file("blackwell-attention-forward-m256") + " --subtile M=2";
  for (const std::string goals :
       {"registers,slots,handovers,issuers,crossings", "registers,issuers"})
    for (const std::string seed : {"0", "1"}) {
      CAPTURE(goals);
      CAPTURE(seed);
      const auto chunked =
          solved(module + " --machine blackwell --goals " + goals + " --seed " + seed);
      CHECK(chunked["status"] == "optimal");
      CHECK(chunked["initiation_interval"] == 2064);
      CHECK(chunked["length"] == 5324);
      CHECK(chunked["goals"][0]["value"] == 129);
      for (const auto& goal : chunked["goals"]) CHECK(goal["value"] == goal["lower_bound"]);
      const Roles roles(chunked, {"_acc_35.chunks"});
      roles.check_apart();
      CHECK(roles.products.size() == 1);
      std::set<std::string> slots = roles.softmax[0];
      for (const auto& more : {roles.softmax[1], roles.correction, roles.loads})
        slots.insert(more.begin(), more.end());
      CHECK(slots.size() == 4);
      CHECK(slots.count(*roles.products.begin()) == 0);
    }
  // With whole tiles, as in the paper, and its registers: the usual goals.
  const auto whole = solved(
      module + " --layout softmax-correction --machine blackwell-paper --chunk 0 --goals default");
  CHECK(whole["initiation_interval"] == 2064);
  Roles(whole, {"_acc_33", "_acc_35", "_acc_39"}).check_apart();
}

TEST_CASE("the costs are printed: op, rule, formula, cycles; a profile replaces them") {
  const Folder folder;
  const std::string file = module_file("blackwell-attention-forward");
  const Run table = run_twill("lower " + file + " --machine blackwell --explain");
  CHECK(table.code == 0);
  CHECK(contains(table.out, "math.exp2 line "));
  CHECK(contains(table.out, "SFU: cycles 16384 values / 16 = 1024; 128 registers"));
  CHECK(contains(table.out, "computed by every slot that uses it: "));
  put(folder / "p.json",
      R"({"format": "twill.profile", "version": 1, "ops": {"math.exp2": 1500}})");
  const Run measured = run_twill("lower " + file + " --machine blackwell --explain --profile " +
                                 (folder / "p.json"));
  CHECK(contains(measured.out, "measured: profile entry math.exp2"));
  const auto before = solved(file + " --machine blackwell");
  const auto after = solved(file + " --machine blackwell --profile " + (folder / "p.json"));
  CHECK(after["initiation_interval"] > before["initiation_interval"]);
  put(folder / "bad.json", R"({"format": "twill.profile", "version": 1, "ops": {"math.exp2": 0}})");
  const Run bad =
      run_twill("solve " + file + " --machine blackwell --profile " + (folder / "bad.json"));
  CHECK(bad.code == 2);
  CHECK(contains(bad.err, "bad.json"));
  CHECK(contains(bad.err, "/ops/math.exp2"));
}

TEST_CASE("the costs are printed where no layout fits, and of kernel files") {
  const Folder folder;
  const std::string file = module_file("blackwell-attention-forward");
  // Without room in shared memory no layout holds it: the table comes first, then the refusal.
  const Run held = run_twill("lower " + file + " --machine blackwell --explain");
  const Run none = run_twill("lower " + file +
                             " --machine blackwell --set memories.smem.capacity=1024 --explain");
  CHECK(none.code == 2);
  CHECK(none.out == held.out);
  CHECK(contains(none.err, "memory/smem"));
  // ... and where the tiles fit and the registers of no slot do.
  const std::string many = module_file("blackwell-attention-forward-m256");
  const Run table =
      run_twill("lower " + many + " --machine blackwell --resident-registers 200 --explain");
  CHECK(table.code == 2);
  CHECK(table.out.starts_with("node"));
  CHECK(contains(table.err, "/layouts"));
  const Run split = run_twill("lower " + file + " --machine blackwell --subtile auto --explain");
  CHECK(split.code == 0);
  CHECK(split.out == held.out);

  const Run kernel = run_twill("lower fmha-forward --machine blackwell --explain");
  CHECK(kernel.code == 0);
  CHECK(contains(kernel.out, "SFU: cycles 16384 values / 16 = 1024"));
  const Run same = run_twill(
      "lower fmha-forward --machine blackwell --set memories.smem.capacity=1024 --explain");
  CHECK(same.code == 2);
  CHECK(same.out == kernel.out);
  const Run given = run_twill("lower figure-1 --machine figure-1 --explain");
  CHECK(given.code == 0);
  CHECK(contains(given.out, "TC: given"));
  // Every kernel that is built in is explained on every machine that takes it.
  int explained = 0;
  for (const std::string& name : twill::builtin_kernels())
    for (const std::string& machine : twill::builtin_machines()) {
      if (run_twill("lower " + name + " --machine " + machine + " --quiet").code != 0) continue;
      const Run shown = run_twill("lower " + name + " --machine " + machine + " --explain");
      CHECK(shown.code == 0);
      CHECK(shown.out.starts_with("node"));
      ++explained;
    }
  CHECK(explained > 20);
  const Run problem = run_twill("lower " + std::string(TWILL_TEST_DATA) +
                                "/examples/figure-1.problem.json --explain");
  CHECK(problem.code == 2);
  CHECK(contains(problem.err, "--explain"));
}

TEST_CASE("emit ttgir: the module with attributes, its schedule beside it, verified") {
  const Folder folder;
  const std::string file = module_file("blackwell-attention-forward");
  const std::string out = folder / "out.ttgir", schedule = folder / "out.schedule.json";
  const Run run = run_twill("solve " + file + " --machine blackwell --emit ttgir -o " + out +
                            " --schedule " + schedule);
  CHECK(run.code == 0);
  CHECK(run.out.empty());
  CHECK(folder.entries() == 3);
  const std::string problem = folder / "out.problem.json";
  CHECK(run_twill("verify " + problem + " " + schedule).code == 0);
  const std::string text = bytes(out);
  CHECK(contains(text, "ttg.partition.stages = ["));
  // To standard output without -o; the annotated module is a module again, with the same answer.
  CHECK(run_twill("solve " + file + " --machine blackwell --emit ttgir --quiet").out == text);
  const auto again = solved(out + " --machine blackwell"),
             first = solved(file + " --machine blackwell");
  CHECK(again["initiation_interval"] == first["initiation_interval"]);
  CHECK(again["length"] == first["length"]);
  // Goals keep what the compiler asks for: one slot issues the products.
  const Run goals = run_twill("solve " + file + " --machine blackwell --emit ttgir --quiet -o " +
                              out + " --goals crossings --schedule " + schedule);
  CHECK(goals.code == 0);
  const auto emitted = nlohmann::json::parse(bytes(schedule));
  for (const auto& op : emitted["ops"])
    if (op["id"] == "s_15" || op["id"] == "acc_39") CHECK(op["warp"] == "mma");
  CHECK(run_twill("verify " + problem + " " + schedule).code == 0);
}

TEST_CASE("emit ttgir: what is carried stays on its slot, which costs nothing here") {
  const Folder folder;
  const std::string file = module_file("blackwell-attention-forward-sub2");
  const std::string schedule = folder / "s.schedule.json";
  const Run run = run_twill("solve " + file + " --machine blackwell --emit ttgir -o " +
                            (folder / "out.ttgir") + " --schedule " + schedule);
  CHECK(run.code == 0);
  CHECK(contains(run.err, "for Triton's passes: pin of s0_27 to mma, "));
  CHECK(contains(run.err, ", m_new_33 on the slot of alpha, "));
  const auto emitted = nlohmann::json::parse(bytes(schedule));
  CHECK(emitted["initiation_interval"] == 2064);  // as without --emit
  std::map<std::string, std::string> slot;
  for (const auto& op : emitted["ops"]) slot[op["id"]] = op["warp"];
  for (const std::string id : {"s0_27", "s1_28", "acc0_60", "acc1_62"}) CHECK(slot[id] == "mma");
  CHECK(slot["m_new_33"] == slot["alpha"]);
  CHECK(slot["m_new_47"] == slot["alpha_53"]);
  CHECK(slot["addf_25"] == slot["mulf_23"]);
  CHECK(slot["addf_32"] == slot["mulf_30"]);
  // The problem beside the schedule has the pins. A user's own take their place.
  CHECK(contains(bytes(folder / "s.problem.json"), "same_warp_as"));
  CHECK(run_twill("verify " + (folder / "s.problem.json") + " " + schedule).code == 0);
  const Run own = run_twill("solve " + file + " --machine blackwell --emit ttgir -o " +
                            (folder / "own.ttgir") + " --same-slot s0_27,s1_28");
  CHECK(own.code == 0);
  CHECK(!contains(own.err, "for Triton's passes"));
}

TEST_CASE("emit ttgir: where a partition is not the slot's is said, with the line") {
  const Run norm = run_twill("solve " + module_file("blackwell-layer-norm") +
                             " --machine blackwell --emit ttgir");
  CHECK(norm.code == 0);
  CHECK(contains(norm.err, "twill: line 74, column 15: the load is in partition "));
  const Run gemm = run_twill("solve " + module_file("blackwell-gemm-persistent") +
                             " --machine blackwell --emit ttgir");
  CHECK(gemm.code == 0);
  CHECK(contains(gemm.err, "twill: line 52, column 18: the inner loop's ops are in partitions "));
}

TEST_CASE("emit pipelined: slot, stage and cycle of every op, of sub-tiled loops too") {
  const Run run = run_twill("solve " + module_file("blackwell-attention-forward-m256") +
                            " --machine blackwell --subtile M=2 --emit pipelined --quiet");
  CHECK(run.code == 0);
  CHECK(contains(run.out, "I = 2064"));
  for (const std::string part :
       {"slot load warps(1)", "s0_p_26 ", "s1_p_26 ", "cycle(", "stage(1)", "wait(", "ring("})
    CHECK_MESSAGE(contains(run.out, part), part);
}

TEST_CASE("what is wrong is refused before anything is solved or written") {
  const Folder folder;
  const std::string file = module_file("blackwell-attention-forward");
  put(folder / "cut.ttgir", bytes(file).substr(0, 4000));
  put(folder / "kernel.ttgir", bytes(file));
  put(folder / "text.ttgir", "hello\n");
  put(folder / "loopless.ttgir",
      "module {\n  tt.func public @f(%a: i32) {\n    tt.return\n  }\n}\n");
  const std::string kernel = folder / "kernel.ttgir";
  const struct {
    std::string arguments, message;
  } cases[] = {
      {(folder / "cut.ttgir") + " --machine blackwell", "cut.ttgir: line "},
      {(folder / "text.ttgir") + " --machine blackwell", "line 1, column 1"},
      {(folder / "loopless.ttgir") + " --machine blackwell", "must have a loop"},
      {(folder / "loopless.ttgir") + " --list-loops", "must have a loop"},
      {"/nonexistent.ttgir --machine blackwell", "must be a file"},
      {file + " --machine blackwell --subtile M=3", "M=8 or auto"},
      {file + " --machine blackwell --subtile auto --normalize 300", "must be none"},
      {file + " --machine blackwell --chunk -1", "--chunk"},
      {file + " --machine blackwell --trips 0", "--trips"},
      {file + " --machine blackwell --resident-registers 300", "--resident-registers"},
      {file + " --machine blackwell --emit llvm", "--emit"},
      {file + " --machine blackwell --emit ttgir --subtile M=2", "emit them as pipelined"},
      {file + " --machine blackwell --schedule " + (folder / "s.json"), "is for --emit"},
      {kernel + " --machine blackwell --emit ttgir -o " + kernel, "must not overwrite"},
      {kernel + " --machine blackwell --emit ttgir --schedule " + kernel, "must not overwrite"},
      {"figure-1 --machine figure-1 --emit ttgir", "needs a TTGIR module"},
      {"figure-1 --machine figure-1 --subtile M=2", "is no TTGIR module"},
      {TWILL_TEST_DATA "/examples/figure-1.problem.json --loop 1", "is no TTGIR module"},
  };
  for (const auto& [arguments, message] : cases) {
    CAPTURE(arguments);
    const Run run = run_twill("solve " + arguments);
    CAPTURE(run.err);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(contains(run.err, message));
  }
  CHECK(folder.entries() == 4);
  CHECK(bytes(kernel) == bytes(file));
}

TEST_CASE("a module for another machine is solved with a warning; --quiet leaves it out") {
  const std::string file = module_file("blackwell-gemm-grouped");
  const Run loud = run_twill("solve " + file + " --machine hopper --json");
  CHECK(loud.code == 0);
  CHECK(contains(loud.err, "twill: warning: the module was made for cuda:100"));
  CHECK(is_silent(run_twill("solve " + file + " --machine hopper --json --quiet")));
  // What the machine cannot do is named by its place in the module.
  const Run none = run_twill("solve " + module_file("hopper-gemm-grouped") + " --machine ampere");
  CHECK(none.code == 2);
  CHECK(contains(none.err, "line 69, column "));
  CHECK(contains(none.err, "(tt.descriptor_load): found \"tma_load\""));
}

TEST_CASE("the machine is that of the module's target, unless another is asked for") {
  for (const std::string name :
       {"ampere-gemm-pointers", "hopper-fused-mlp", "blackwell-fused-mlp"}) {
    const std::string machine = name.substr(0, name.find('-'));
    const Run run = run_twill("solve --json " + module_file(name));
    CHECK(run.code == 0);
    CHECK(contains(run.err, "machine " + machine + ", by the module's target"));
    CHECK(nlohmann::json::parse(run.out)["initiation_interval"] ==
          solved(module_file(name) + " --machine " + machine)["initiation_interval"]);
  }
  const Folder folder;
  std::string text = bytes(module_file("hopper-fused-mlp"));
  const std::size_t at = text.find("cuda:90");
  REQUIRE(at != std::string::npos);
  put(folder / "other.ttgir", text.replace(at, 7, "cuda:75"));
  const Run other = run_twill("solve " + (folder / "other.ttgir"));
  CHECK(other.code == 2);
  CHECK(contains(other.err, "--machine"));
  CHECK(contains(other.err, "cuda:75"));
  put(folder / "none.ttgir", text.erase(text.find("ttg.target = \"cuda:75\", "), 24));
  CHECK(contains(run_twill("solve " + (folder / "none.ttgir")).err, "names no ttg.target"));
}

TEST_CASE("where there is no schedule, or no layout, what would help is tried and said") {
  const Run none =
      run_twill("solve " + module_file("hopper-attention-forward") + " --resident-registers 110");
  CHECK(none.code == 1);
  CHECK(contains(none.err, "twill: with --subtile M=2: I = "));
  CHECK(!contains(none.err, "with --registers auto"));
  const Run helped = run_twill("solve " + module_file("hopper-attention-forward") +
                               " --resident-registers 110 --subtile M=2 --conflict-limit 8000");
  CHECK(helped.code == 3);  // (that it is the best is proved in 40 s)
  CHECK(contains(helped.err, "feasible, I = "));
  const std::string forward = module_file("blackwell-attention-forward");
  CHECK(contains(run_twill("solve " + forward + " --resident-registers 90").err,
                 "one can with: --registers auto, --subtile M=2"));
  CHECK(run_twill("solve --quiet " + forward + " --resident-registers 90 --registers auto").code !=
        2);
  CHECK(contains(run_twill("solve " + forward + " --resident-registers 130").err,
                 "nor with --registers auto or --subtile"));
}

TEST_CASE("no schedule: exit code 1, nothing is emitted") {
  const Folder folder;
  const std::string out = folder / "out.ttgir";
  const Run run = run_twill("solve " + module_file("blackwell-attention-forward") +
                            " --machine blackwell --ii 100 --emit ttgir -o " + out);
  CHECK(run.code == 1);
  CHECK(contains(run.err, "nothing to emit"));
  CHECK(folder.entries() == 0);
}

TEST_CASE("a module comes through standard input as well") {
  const std::string file = module_file("blackwell-gemm-grouped");
  const Run piped = run_twill("solve - --machine blackwell --json --quiet < " + file);
  CHECK(piped.code == 0);
  CHECK(nlohmann::json::parse(piped.out)["initiation_interval"] == 512);
  CHECK(contains(run_twill("solve - --list-loops < " + file).out, "* 1  gemm_grouped"));
}

TEST_CASE("a file with several modules: one is chosen, or the file is refused") {
  const Folder folder;
  const std::string file = folder / "both.mlir";
  const std::string a = bytes(module_file("hopper-layer-norm"));
  const std::string b = bytes(module_file("hopper-gemm-persistent"));
  put(file, "a compiler's first line\n// -----// IR Dump Before A //----- //\n" + a +
                "// -----// IR Dump Before B //----- //\n" + b);
  const Run none = run_twill("lower " + file + " --machine hopper");
  CHECK(none.code == 2);
  CHECK(none.out.empty());
  CHECK(contains(none.err, "2 modules in one file"));
  CHECK(contains(none.err, "--module 0 to 1"));
  const Run listing = run_twill("solve " + file + " --list-loops");
  CHECK(listing.code == 0);
  CHECK(contains(listing.out, "  IR Dump Before A\n"));
  CHECK(contains(listing.out, "\nmodule 1  line "));
  CHECK(contains(listing.out, "gemm_persistent"));
  const Run one = run_twill("lower " + file + " --machine hopper --module 1");
  CHECK(one.code == 0);
  CHECK(one.out ==
        run_twill("lower " + module_file("hopper-gemm-persistent") + " --machine hopper").out);
  CHECK(!contains(run_twill("solve " + file + " --list-loops --module 1").out, "layer_norm"));
  CHECK(run_twill("lower " + file + " --machine hopper --module 2").code == 2);
  CHECK(run_twill("lower gemm --machine hopper --module 0").code == 2);
}

TEST_CASE("a module that is scheduled already is refused with the way to the right one") {
  const Folder folder;
  std::string text = bytes(module_file("hopper-gemm-persistent"));
  const std::size_t at = text.find("        %a = tt.descriptor_load");
  REQUIRE(at != std::string::npos);
  text.insert(at, "        ttng.wait_barrier %a_desc, %k : !tt.tensordesc<128x64xf16, #shared>\n");
  const std::string file = folder / "pipelined.ttgir";
  put(file, text);
  const Run run = run_twill("solve " + file + " --machine hopper");
  CHECK(run.code == 2);
  CHECK(contains(run.err, "column 9: found ttng.wait_barrier: "));
  CHECK(contains(run.err, "MLIR_ENABLE_DUMP=1"));
  CHECK(run_twill("solve " + file + " --list-loops").code == 0);
}

TEST_CASE("a function that Triton has pipelined is run and emitted as it was before") {
  const Folder folder;
  const std::string lowered = std::string(TWILL_TEST_DATA) + "/lowered/";
  for (const std::string& file :
       {module_file("ampere-gemm-pipelined"), lowered + "hopper-attention-forward.ttgir",
        lowered + "blackwell-attention-forward.ttgir", lowered + "hopper-gemm-persistent.ttgir"}) {
    const Run run = run_twill("run " + file);
    CHECK_MESSAGE(run.code == 0, run.err);
    CHECK(contains(run.out, "beside the module, executed op by op"));
    CHECK(contains(run.out, "\nright\n"));
    CHECK(contains(run.err, "it is undone, with the function around it"));
  }
  const std::string kernel = folder / "kernel.py";
  for (const std::string name :
       {"hopper-attention-forward", "blackwell-attention-forward", "hopper-gemm-persistent"}) {
    const Run emitted = run_twill("emit " + lowered + name + ".ttgir --to gluon -o " + kernel);
    CHECK_MESSAGE(emitted.code == 0, emitted.err);
    CHECK(contains(twill::read_file(kernel), "Called as the function was that it stands for"));
  }
  // Where the function is lost, that is said with the reason.
  const Run lost = run_twill("emit " + lowered + "blackwell-gemm-persistent.ttgir -o " + kernel);
  CHECK(lost.code == 2);
  CHECK(contains(lost.err, "what stands around it is lost where that is undone ("));
}

TEST_CASE("a module that Triton has pipelined and partitioned is undone and solved") {
  const Folder folder;
  const std::string file =
      std::string(TWILL_TEST_DATA) + "/lowered/blackwell-attention-forward.ttgir";
  const std::string schedule = folder / "s.schedule.json";
  const Run run = run_twill("solve " + file + " --json -o " + schedule);
  CHECK(run.code == 0);
  CHECK(contains(run.err, "it is undone"));
  const auto before = solved(module_file("blackwell-attention-forward") + " --machine blackwell");
  const auto after = nlohmann::json::parse(run.out);
  for (const char* key : {"status", "initiation_interval", "length"})
    CHECK(before[key] == after[key]);
  CHECK(run_twill("verify " + (folder / "s.problem.json") + " " + schedule).code == 0);
  CHECK(run_twill("solve " + file + " --quiet --emit pipelined").code == 0);
  const Run emit = run_twill("solve " + file + " --emit ttgir -o " + (folder / "out.ttgir"));
  CHECK(emit.code == 2);
  CHECK(contains(emit.err, "pipelined or partitioned already"));
}

TEST_CASE("emit ttgir: partitions that take too much memory keep their largest tiles") {
  const Folder folder;
  const std::string file = module_file("blackwell-attention-forward");
  const std::string out = folder / "out.ttgir";
  const Run run = run_twill("solve " + file + " --machine blackwell --emit ttgir -o " + out +
                            " --schedule " + (folder / "s.schedule.json"));
  CHECK(run.code == 0);
  CHECK_MESSAGE(contains(run.err, ", p_21 on the slot of p_24"), run.err);
  CHECK(!contains(run.err, "bytes of shared memory"));
  CHECK(contains(bytes(out), "ttg.partition.stages"));
  const auto emitted = nlohmann::json::parse(bytes(folder / "s.schedule.json"));
  // Without --emit 1472, with tiles of 64 KB handed on: two buffers a load do not fit beside one.
  CHECK(emitted["initiation_interval"] == 1602);
}

TEST_CASE(
    "emit ttgir: an inner loop takes the loop around it with it; before Hopper stages alone") {
  const Folder folder;
  const std::string out = folder / "out.ttgir";
  const Run inner = run_twill("solve " + module_file("blackwell-gemm-persistent") +
                              " --machine blackwell --loop 1 --emit ttgir -o " + out);
  CHECK(inner.code == 0);
  CHECK(contains(inner.err, "the outer loop is partitioned with the loop"));
  CHECK(contains(bytes(out), "ttg.partition.stages"));
  const Run pointers = run_twill("solve " + module_file("ampere-gemm-pointers") +
                                 " --machine ampere --emit ttgir -o " + out);
  CHECK(pointers.code == 0);
  CHECK(contains(pointers.err, "stages and order alone are handed over"));
  CHECK(!contains(bytes(out), "warp_specialize"));
}

TEST_CASE("nest: a module's loop with its inner loop") {
  const std::string gemm = module_file("hopper-gemm-persistent");
  const Run run = run_twill("nest " + gemm);
  CHECK(run.code == 0);
  CHECK(contains(run.err, "16 assumed (--trips)"));
  CHECK(contains(run.out, "inner loop: optimal, I = 1024"));
  CHECK(contains(run.out, "outer loop, for this schedule of the inner one: optimal"));
  const Run twice = run_twill("nest --quiet --trips 2 " + gemm);
  CHECK(contains(twice.out, "2 trips: 3160 cycles a run"));
  CHECK(run_twill("nest --quiet --times 2 " + gemm).out == twice.out);
  const Run inner = run_twill("nest --inner a,b " + gemm);
  CHECK(inner.code == 2);
  CHECK(contains(inner.err, "a TTGIR module says which ops are in its inner loop"));
  const Run kernel = run_twill("nest gemm --machine hopper --times 2");
  CHECK(kernel.code == 2);
  CHECK(contains(kernel.err, "must name the ops of the inner loop"));
  const Run bare = run_twill("nest gemm --machine hopper --inner load_a");
  CHECK(bare.code == 2);
  CHECK(contains(bare.err, "--times"));
  const Run none = run_twill("nest " + module_file("hopper-attention-forward"));
  CHECK(none.code == 2);
  CHECK(contains(none.err, "--loop chooses the outer one"));
  // `solve` calls its bound one.
  CHECK(contains(run_twill("solve --json --loop 0 " + gemm).err, "a lower bound of its cycles"));
}

}  // namespace ttgir_cli_test
