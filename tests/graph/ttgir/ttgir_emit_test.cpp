// The way back: attributes in place, everything else byte for byte; what a schedule becomes.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/include/twill.hpp"
#include "graph/error.hpp"
#include "graph/ttgir/edit.hpp"
#include "graph/ttgir/emit.hpp"
#include "graph/ttgir/op_class.hpp"
#include "graph/ttgir/parser.hpp"
#include "graph/ttgir/partition_limits.hpp"
#include "graph/ttgir/partition_pins.hpp"
#include "graph/ttgir/placer.hpp"
#include "graph/ttgir/region_memory.hpp"
#include "graph/ttgir/turns.hpp"
#include "tests/support/serial_schedule.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_emit_test {

using namespace twill;
using namespace twill::ttgir;

namespace {

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
  // (Names that are parts of others.)
  for (const std::string unit : {"store", "data"})
    for (const auto& [found, left] : {std::pair<std::string, std::string>{"{" + unit + ", ", "{"},
                                      {", " + unit + "}", "}"},
                                      {", " + unit + ", ", ", "},
                                      {"{" + unit + "}", "{}"}})
      for (std::size_t at = 0; (at = text.find(found, at)) != std::string::npos;)
        text.replace(at, found.size(), left);
  for (const std::string empty : {" {}", ", }"}) {
    std::size_t at = 0;
    while ((at = text.find(empty, at)) != std::string::npos) text.erase(at, empty.size());
  }
  return text;
}

const std::vector<std::string> kNames = {
    "loop.stage",           "loop.cluster",           "ttg.partition.outputs",
    "ttg.partition.stages", "ttg.partition",          "ttg.warp_specialize.tag",
    "tt.num_stages",        "tt.scheduled_max_stage", "tt.warp_specialize",
    "tt.self_latency"};

/// The text without lines that are an scf.yield of nothing, and how many there were: the printer
/// leaves them out, the writer must not.
std::pair<std::string, std::size_t> without_bare_yields(const std::string& text) {
  std::string rest;
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string line = text.substr(at, end - at);
    if (line.find_first_not_of(' ') == line.find("scf.yield\n"))
      ++count;
    else
      rest += line;
    at = end;
  }
  return {rest, count};
}

/// Modules whose loop has no results, so that its scf.yield is not printed.
const std::set<std::string> kWithoutResults = {"blackwell-gemm-persistent", "blackwell-layer-norm",
                                               "hopper-layer-norm"};

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

TEST_CASE("a terminator that is not printed is written out before the closing brace") {
  const std::string text =
      "module {\n  tt.func public @f(%a: i32, %m: i1) {\n"
      "    scf.for %i = %a to %a step %a  : i32 {\n"
      "      scf.if %m { tt.z %i : i32 }\n"
      "    } {tt.warp_specialize}\n    tt.return\n  }\n}\n";
  const Module m = parse_module(text, "t");
  Editor editor(m);
  for (std::size_t op = 0; op < m.ops.size(); ++op)
    if (m.ops[op].name.starts_with("scf."))
      for (const int region : m.ops[op].regions) editor.terminate(region, "k", "1");
  const std::string out = editor.text();
  CHECK(out.find("      scf.if %m { tt.z %i : i32 \nscf.yield {k = 1}\n}\n"
                 "      scf.yield {k = 1}\n"
                 "    } {tt.warp_specialize}\n") != std::string::npos);
  CHECK(parse_module(out, "t").ops.size() == m.ops.size() + 2);
}

TEST_CASE("every shipped module comes back: annotated, and else as it came") {
  int specialised = 0;
  for (const std::string& name : test::shipped_modules()) {
    CAPTURE(name);
    const LoweredModule lowered = test::lowered(name);
    const Problem& problem = lowered.problems.front().problem;
    const Schedule schedule = test::serial_schedule(problem);
    std::vector<std::string> remarks;
    const std::string text = emit_ttgir(lowered, problem, schedule, &remarks);
    const auto [rest, yields] = without_bare_yields(stripped(text, kNames));
    CHECK(rest == stripped(test::module_text(name), kNames));
    // It is TTGIR again, and each op of the body says where it belongs.
    const Module m = parse_module(text, name);
    CHECK(m.ops.size() == lowered.module.ops.size() + yields);
    const bool handed_over = text.find("ttg.partition") != std::string::npos;
    specialised += handed_over ? 1 : 0;
    CHECK(yields == (handed_over && kWithoutResults.count(name) != 0 ? 1 : 0));
    if (!handed_over) {
      REQUIRE(!remarks.empty());
      CHECK_MESSAGE(
          remarks.back().find("stages and order alone are handed over") != std::string::npos,
          remarks.back());
    }
    // (Triton schedules no loop with loops in it.)
    const bool staged = name != "blackwell-gemm-persistent";
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
      CHECK(partition == handed_over);
      if (class_of(op) == OpClass::terminator) continue;
      CHECK(stage == staged);
      CHECK(cluster == staged);
    }
    bool found = false;
    for (const char* attribute :
         {"tt.warp_specialize", "ttg.partition.stages", "ttg.warp_specialize.tag"}) {
      m.attribute(loop, attribute, &found);
      CAPTURE(attribute);
      CHECK(found == handed_over);
    }
    m.attribute(loop, "tt.num_stages", &found);
    CHECK(found);
    m.attribute(loop, "tt.scheduled_max_stage", &found);
    CHECK(found == staged);
  }
  CHECK(specialised >= 8);
}

namespace {

/// What emit_ttgir() says, and the text, for the schedule of one op after the other.
std::pair<std::string, std::string> emitted(const std::string& text, const std::string& machine,
                                            std::optional<int> loop = std::nullopt) {
  LoopOptions options;
  options.loop = loop;
  const LoweredModule l = lower_module(text, "m", builtin_machine(machine), machine, options, {});
  const Problem& problem = l.problems.front().problem;
  std::vector<std::string> remarks;
  std::string out = emit_ttgir(l, problem, test::serial_schedule(problem), &remarks);
  std::string said;
  for (const std::string& remark : remarks) said += remark + "\n";
  return {said, out};
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("partitions are handed over only where Triton takes them") {
  // Before Hopper, or with one partition: stages and order.
  const auto [ampere, pointers] = emitted(test::module_text("ampere-gemm-pointers"), "ampere");
  CHECK(holds(ampere, "line 54, column 17: stages and order alone are handed over, no partitions"));
  CHECK(holds(ampere, "the schedule uses one partition"));
  CHECK(holds(pointers, "loop.stage"));
  for (const std::string name : {"partition", "warp_specialize"})
    CHECK_MESSAGE(!holds(pointers, name), name);
  // The same loop for Hopper and for Blackwell, which loads through pointers; asked for or not.
  for (const std::string target : {"cuda:90", "cuda:100"})
    for (const bool asked : {false, true}) {
      CAPTURE(target);
      CAPTURE(asked);
      std::string text = test::module_text("ampere-gemm-pointers");
      text.replace(text.find("cuda:80"), 7, target);
      if (asked) {
        const std::size_t loop = text.rfind("    } loc(", text.find("scf.yield") + 2000);
        text.insert(loop + 5, " {tt.warp_specialize, tt.flatten}");
      }
      const auto [said, out] = emitted(text, "blackwell");
      // (All of it comes to one partition: where a load through pointers is used.)
      CHECK_MESSAGE(holds(said, "stages and order alone"), said);
      CHECK(holds(said, "all of its ops come to one partition") == (target == "cuda:100"));
      CHECK(holds(said, "is taken off") == asked);
      CHECK(!holds(out, "warp_specialize"));
      CHECK(!holds(out, "ttg.partition"));
      CHECK(holds(out, "tt.flatten") == asked);
    }
  // A loop after it, which is none of the region's.
  std::string two = test::module_text("blackwell-attention-forward");
  const std::size_t loop = two.find("    } {tt.warp_specialize}");
  REQUIRE(loop != std::string::npos);
  two.insert(two.find('\n', loop) + 1,
             "    scf.for %again = %c0_i32 to %c128_i32 step %c128_i32  : i32 {\n"
             "      tt.store %lse_ptr, %scale : !tt.ptr<f32>\n    }\n");
  const auto [later, out] = emitted(two, "blackwell", 0);
  CHECK_MESSAGE(!holds(later, "alone"), later);
  CHECK(holds(out, "tt.scheduled_max_stage"));
  CHECK(holds(out, "tt.warp_specialize"));
  CHECK(!holds(out, ", }"));
  CHECK(holds(out, "      tt.store %lse_ptr, %scale : !tt.ptr<f32>\n    }\n"));
}

TEST_CASE("a number that is summed up is placed behind what is added") {
  const std::string text =
      R"(#b = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
!t = tensor<1024xf32, #b>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @f(%n: i32, %to: !tt.ptr<f32>, %at: tensor<1024x!tt.ptr<f32>, #b>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.000000e+00 : f32
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%before = %zero) -> (f32) : i32 {
      %step = tt.splat %i : i32 -> tensor<1024xi32, #b>
      %here = tt.addptr %at, %step : tensor<1024x!tt.ptr<f32>, #b>, tensor<1024xi32, #b>
      %x = tt.load %here : tensor<1024x!tt.ptr<f32>, #b>
      %e = math.exp %x : !t
      %part = "tt.reduce"(%e) <{axis = 0 : i32}> ({
      ^bb0(%p: f32, %q: f32):
        %r = arith.addf %p, %q : f32
        tt.reduce.return %r : f32
      }) : (!t) -> f32
      %after = arith.addf %before, %part : f32
      scf.yield %after : f32
    }
    tt.store %to, %sum : !tt.ptr<f32>
    tt.return
  }
}
)";
  const LoweredModule l = lower_module(text, "m", builtin_machine("ampere"), "ampere", {}, {});
  const Problem& problem = l.problems.front().problem;
  const Module m = parse_module(emit_ttgir(l, problem, test::serial_schedule(problem)), "m");
  std::map<std::string, std::pair<int, int>> places;
  for (const Operation& op : m.ops) {
    bool has = false;
    const std::string stage(m.attribute(op, "loop.stage", &has));
    if (has && !op.results.empty())
      places[std::string(m.value(op.results[0]).name)] = {
          std::stoi(stage), std::stoi(std::string(m.attribute(op, "loop.cluster")))};
  }
  CHECK(places.at("part").first > 0);
  CHECK(places.at("after") == places.at("part"));
}

TEST_CASE("a branch with tensor memory of its own: stages and order alone") {
  const std::string text = read_file(TWILL_TEST_DATA "/ttgir/product-in-branch.ttgir");
  const auto [said, out] = emitted(text, "blackwell");
  CHECK_MESSAGE(holds(said, "Triton puts no scf.if as that of line 61 into partitions"), said);
  CHECK(!holds(out, "warp_specialize"));
}

TEST_CASE(
    "memory of partitions: what is issued ahead has buffers, in each partition that reads it") {
  const std::string text = read_file(TWILL_TEST_DATA "/ttgir/product-in-branch.ttgir");
  const LoweredModule l =
      lower_module(text, "m", builtin_machine("blackwell"), "blackwell", {}, {});
  const Problem& problem = l.problems.front().problem;
  Options options;
  options.time_limit = 20;
  const Solution solution = solve(problem, options);
  REQUIRE(solution.schedule.has_value());
  Schedule schedule = *solution.schedule;
  schedule.initiation_interval = 2 * schedule.length;  // one stage
  Placer placer(l, problem, schedule);
  const RegionMemory before = region_memory(l, placer);
  placer.issue_ahead(true);
  const RegionMemory after = region_memory(l, placer);
  constexpr std::int64_t kTiles = 64 * 64 * (2 + 4 + 2);  // bytes of an iteration's loads
  CHECK(after.once - before.once >= 2 * kTiles);
}

TEST_CASE("a variable of the loop is read where it is made, or there are no partitions") {
  const LoweredModule l = test::lowered("blackwell-attention-forward");
  const Problem& problem = l.problems.front().problem;
  Schedule schedule = test::serial_schedule(problem);
  std::vector<std::string> remarks;
  CHECK(holds(emit_ttgir(l, problem, schedule, &remarks), "ttg.partition.stages"));
  // The sum, on another slot than the product with the sum before it.
  std::vector<int> wide;
  for (std::size_t w = 0; w < problem.warps.size(); ++w)
    if (problem.warps[w].width >= 4) wide.push_back(static_cast<int>(w));
  REQUIRE(wide.size() > 1);
  for (std::size_t v = 0; v < problem.ops.size(); ++v) {
    if (problem.ops[v].id == "l_27") schedule.warp[v] = wide[0];
    if (problem.ops[v].id == "l_29") schedule.warp[v] = wide[1];
  }
  const std::string text = emit_ttgir(l, problem, schedule, &remarks);
  REQUIRE(!remarks.empty());
  CHECK_MESSAGE(holds(remarks.back(), "a variable of the loop, is read in another partition"),
                remarks.back());
  CHECK(holds(remarks.back(), "partitions are Triton's own"));
  CHECK(holds(text, "warp_specialize"));
  CHECK(!holds(text, "ttg.partition"));
}

TEST_CASE("partitions that take their ops in the order of the text never wait for ever") {
  int loops = 0, waiting = 0;
  for (const std::string& name : test::shipped_modules()) {
    if (name.find("blackwell") == std::string::npos) continue;
    CAPTURE(name);
    const LoweredModule l = test::lowered(name);
    Problem problem = l.problems.front().problem;
    problem.pins = partition_pins(l, problem);
    Options options;
    options.time_limit = 20;
    options.conflict_limit = 2000;
    const Solution solution = solve(problem, options);
    if (!solution.schedule) continue;
    Placer placer(l, problem, *solution.schedule);
    if (placer.opens_loops() || !why_no_partitions(l, placer).why.empty()) continue;
    ++loops;
    constexpr std::int64_t kDepth = 2;
    const bool ends = take_turns(l, problem, placer, kDepth).ends;
    waiting += ends ? 0 : 1;
    CHECK(settle_turns(l, problem, placer, kDepth).ends);
    CHECK(take_turns(l, problem, placer, kDepth).ends);
    std::set<int> all;
    for (int id = 0; id < placer.partitions(); ++id) all.insert(id);
    placer.keep_text_order(all);
    const Turns turns = take_turns(l, problem, placer, kDepth);
    CHECK(turns.ends);
    CHECK(turns.interval > 0);
  }
  CHECK(loops >= 5);
  CHECK(waiting >= 1);  // in the order of the schedule
}

TEST_CASE("a descriptor that the loop makes has a place for every iteration that uses one") {
  // (Triton's pipeliner gives it as many as the deepest stage says: none, when that is 0.)
  const std::string head =
      R"(#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
!d = !tt.tensordesc<128x64xf16, #shared>
!t = tensor<128x64xf16, #blocked>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"} {
  tt.func public @f(%n: i32, %x: !t, %p: !tt.ptr<f16>, %w: i64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant 1 : i64
)";
  const auto deepest = [](const std::string& text) {
    const auto [said, out] = emitted(text, "hopper");
    const std::string key = "tt.scheduled_max_stage = ";
    REQUIRE(holds(out, key));
    long long stages = 0;  // that ops have
    for (std::size_t at = 0; (at = out.find("loop.stage = ", at)) != std::string::npos; ++at)
      stages = std::max(stages, std::stoll(out.substr(at + 13)));
    return std::stoll(out.substr(out.find(key) + key.size())) - stages;
  };
  const std::string make =
      "tt.make_tensor_descriptor %p, [%n, %n], [%w, %one] : <f16>, "
      "<128x64xf16, #shared>\n";
  const std::string store = "      tt.descriptor_store %d[%i, %c0], %x : !d, !t\n";
  const std::string loop = "    scf.for %i = %c0 to %n step %c1  : i32 {\n", end = "    }\n",
                    tail = "    tt.return\n  }\n}\n";
  CHECK(deepest(head + "    %d = " + make + loop + store + end + tail) == 0);
  CHECK(deepest(head + loop + "      %d = " + make + store + end + tail) == 2);
  // In a branch, and one that is kept for the next iteration.
  CHECK(deepest(head + "    %d = " + make + loop + store +
                "      %q = arith.cmpi eq, %i, %c1 : i32\n      scf.if %q {\n        %e = " + make +
                "        tt.descriptor_store %e[%i, %c0], %x : !d, !t\n      }\n" + end + tail) ==
        2);
  CHECK(deepest(head + "    %e = " + make +
                "    %r = scf.for %i = %c0 to %n step %c1 iter_args(%d = %e) -> (!d)  : i32 {\n" +
                store + "      %g = " + make + "      scf.yield %g : !d\n" + end + tail) == 3);
  // In a loop within: all of its iterations would have one place.
  const auto [said, out] =
      emitted(head + loop + "      scf.for %k = %c0 to %n step %c1  : i32 {\n        %d = " + make +
                  "        tt.descriptor_store %d[%k, %i], %x : !d, !t\n      }\n" + end + tail,
              "hopper", 0);
  CHECK(holds(said, "in it makes descriptors"));
  CHECK_FALSE(holds(out, "loop.stage"));
  CHECK_FALSE(holds(out, "tt.scheduled_max_stage"));
}

TEST_CASE("a descriptor that the loop makes and uses in several stages is made in no partition") {
  const auto said = [](const std::string& stored, const std::string& second) {
    const std::string text =
        R"(#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
!d = !tt.tensordesc<128x64xf16, #shared>
!t = tensor<128x64xf16, #blocked>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  tt.func public @f(%n: i32, %p: !tt.ptr<f16>, %w: i64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant 1 : i64
    scf.for %i = %c0 to %n step %c1  : i32 {
      %d = tt.make_tensor_descriptor %p, [%n, %n], [%w, %one] : <f16>, <128x64xf16, #shared>
      %x = tt.descriptor_load %d[%i, %c0] : !d -> !t
)" + second +
        R"(      %y = arith.addf %x, %x : !t
      %z = arith.addf %y, %x : !t
      tt.descriptor_store )" +
        stored + R"([%i, %c0], %z : !d, !t
    } {tt.warp_specialize}
    tt.return
  }
}
)";
    const LoweredModule l = lower_module(text, "m", builtin_machine("blackwell"), "blackwell", {},
                                         test::streaming_loads());
    const Lowered* best = nullptr;
    std::optional<Solution> solution;
    for (const Lowered& p : l.problems) {
      Options options;
      options.time_limit = 20;
      Solution s = solve(p.problem, options);
      if (!s.schedule ||
          (solution && s.schedule->initiation_interval >= solution->schedule->initiation_interval))
        continue;
      best = &p;
      solution = std::move(s);
    }
    REQUIRE(best != nullptr);
    std::vector<std::string> remarks;
    emit_ttgir(l, best->problem, *solution->schedule, &remarks);
    std::string all;
    for (const std::string& remark : remarks) all += remark + "\n";
    return all;
  };
  const std::string late =
      "the op of line 15 uses a descriptor that the loop makes in an earlier stage";
  CHECK(holds(said("%d", ""), late));
  const std::string second =
      "      %e = tt.make_tensor_descriptor %p, [%n, %n], [%w, %one] : <f16>, <128x64xf16, "
      "#shared>\n";
  const std::string none = said("%e", second);
  CHECK_FALSE(holds(none, "a descriptor"));
  CHECK_FALSE(holds(none, "no partitions"));
}

TEST_CASE("Triton looks for tt.disallow_acc_multi_buffer at the loop that is partitioned") {
  std::string text = test::module_text("blackwell-gemm-persistent");
  const std::string none = emitted(text, "blackwell", 1).second;
  CHECK_FALSE(holds(none, "tt.disallow_acc_multi_buffer"));
  const Module m = parse_module(text, "m");
  Editor editor(m);
  for (std::size_t op = 0; op < m.ops.size(); ++op)
    if (m.ops[op].name == "scf.for" && !m.ops[op].results.empty())
      editor.set(static_cast<int>(op), "tt.disallow_acc_multi_buffer", "");
  const std::string out = emitted(editor.text(), "blackwell", 1).second;
  const Module after = parse_module(out, "m");
  int found = 0;
  for (const Operation& op : after.ops) {
    bool has = false;
    after.attribute(op, "tt.disallow_acc_multi_buffer", &has);
    found += has && op.name == "scf.for" ? 1 : 0;
  }
  CHECK(found == 2);
}

TEST_CASE("an attribute is taken off, and the comma with it") {
  const auto without = [](const std::string& dictionary, bool more) {
    const Module m = parse_module("module {\n  tt.func @f(%a: i32) {\n    tt.z %a " + dictionary +
                                      " : i32\n    tt.return\n  }\n}\n",
                                  "t");
    Editor editor(m);
    for (std::size_t op = 0; op < m.ops.size(); ++op) {
      if (m.ops[op].name != "tt.z") continue;
      editor.remove(static_cast<int>(op), "u");
      if (more) editor.set(static_cast<int>(op), "k", "1");
    }
    const std::string text = editor.text();
    const std::size_t begin = text.find("tt.z %a ") + 8;
    return text.substr(begin, text.find(" : i32", begin) - begin);
  };
  CHECK(without("{u}", false) == "{}");
  CHECK(without("{u}", true) == "{k = 1}");
  CHECK(without("{u, b = 2}", true) == "{k = 1, b = 2}");
  CHECK(without("{b = 2, u}", true) == "{k = 1, b = 2}");
  CHECK(without("{b = 2, u, c}", false) == "{b = 2, c}");
  CHECK(without("{b = 2}", true) == "{k = 1, b = 2}");
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

namespace {

/// The partitions of an annotated module's ops by name of their first result, or of the op.
std::map<std::string, std::string> partitions_of(const Module& m) {
  std::map<std::string, std::string> found;
  for (const Operation& op : m.ops) {
    bool has = false;
    const std::string ids(m.attribute(op, "ttg.partition", &has));
    const std::string name(op.results.empty() ? op.name : m.value(op.results[0]).name);
    if (has) found[name] = ids.substr(11, ids.size() - 12);  // array<i32: 0, 1>
  }
  return found;
}

}  // namespace

TEST_CASE("an inner loop under tt.warp_specialize: the outer one is partitioned with it") {
  const auto [said, out] = emitted(test::module_text("blackwell-gemm-persistent"), "blackwell", 1);
  CHECK(holds(said, "line 45, column 5: the outer loop is partitioned with the loop"));
  const Module m = parse_module(out, "m");
  auto at = partitions_of(m);
  CHECK(at["a"] != at["acc_17"]);
  for (const std::string id : {"acc_8", "acc_10", "1", "2"}) CHECK_MESSAGE(at[id] == "0", id);
  for (const Operation& op : m.ops) {
    if (op.name != "scf.for") continue;
    bool root = false, staged = false;
    m.attribute(op, "ttg.partition.stages", &root);
    m.attribute(op, "tt.scheduled_max_stage", &staged);
    CHECK(root == op.results.empty());
    CHECK(staged == !op.results.empty());
  }
}

TEST_CASE(
    "products of Hopper are in the last stage, loads ahead of them, in an order that can be") {
  int gathered = 0;
  for (const std::string& name : test::shipped_modules()) {
    if (name.find("hopper") == std::string::npos) continue;
    CAPTURE(name);
    const LoweredModule l = test::lowered(name);
    const Problem& problem = l.problems.front().problem;
    std::vector<std::string> remarks;
    const std::string text = emit_ttgir(l, problem, test::serial_schedule(problem), &remarks);
    const Module m = parse_module(text, name);
    const Operation& loop = m.op(l.loop.loop);
    const auto number = [&](const Operation& op, const char* key) {
      bool has = false;
      const std::string value(m.attribute(op, key, &has));
      REQUIRE(has);
      return std::stoll(value);
    };
    const auto last = number(loop, "tt.scheduled_max_stage");
    std::map<int, std::pair<long long, long long>> made;  // value -> where
    bool products = false;
    for (const int index :
         m.block(m.regions[static_cast<std::size_t>(loop.regions[0])].blocks[0]).ops) {
      const Operation& op = m.op(index);
      if (class_of(op) == OpClass::terminator) continue;
      const std::pair place(number(op, "loop.stage"), number(op, "loop.cluster"));
      products = products || op.name == "ttng.warp_group_dot";
      if (op.name == "ttng.warp_group_dot") CHECK(place.first == last);
      for (const int value : op.operands)
        if (const auto found = made.find(value); found != made.end()) CHECK(found->second <= place);
      for (const int value : op.results) made[value] = place;
    }
    const bool said = std::any_of(remarks.begin(), remarks.end(), [](const std::string& remark) {
      return holds(remark, "all but the loads is handed over in one stage");
    });
    CHECK((products || !said));
    gathered += said ? 1 : 0;
  }
  CHECK(gathered >= 3);
}

TEST_CASE("what Triton takes: inner loops are spread, pointer loads stay with their users") {
  const LoweredModule gemm = test::lowered("blackwell-gemm-persistent");
  const Problem& problem = gemm.problems.front().problem;
  // Computing on one wide slot, stores (and the inner loop's loads) on the variable-latency one.
  Schedule schedule = test::serial_schedule(problem);
  std::vector<std::string> remarks;
  const Module m = parse_module(emit_ttgir(gemm, problem, schedule, &remarks), "m");
  auto at = partitions_of(m);
  const std::string loads = at["tt.descriptor_store"], products = at["acc_17"];
  CHECK(loads != products);
  for (const std::string id : {"a", "a_14", "b", "acc_15"}) CHECK_MESSAGE(at[id] == loads, id);
  CHECK(at["acc_16"] == products);  // the view that it reads
  CHECK(at["row"] == loads);        // an index of loads and stores only
  CHECK(at["acc_9"] == "1, 2");     // the inner loop is where its ops are
  CHECK(at["acc_10"] == "0");       // and what reads the accumulator in the default
  CHECK(at["acc_8"] == "0");
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0].find("line 52, column ") == 0);
  bool found = false;
  for (const Operation& op : m.ops)
    if (!op.results.empty() && m.value(op.results[0]).name == "acc_9" && op.results.size() == 2)
      CHECK(m.attribute(op, "ttg.partition.outputs", &found) ==
            "[array<i32: " + products + ">, array<i32: " + products + ">]");
  CHECK(found);

  const LoweredModule norm = test::lowered("blackwell-layer-norm");
  const Problem& rows = norm.problems.front().problem;
  const Module n = parse_module(emit_ttgir(norm, rows, test::serial_schedule(rows), &remarks), "n");
  at = partitions_of(n);
  CHECK(remarks.size() == 4);  // three loads, and tt.warp_specialize
  CHECK(at["x_19"] == at["5"]);
  CHECK(at["w_21"] == at["7"]);
  CHECK(at["b_23"] == at["8"]);
  CHECK(at["x_18"] == at["x_19"]);  // its addresses
  CHECK(at["tt.store"] != at["8"]);
  CHECK(at["inside_17"].find(", ") != std::string::npos);  // the mask of loads and stores
}

TEST_CASE("pins for Triton: products together, a buffer's loads and stores together") {
  const auto texts = [](const std::string& name) {
    const LoweredModule lowered = test::lowered(name);
    Problem problem = lowered.problems.front().problem;
    std::set<std::string> found;
    for (const Pin& pin : partition_pins(lowered, problem)) found.insert(pin_text(problem, pin));
    return found;
  };
  CHECK(texts("blackwell-gemm-persistent") ==
        std::set<std::string>{"acc_8 on the slot of descriptor_store.stage.chunks"});
  CHECK(texts("blackwell-attention-forward") ==
        std::set<std::string>{"pin of s_15 to mma", "pin of acc_39 to mma",
                              "acc_36 on the slot of acc_37", "l_29 on the slot of l_27",
                              "m_new_20 on the slot of alpha"});
  CHECK(texts("ampere-gemm-pointers").empty());
}

TEST_CASE("a value without a type, of an unknown op, is nothing to be handed on") {
  const std::string name = "blackwell-attention-forward";
  std::string text = test::module_text(name);
  const std::string load = "= tt.descriptor_load %k_desc[";
  const std::size_t at = text.rfind('\n', text.find(load));
  REQUIRE(at != std::string::npos);
  text.insert(at, "\n      %mine = acme.number\n      %again = arith.addi %mine, %mine : i32");
  const LoweredModule lowered =
      lower_module(text, name, builtin_machine("blackwell"), "blackwell", {}, {});
  const Problem& problem = lowered.problems.front().problem;
  const Schedule schedule = test::serial_schedule(problem);
  CHECK(pins_for_memory(lowered, problem, schedule).empty());
}

TEST_CASE("around a loop that is partitioned alone nothing has a partition") {
  const LoweredModule lowered = test::lowered("blackwell-gemm-grouped");
  const Problem& problem = lowered.problems.front().problem;
  const Module m = parse_module(emit_ttgir(lowered, problem, test::serial_schedule(problem)), "m");
  auto at = partitions_of(m);
  for (const std::string id : {"acc_29", "1", "2", "tt.descriptor_store", "tile_31"})
    CHECK_MESSAGE(at.count(id) == 0, id);
  CHECK(at["acc_34"] != at["acc_39"]);
}

TEST_CASE("a sub-tiled loop has ops that the module has not") {
  const LoweredModule lowered = test::lowered("blackwell-attention-forward-m256", 2);
  const Problem& problem = lowered.problems.front().problem;
  CHECK_THROWS_AS(emit_ttgir(lowered, problem, test::serial_schedule(problem)), InputError);
}

TEST_CASE("attributes of a schedule that were there before are gone, or are the new ones") {
  for (const std::string name : {"blackwell-attention-forward", "hopper-gemm-persistent"}) {
    CAPTURE(name);
    const LoweredModule clean = test::lowered(name);
    const Problem& problem = clean.problems.front().problem;
    const Module m = parse_module(test::module_text(name), name);
    Editor editor(m);
    for (std::size_t op = 0; op < m.ops.size(); op += 2) {
      if (m.ops[op].name == "tt.func" || m.ops[op].name == "module") continue;
      for (const char* attribute : {"loop.stage", "loop.cluster", "ttg.partition"})
        editor.set(static_cast<int>(op), attribute, "777 : i32");
    }
    const std::string stale = editor.text();
    REQUIRE(stale.find("777") != std::string::npos);
    const LoweredModule again = lower_module(stale, name, builtin_machine(test::machine_of(name)),
                                             test::machine_of(name), {}, test::streaming_loads());
    const std::string text =
        emit_ttgir(again, again.problems.front().problem, test::serial_schedule(problem));
    CHECK(text.find("777") == std::string::npos);
  }
}

TEST_CASE("a shared layout without the width of its elements gets no stages") {
  std::string text = test::module_text("hopper-attention-forward");
  const std::string width = ", elementBitWidth = 16";
  CHECK(holds(emitted(text, "hopper").second, "loop.stage"));
  for (std::size_t at = 0; (at = text.find(width)) != std::string::npos;)
    text.erase(at, width.size());
  try {
    emitted(text, "hopper");
    CHECK(false);
  } catch (const InputError& error) {
    CHECK(holds(error.what(), "must say its elementBitWidth"));
    CHECK(holds(error.place(), "line "));
  }
}

}  // namespace ttgir_emit_test
