// What is refused for its size names the module's ops, buffers and lines, and a layout that repeats
// values as the reason for its registers.
#include <doctest/doctest.h>

#include "graph/error.hpp"
#include "graph/ttgir/named_ops.hpp"
#include "graph/ttgir/other_warps.hpp"
#include "graph/ttgir/parser.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_names_test {

namespace {

using namespace twill;
using namespace twill::ttgir;

/// A loop over tiles of `rows` rows whose layout has `warps` warps along the columns.
std::string module_of(const std::string& rows, const std::string& warps,
                      const std::string& before) {
  return "#b = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = " +
         warps +
         ", order = [1, 0]}>\n"
         "#s = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = "
         "32}>\n"
         "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n"
         "  tt.func @f(%p: tensor<" +
         rows + "x64x!tt.ptr<f32>, #b>, %n: i32) {\n    %c0 = arith.constant 0 : i32\n" + before +
         "    scf.for %t = %c0 to %n step %n : i32 {\n"
         "      %x = tt.load %p : tensor<" +
         rows + "x64x!tt.ptr<f32>, #b>\n      %y = arith.addf %x, %x : tensor<" + rows +
         "x64xf32, #b>\n      tt.store %p, %y : tensor<" + rows + "x64x!tt.ptr<f32>, #b>\n" +
         (before.empty() ? "" : "      %z = ttg.local_load %q : !m -> tensor<256x256xf32, #b>\n") +
         "    }\n    tt.return\n  }\n}\n";
}

LoweredModule lowered(const std::string& text) {
  return lower_module(text, "t", builtin_machine("hopper"), "hopper", LoopOptions(), {});
}

std::string refusal(const std::string& text) {
  try {
    lowered(text);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("no layout can hold it: the op, its line, its layout") {
  const std::string repeated = refusal(module_of("512", "[1, 4]", ""));
  CHECK(has(repeated, "no layout can hold kernel"));
  CHECK(has(repeated, "x.read is tt.load of line 7, whose layout has each value in 4 threads"));
  const std::string once = refusal(module_of("1024", "[4, 1]", ""));
  CHECK(has(once, "x.read is tt.load of line 7"));
  CHECK(!has(once, "whose layout"));
}

TEST_CASE("what is resident is named with its line and its bytes") {
  const std::string said =
      refusal("!m = !ttg.memdesc<256x256xf32, #s, #ttg.shared_memory, mutable>\n" +
              module_of("64", "[4, 1]", "    %q = ttg.local_alloc : () -> !m\n"));
  CHECK(has(said, "held by %q of line 7 (262144)"));
}

TEST_CASE("the table of costs says where a layout repeats values") {
  CHECK(has(explain(lowered(module_of("64", "[1, 4]", ""))),
            "128 registers (its layout has each value in 4 threads"));
  CHECK(!has(explain(lowered(module_of("64", "[4, 1]", ""))), "each value"));
}

TEST_CASE("ops are named by whole words, in the order of the loop") {
  const LoweredModule module = lowered(module_of("64", "[4, 1]", ""));
  CHECK(named_ops(module.loop, module.module, {"yes: y.x, x", "nothing x.read."}) ==
        "x is tt.load of line 7");
  CHECK(named_ops(module.loop, module.module, {"y 64 + (x.read) 64 > 100"}) ==
        "x.read is tt.load of line 7; y is arith.addf of line 8");
  CHECK(named_ops(module.loop, module.module, {"", "of wg0: 64 > 32"}).empty());
}

TEST_CASE("a tile's layout is put on other warps whatever blanks stand before it") {
  const Module m = parse_module(module_of("64", "[4, 1]", ""), "t");
  const auto plain = on_other_warps("tensor<64x64xf32, #b>", 4, 8, m);
  const auto spaced = on_other_warps("tensor<64x64xf32,\t\n #b>", 4, 8, m);
  REQUIRE(plain);
  REQUIRE(spaced);
  CHECK(spaced->substr(spaced->find('#')) == plain->substr(plain->find('#')));
}

TEST_CASE("TTIR, which has no layouts and no number of warps, is told apart") {
  const auto warned = [](std::string text) {
    for (const std::string& warning : lowered(text).loop.warnings)
      if (has(warning, "it is TTIR")) return true;
    return false;
  };
  const std::string ttgir = module_of("64", "[4, 1]", "");
  std::string none = ttgir;
  for (std::size_t at = 0; (at = none.find(", #b>")) != std::string::npos;) none.erase(at, 4);
  std::string ttir = none;
  ttir.erase(ttir.find("\"ttg.num-warps\" = 4 : i32, "), 27);
  CHECK(!warned(ttgir));
  CHECK(!warned(none));
  CHECK(warned(ttir));
}

}  // namespace ttgir_names_test
