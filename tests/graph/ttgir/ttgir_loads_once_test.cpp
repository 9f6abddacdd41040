// A tile that is loaded in two layouts is loaded once, where the function stores to its argument
// and not between the loads. What is stored is judged where the text is executed
// (tests/emit/emit_library_test.py, parts-merged).
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "graph/error.hpp"
#include "graph/ttgir/loads_once.hpp"
#include "graph/ttgir/parser.hpp"
#include "tests/support/module_mutants.hpp"
#include "tests/support/replaced.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_loads_once_test {

using namespace twill;
using test::replaced;

namespace {

/// How many loads become conversions of others.
int merged(const std::string& text) {
  const auto loads = [](const ttgir::Module& module) {
    return static_cast<int>(std::count_if(module.ops.begin(), module.ops.end(),
                                          [](const auto& op) { return op.name == "tt.load"; }));
  };
  const auto module = ttgir::parse_module(text, "module");
  const auto made = ttgir::with_loads_once(module);
  return made ? loads(module) - loads(*made) : 0;
}

/// `text` twice, with @ for the layout.
std::string in_both(const std::string& text) {
  std::string all;
  for (const char layout : {'b', 'c'})
    for (const char c : text)
      if (c == '@')
        all += std::string("#") + layout;
      else if (c == '!' && !all.empty() && all.back() == '%')
        all.back() = '%', all += layout;
      else
        all += c;
  return all;
}

/// A loop that loads behind %p in two layouts and stores to it; `between`: between the loads.
std::string loop(const std::string& between = "") {
  std::string text =
      "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n"
      "  tt.func public @f(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %n: i32) {\n"
      "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n"
      "    scf.for %i = %c0 to %n step %c1  : i32 {\n";
  text += in_both(
      "      %!r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, @>\n"
      "      %!s = tt.splat %i : i32 -> tensor<128xi32, @>\n"
      "      %!a = arith.addi %!r, %!s : tensor<128xi32, @>\n"
      "      %!m = arith.cmpi slt, %!a, %!s : tensor<128xi32, @>\n"
      "      %!p = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, @>\n"
      "      %!t = tt.addptr %!p, %!a : tensor<128x!tt.ptr<f32>, @>, tensor<128xi32, @>\n");
  return text + "      %x = tt.load %bt, %bm : tensor<128x!tt.ptr<f32>, #b>\n" + between +
         "      %y = tt.load %ct, %cm : tensor<128x!tt.ptr<f32>, #c>\n"
         "      tt.store %ct, %y, %cm : tensor<128x!tt.ptr<f32>, #c>\n"
         "    }\n    tt.return\n  }\n}\n";
}

}  // namespace

TEST_CASE("a tile that is loaded twice is loaded once") {
  CHECK(merged(loop()) == 1);
  CHECK(merged(loop("      %z = arith.addf %x, %x : tensor<128xf32, #b>\n")) == 1);
  for (const std::string machine : {"hopper", "blackwell"}) {
    const std::string text = read_file(TWILL_TEST_DATA "/ttgir/parts-merged-" + machine + ".ttgir");
    CHECK(merged(text) == 1);  // (Of two: nobody stores to the other one's argument.)
  }
}

TEST_CASE("other loads stay") {
  const std::string text = loop();
  // Something may have been stored between them.
  for (const std::string between :
       {"      tt.store %bt, %x : tensor<128x!tt.ptr<f32>, #b>\n",
        "      tt.call @g(%p) : (!tt.ptr<f32>) -> ()\n",
        "      %w = tt.elementwise_inline_asm \"a\" {pure = false} %n : i32 -> i32\n",
        "      scf.for %j = %c0 to %n step %c1  : i32 {\n        tt.store %bt, %x : "
        "tensor<128x!tt.ptr<f32>, #b>\n      }\n"}) {
    CAPTURE(between);
    CHECK(merged(loop(between)) == 0);
  }
  // Other places, another mask, none, what is outside, an argument that is stored to by nobody.
  CHECK(merged(replaced(text, "%cr = tt.make_range {end = 128 : i32, start = 0 : i32}",
                        "%cr = tt.make_range {end = 129 : i32, start = 1 : i32}")) == 0);
  CHECK(merged(replaced(text, "%ca = arith.addi", "%ca = arith.subi")) == 0);
  CHECK(merged(replaced(text, "%ca = arith.addi %cr, %cs", "%ca = arith.addi %cr, %cr")) == 0);
  CHECK(merged(replaced(text, "%cm = arith.cmpi slt", "%cm = arith.cmpi sle")) == 0);
  CHECK(merged(replaced(text, "tt.load %ct, %cm", "tt.load %ct")) == 0);
  CHECK(merged(replaced(text, "%cp = tt.splat %p", "%cp = tt.splat %q")) == 0);
  CHECK(merged(replaced(text, "tt.store %ct, %y", "tt.store %ct0, %y")
                   .insert(text.find("      %x ="),
                           "      %cq = tt.splat %q : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, "
                           "#c>\n      %ct0 = tt.addptr %cq, %ca : tensor<128x!tt.ptr<f32>, #c>, "
                           "tensor<128xi32, #c>\n")) == 0);
  CHECK(merged(replaced(text, "tt.load %ct, %cm", "tt.load %ct, %cm {isVolatile = true}")) == 0);
}

TEST_CASE("places that double at each step, and many loads, end") {
  std::string lines, text = loop();
  for (int k = 0; k < 60; ++k)
    for (const std::string layout : {"b", "c"}) {
      const std::string before =
          k == 0 ? "%" + layout + "a" : "%" + layout + "d" + std::to_string(k - 1);
      lines += "      %" + layout + "d" + std::to_string(k) + " = arith.addi " + before + ", " +
               before + " : tensor<128xi32, #" + layout + ">\n";
    }
  std::string deep = replaced(text, "      %x = ",
                              lines +
                                  "      %bu = tt.addptr %bp, %bd59 : tensor<128x!tt.ptr<f32>, "
                                  "#b>, tensor<128xi32, #b>\n      %cu = tt.addptr %cp, %cd59 : "
                                  "tensor<128x!tt.ptr<f32>, #c>, tensor<128xi32, #c>\n      %x = ");
  deep = replaced(replaced(deep, "tt.load %bt", "tt.load %bu"), "tt.load %ct", "tt.load %cu");
  CHECK(merged(deep) == 0);
  std::string many;
  for (int k = 0; k < 500; ++k)
    many += "      %x" + std::to_string(k) + " = tt.load %ct, %cm : tensor<128x!tt.ptr<f32>, #c>\n";
  CHECK(merged(loop(many)) == 501);
}

TEST_CASE("mutants of modules with such loads do no harm") {
  for (const std::string name : {"parts-merged-hopper", "parts-merged-blackwell"}) {
    test::on_mutants(read_file(TWILL_TEST_DATA "/ttgir/" + name + ".ttgir"),
                     [](const auto& module) { ttgir::with_loads_once(module); });
  }
}

}  // namespace ttgir_loads_once_test
