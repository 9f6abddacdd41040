// Several modules in one file are read one by one; what a compiler has scheduled already is refused
// unless it can be undone; numbers that a module states are bounded.
#include <doctest/doctest.h>

#include <algorithm>

#include "graph/error.hpp"
#include "graph/problem_io.hpp"
#include "graph/ttgir/emit.hpp"
#include "graph/ttgir/modules.hpp"
#include "tests/support/serial_schedule.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_modules_test {

using namespace twill;
using namespace twill::ttgir;

namespace {

LoweredModule lowered(const std::string& text, std::optional<int> module = std::nullopt,
                      const std::string& machine = "hopper") {
  LoopOptions options;
  options.module = module;
  return lower_module(text, "file", builtin_machine(machine), machine, options,
                      test::streaming_loads());
}

std::string problem_of(const std::string& text, std::optional<int> module = std::nullopt) {
  return problem_text(lowered(text, module).problems.front().problem);
}

std::string refusal(const std::string& text, std::optional<int> module = std::nullopt,
                    const std::string& machine = "hopper") {
  try {
    lowered(text, module, machine);
    return "accepted";
  } catch (const InputError& error) {
    return error.what();
  }
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A loop over `body`, which may use %t (a tile), %a (a number) and the loop's %i; line 5 is its
/// first.
std::string loop_of(const std::string& body, const std::string& attributes = "") {
  return "!t = tensor<128x128xf32>\nmodule attributes {\"ttg.num-warps\" = 4 : i32} {\n"
         "  tt.func public @f(%a: i32, %t: !t) {\n"
         "    scf.for %i = %a to %a step %a  : i32 {\n" +
         body + "      scf.yield\n    }" + attributes + "\n    tt.return\n  }\n}\n";
}

const std::string kAdd = "      %x = arith.addf %t, %t : !t\n";

}  // namespace

TEST_CASE("each of several modules is read as if it were alone") {
  // Other warps, other layouts under the same names.
  const std::string a = test::module_text("hopper-attention-forward");
  const std::string b = test::module_text("hopper-layer-norm");
  for (const std::string between :
       {"", "// -----\n", "\n// -----// IR Dump Before X //----- //\n"}) {
    CAPTURE(between);
    const std::string both = a + between + b + between + a;
    REQUIRE(split_modules(both).size() == 3);
    CHECK(problem_of(both, 0) == problem_of(a));
    CHECK(problem_of(both, 1) == problem_of(b));
    CHECK(problem_of(both, 2) == problem_of(a));
    CHECK(lowered(both, 1).loop.warps == lowered(b).loop.warps);
    const std::string what = refusal(both);
    CHECK_MESSAGE(has(what, "3 modules in one file"), what);
    CHECK(has(what, "--module 0 to 2"));
    CHECK(has(what, "file: line "));
    CHECK(has(refusal(both, 3), "must be a module from 0 to 2"));
    CHECK(has(refusal(both, -1), "must be a module from 0 to 2"));
    // Lines are the file's.
    const LoweredModule second = lowered(both, 1), alone = lowered(b);
    const auto before =
        std::count(both.begin(), both.end(), '\n') - std::count(a.begin(), a.end(), '\n') -
        std::count(b.begin(), b.end(), '\n') - std::count(between.begin(), between.end(), '\n');
    CHECK(second.module.op(second.loop.loop).line ==
          alone.module.op(alone.loop.loop).line + static_cast<std::uint32_t>(before));
    // What is written back is the one module.
    const auto written = [](const LoweredModule& l) {
      const Problem& problem = l.problems.front().problem;
      return emit_ttgir(l, problem, test::serial_schedule(problem));
    };
    const std::string text = written(second);
    REQUIRE(split_modules(text).size() == 1);
    CHECK(problem_of(text) == problem_of(b));
    if (between == "// -----\n") CHECK(text == written(alone));
  }
  CHECK(problem_of(a, 0) == problem_of(a));
  CHECK(has(refusal(a, 1), "must be a module from 0 to 0"));
}

TEST_CASE("a module beside one that cannot be read, and the listing of both") {
  const std::string good = loop_of(kAdd);
  const std::string bad = "module {\n  tt.func @g(%a: i32) {\n    tt.x %nowhere : i32\n  }\n}\n";
  CHECK(problem_of(bad + good, 1) == problem_of(good));
  CHECK(has(refusal(bad + good, 0), "line 3, column 10"));
  const std::string listing =
      loop_listing(bad + "// -----// IR Dump Before Y //----- //\n" + good, "file", std::nullopt);
  CHECK(has(listing, "module 0  line 1\n  line 3, column 10: uses a value"));
  CHECK(has(listing, "module 1  line 8  IR Dump Before Y\n* 0  f  line "));
  CHECK(loop_listing(good, "file", std::nullopt) == loop_listing(good, "file", 0));
}

TEST_CASE("what opens a module and what does not") {
  CHECK(split_modules("").size() == 1);
  CHECK(split_modules("module {\n  module @x {\n  }\n}\n").size() == 1);
  CHECK(split_modules("// module {\nmodule @module {\n  \"module {\"() : () -> ()\n}\n").size() ==
        1);
  CHECK(split_modules("module {} module {}").size() == 2);
  CHECK(split_modules("\"builtin.module\"() ({\n}) : () -> ()\nbuiltin.module {\n}\n").size() == 2);
  CHECK(split_modules("tt.func @f() {\n}\ntt.func @g() {\n}\n").size() == 1);
  CHECK(split_modules("tt.func @f() {\n}\n// -----\ntt.func @f() {\n}\n").size() == 2);
  CHECK(split_modules("module {\n  \"unfinished\n// -----\nmodule {\n").size() == 2);
}

TEST_CASE("loops that are scheduled already are refused: what, where, and the way out") {
  REQUIRE(refusal(loop_of(kAdd)) == "accepted");
  const auto refused = [](const std::string& text, const std::string& seen) {
    const std::string what = refusal(text, std::nullopt, "blackwell");
    CHECK_MESSAGE(has(what, seen), what);
    CHECK_MESSAGE(has(what, "has been pipelined or partitioned already"), what);
    CHECK(has(what, "MLIR_ENABLE_DUMP=1"));
    CHECK(has(what, "TritonGPUAssignLatencies"));
  };
  refused(loop_of(kAdd + "      ttng.wait_barrier %t, %a : !t\n"),
          "line 6, column 7: found ttng.wait_barrier");
  refused(loop_of(kAdd + "      \"ttng.init_barrier\"(%t) <{count = 1 : i32}> : (!t) -> ()\n"),
          "found ttng.init_barrier");
  refused(loop_of(kAdd + "      nvws.aref.put.enter %a : i32\n"), "nvws.aref.put.enter");
  // Inside a partition, where nothing else is: that is the loop. Beside one in the same function.
  std::string inside = loop_of(kAdd);
  inside.insert(inside.find("    scf.for"), "    \"ttg.warp_specialize\"() ({\n");
  inside.insert(inside.find("    tt.return"), "    }) : () -> ()\n");
  CHECK(refusal(inside, std::nullopt, "blackwell") == "accepted");
  std::string beside = loop_of(kAdd);
  beside.insert(
      beside.find("    tt.return"),
      "    ttg.warp_specialize(%a)\n    default {\n      ttg.warp_yield\n    }\n"
      "    partition0(%b: i32) num_warps(1) {\n      ttg.warp_return\n    } : (i32) -> ()\n");
  CHECK(refusal(beside, std::nullopt, "blackwell") == "accepted");  // it is passed
}

TEST_CASE("a ring of buffers: with tokens it is read, without it is undone") {
  const std::string text = test::module_text("ampere-gemm-pipelined");
  CHECK(refusal(text, std::nullopt, "ampere") == "accepted");
  const auto warnings = lowered(text, std::nullopt, "ampere").loop.warnings;
  CHECK(std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
    return has(warning, "the loop has been pipelined before");
  }));
  std::string loose = text;
  for (std::size_t at = 0; (at = loose.find(" token %acc", at)) != std::string::npos;) {
    const std::size_t end = loose.find(" :", at);
    loose.erase(at, end - at);
  }
  // Without tokens the positions in the ring say which copy is read: the loop is undone.
  CHECK_FALSE(lowered(text, std::nullopt, "ampere").undone);
  CHECK(lowered(loose, std::nullopt, "ampere").undone);
  // A position that is not known says nothing.
  std::string unknown = loose;
  const std::size_t index = unknown.find("ttg.memdesc_index", unknown.find("scf.for"));
  REQUIRE(index != std::string::npos);
  const std::size_t open = unknown.find('[', index), close = unknown.find(']', index);
  unknown.replace(open + 1, close - open - 1, "%K");
  const std::string what = refusal(unknown, std::nullopt, "ampere");
  CHECK_MESSAGE(has(what, "has been pipelined or partitioned already and is not undone"), what);
}

TEST_CASE("what Twill annotated is read as it was before") {
  for (const std::string name : {"blackwell-attention-forward", "blackwell-gemm-persistent"}) {
    const LoweredModule first = test::lowered(name);
    const Problem& problem = first.problems.front().problem;
    const std::string text = emit_ttgir(first, problem, test::serial_schedule(problem));
    const LoweredModule second = lowered(text, std::nullopt, "blackwell");
    CHECK(problem_text(second.problems.front().problem) == problem_text(problem));
    REQUIRE(!second.loop.warnings.empty());
    CHECK(has(second.loop.warnings.front(), "set aside"));
    // One op without its stage, or partition, is the same op.
    std::string half = text;
    const std::string one = name == "blackwell-gemm-persistent" ? "ttg.partition" : "loop.stage";
    half.replace(half.find(one), one.size(), std::string(one.size(), 'x'));
    CHECK(problem_text(lowered(half, std::nullopt, "blackwell").problems.front().problem) ==
          problem_text(problem));
  }
}

TEST_CASE("numbers that a module states are bounded, with their line") {
  const auto refused = [](const std::string& text, const std::string& part) {
    const std::string what = refusal(text);
    CHECK_MESSAGE(has(what, part), what);
    CHECK_MESSAGE(has(what, "line "), what);
  };
  const auto warps = [](const std::string& value) {
    std::string text = loop_of(kAdd);
    text.replace(text.find("4 : i32"), 7, value);
    return text;
  };
  CHECK(refusal(warps("8 : i32")) == "accepted");
  for (const std::string value : {"0 : i32", "-4 : i32", "65 : i32", "99999999999 : i32", "\"4\""})
    refused(warps(value), "must be a number from 1 to 64");
  const auto type = [](const std::string& element) {
    std::string text = loop_of(kAdd);
    text.replace(5, text.find('\n') - 5, element);
    return text;
  };
  refused(
      type("tensor<128x128xf32, #ttg.blocked<{sizePerThread = [0, 1], threadsPerWarp = [1, 32], "
           "warpsPerCTA = [4, 1], order = [1, 0]}>>"),
      "sizePerThread must be from 1");
  refused(type("tensor<128x128xf32, #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, "
               "4294967296], warpsPerCTA = [4, 1], order = [1, 0]}>>"),
          "threadsPerWarp must be from 1 to 1048576, not 4294967296");
  refused(type("tensor<128x128xf32, #ttg.linear<{register = [[0, -1]], lane = [], warp = []}>>"),
          "register must be from 0");
  refused(loop_of("      %x = \"acme.make\"() : () -> tensor<1048576x1048576x2xf32>\n"),
          "line 5, column 34");
  refused(loop_of("      %x = \"acme.make\"() : () -> tensor<0x4xf32>\n"), "from 1 to");
  refused(loop_of("      %x = \"acme.make\"() : () -> tensor<?x4xf32>\n"),
          "extents that are numbers");
  for (const std::string axis : {"-1", "2", "99999999999", "x"})
    refused(loop_of("      %x = \"tt.reduce\"(%t) <{axis = " + axis +
                    " : i32}> ({\n      ^bb0(%p: f32, %q: f32):\n        %r = arith.addf %p, %q : "
                    "f32\n        tt.reduce.return %r : f32\n      }) : (!t) -> tensor<128xf32>\n"),
            "must be a dimension of its tile: from 0 to 1");
}

}  // namespace ttgir_modules_test
