// The way back: attributes in place, everything else byte for byte; what a schedule becomes.
#include <doctest/doctest.h>

#include <set>

#include "engine/include/twill.hpp"
#include "graph/ttgir/edit.hpp"
#include "graph/ttgir/emit.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/parser.hpp"
#include "tests/support/ttgir_files.hpp"

using namespace twill;
using namespace twill::ttgir;

namespace {

/// A schedule that is not good but valid as far as the writer is concerned: serial, ops on the
/// first slot that may hold them.
Schedule serial(const Problem& problem) {
  Schedule schedule;
  Cycle at = 0;
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    schedule.start.push_back(at);
    at += problem.ops[v].cycles;
    schedule.warp.push_back(allowed_slots(problem, static_cast<int>(v)).back());
  }
  schedule.length = at;
  schedule.initiation_interval = at / 3 + 1;
  return schedule;
}

/// The text without what an Editor may have put in.
std::string stripped(std::string text, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::size_t at = 0;
    while ((at = text.find(name, at)) != std::string::npos) {
      std::size_t end = at;
      int depth = 0;
      while (!(depth == 0 && (text[end] == ',' || text[end] == '}'))) {
        depth += text[end] == '[' || text[end] == '<' ? 1 : 0;
        depth -= text[end] == ']' || text[end] == '>' ? 1 : 0;
        ++end;
      }
      if (text[end] == ',') end += 2;
      text.erase(at, end - at);
    }
  }
  for (const std::string empty : {" {}", ", }"}) {
    std::size_t at = 0;
    while ((at = text.find(empty, at)) != std::string::npos) text.erase(at, empty.size());
  }
  return text;
}

const std::vector<std::string> kNames = {
    "loop.stage",           "loop.cluster",           "ttg.partition.outputs",
    "ttg.partition.stages", "ttg.partition",          "ttg.warp_specialize.tag",
    "tt.num_stages",        "tt.scheduled_max_stage", "tt.warp_specialize"};

}  // namespace

TEST_CASE("attributes go where each op has them; nothing else changes") {
  const std::string text = R"(module {
  tt.func public @f(%a: i32 loc("a")) {
    %c = arith.constant 5 : i32 loc(#l)
    %t = arith.constant true
    %0 = "tt.x"(%a) ({
      %q = arith.addi %a, %a : i32
      tt.y %q : i32
    }) : (i32) -> i32
    %1 = tt.expand_dims %0 {axis = 1 : i32} : i32 -> i32 loc(#l)
    %2 = ttg.async_commit_group tokens %1
    scf.for %i = %a to %a step %a  : i32 {
      tt.z %i, %a mask %t : i32, i32
      scf.yield loc(#l)
    } {tt.warp_specialize} loc(#l)
    tt.return
  }
}
)";
  const Module m = parse_module(text, "t");
  Editor none(m);
  CHECK(none.text() == text);
  Editor editor(m);
  for (int op = 0; op < static_cast<int>(m.ops.size()); ++op)
    if (m.op(op).name != "module" && m.op(op).name != "tt.func") editor.set(op, "k", "1");
  const std::string out = editor.text();
  for (const std::string line :
       {"%c = arith.constant {k = 1} 5 : i32 loc(#l)", "%t = arith.constant {k = 1} true",
        "}) {k = 1} : (i32) -> i32", "tt.y %q {k = 1} : i32",
        "tt.expand_dims %0 {k = 1, axis = 1 : i32} : i32 -> i32 loc(#l)",
        "ttg.async_commit_group tokens %1 {k = 1}\n", "tt.z %i, %a mask %t {k = 1} : i32, i32",
        "scf.yield {k = 1} loc(#l)", "} {k = 1, tt.warp_specialize} loc(#l)"})
    CHECK_MESSAGE(out.find(line) != std::string::npos, line);
  // A value that is there is replaced.
  const Module again = parse_module(out, "t");
  Editor second(again);
  for (int op = 0; op < static_cast<int>(again.ops.size()); ++op) {
    bool found = false;
    again.attribute(again.op(op), "k", &found);
    if (found) second.set(op, "k", "22");
  }
  std::string expected = out;
  for (std::size_t at = 0; (at = expected.find("k = 1", at)) != std::string::npos; ++at)
    expected.replace(at, 5, "k = 22");
  CHECK(second.text() == expected);
}

TEST_CASE("every shipped module comes back: annotated, and else as it came") {
  for (const std::string& name : test::shipped_modules()) {
    CAPTURE(name);
    const LoweredModule lowered = test::lowered(name);
    const Problem& problem = lowered.problems.front().problem;
    const Schedule schedule = serial(problem);
    const std::string text = emit_ttgir(lowered, problem, schedule);
    CHECK(stripped(text, kNames) == stripped(test::module_text(name), kNames));
    // It is TTGIR again, and each op of the body says where it belongs.
    const Module m = parse_module(text, name);
    CHECK(m.ops.size() == lowered.module.ops.size());
    const Operation& loop = m.op(lowered.loop.loop);
    std::set<std::string> partitions;
    for (const int index :
         m.block(m.regions[static_cast<std::size_t>(loop.regions[0])].blocks[0]).ops) {
      const Operation& op = m.op(index);
      CAPTURE(op.name);
      bool partition = false, stage = false, cluster = false;
      partitions.insert(std::string(m.attribute(op, "ttg.partition", &partition)));
      m.attribute(op, "loop.stage", &stage);
      m.attribute(op, "loop.cluster", &cluster);
      CHECK(partition);
      if (class_of(op) == OpClass::terminator) continue;
      CHECK(stage);
      CHECK(cluster);
    }
    bool found = false;
    for (const char* attribute :
         {"tt.warp_specialize", "ttg.partition.stages", "ttg.warp_specialize.tag", "tt.num_stages",
          "tt.scheduled_max_stage"}) {
      m.attribute(loop, attribute, &found);
      CAPTURE(attribute);
      CHECK(found);
    }
  }
}

TEST_CASE("a solved loop: stages, order and partitions are the schedule's") {
  const LoweredModule lowered = test::lowered("blackwell-gemm-grouped");
  const Problem& problem = lowered.problems.front().problem;
  Options options;
  options.time_limit = 20;
  const Solution solution = solve(problem, options);
  REQUIRE(solution.schedule.has_value());
  CHECK(solution.schedule->initiation_interval == 256);  // the product's occupancy
  const Module m = parse_module(emit_ttgir(lowered, problem, *solution.schedule), "m");
  std::string load, mma;
  for (const Operation& op : m.ops) {
    if (op.name == "tt.descriptor_load") load = m.attribute(op, "ttg.partition");
    if (op.name == "ttng.tc_gen5_mma") mma = m.attribute(op, "ttg.partition");
  }
  CHECK(!load.empty());
  CHECK(load != mma);
  const std::string pipelined = emit_pipelined(lowered, problem, solution);
  for (const Op& op : problem.ops) CHECK(pipelined.find("  " + op.id) != std::string::npos);
  CHECK(pipelined.find("slot load warps(1)") != std::string::npos);
  CHECK(pipelined.find("ring(") != std::string::npos);
}

TEST_CASE("a sub-tiled loop has ops that the module has not") {
  const LoweredModule lowered = test::lowered("blackwell-attention-forward-m256", 2);
  const Problem& problem = lowered.problems.front().problem;
  CHECK_THROWS_AS(emit_ttgir(lowered, problem, serial(problem)), InputError);
}
