// Loads in branches of loops go in front of them: the module computes what it computed, by the
// interpreter, which executes branches as they are; others stay.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "graph/io/builtin.hpp"
#include "graph/ttgir/loads_ahead.hpp"
#include "graph/ttgir/loops.hpp"
#include "graph/ttgir/module_run.hpp"
#include "graph/ttgir/parser.hpp"
#include "tests/support/module_mutants.hpp"
#include "tests/support/module_text.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_loads_ahead_test {

using namespace twill;
constexpr auto with = test::replaced;

namespace {

const std::string kTile = "tensor<16x64xf32>", kPointers = "tensor<16x64x!tt.ptr<f32>>";

/// A loop with a branch that has these lines; %at are pointers, %flag is the condition.
std::string loop(const std::string& then, const std::string& otherwise) {
  return "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n"
         "  tt.func public @f(%p: !tt.ptr<f32>, %n: i32, %at: " +
         kPointers + ", %m: tensor<16x64xi1>, %o: " + kTile + ", %flag: i1, %first: " + kTile +
         ") {\n"
         "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n"
         "    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %first) -> (" +
         kTile +
         ")  : i32 {\n"
         "      %y = scf.if %flag -> (" +
         kTile + ") {\n" + then + "      } else {\n" + otherwise +
         "      }\n      scf.yield %y : " + kTile + "\n    }\n    tt.store %at, %r : " + kPointers +
         "\n    tt.return\n  }\n}\n";
}
const std::string kLoad = "        %x = tt.load %at : " + kPointers + "\n",
                  kAdd = "        %z = arith.addf %acc, %x : " + kTile + "\n",
                  kYield = "        scf.yield %z : " + kTile + "\n",
                  kKept = "        scf.yield %acc : " + kTile + "\n";

/// How many loads stand in the loop itself, of a module that has been changed; -1 = it has not.
int ahead(const std::string& text) {
  const auto made = ttgir::with_loads_ahead(ttgir::parse_module(text, "module"));
  if (!made) return -1;
  return static_cast<int>(std::count_if(made->ops.begin(), made->ops.end(), [&](const auto& op) {
    const int around = made->parent(static_cast<int>(&op - made->ops.data()));
    return op.name == "tt.load" && made->op(around).name == "scf.for";
  }));
}

}  // namespace

TEST_CASE("loads in branches go in front of them, others stay") {
  const std::string good = loop(kLoad + kAdd + kYield, kKept);
  CHECK(ahead(good) == 1);
  CHECK(ahead(loop(kKept, kLoad + kAdd + kYield)) == 1);
  CHECK(ahead(loop(kLoad + kAdd + kYield, kLoad + kAdd + kYield)) == 2);
  CHECK(ahead(with(good, "tt.load %at", "tt.load %at, %m")) == 1);
  CHECK(ahead(with(good, "tt.load %at", "tt.load %at, %m, %o")) == 1);
  // What is loaded may be what the branch has stored.
  const std::string store = "        tt.store %at, %acc : " + kPointers + "\n";
  CHECK(ahead(loop(store + kLoad + kAdd + kYield, kKept)) == -1);
  CHECK(ahead(loop(kLoad + store + kAdd + kYield, kKept)) == 1);
  // A number that is loaded for a place, another division than by a number, a volatile load.
  const std::string number = "        %q = tt.load %p : !tt.ptr<f32>\n";
  CHECK(ahead(loop(number + "        %x = tt.splat %q : f32 -> " + kTile + "\n" + kAdd + kYield,
                   kKept)) == -1);
  const auto moved = [&](const std::string& by) {
    return loop("        %j = arith.divsi %i, " + by +
                    " : i32\n        %js = tt.splat %j : i32 -> tensor<16x64xi32>\n"
                    "        %to = tt.addptr %at, %js : " +
                    kPointers + ", tensor<16x64xi32>\n        %x = tt.load %to : " + kPointers +
                    "\n" + kAdd + kYield,
                kKept);
  };
  CHECK(ahead(moved("%c1")) == 1);
  CHECK(ahead(moved("%c0")) == -1);
  CHECK(ahead(moved("%n")) == -1);
  CHECK(ahead(with(good, "tt.load %at :", "tt.load %at {isVolatile = true} :")) == -1);
  // One that a product in the branch finds.
  CHECK(ahead(with(good, kLoad,
                   "        scf.for %k = %c0 to %n step %c1  : i32 {\n          scf.yield\n"
                   "        }\n" +
                       kLoad)) == -1);
}

TEST_CASE("a module whose loads stand before its branches stores what it did") {
  for (const bool turned : {false, true}) {
    CAPTURE(turned);
    std::string text = read_file(TWILL_TEST_DATA "/ttgir/blocks-left-out-hopper.ttgir");
    if (turned) text = test::with_sides_exchanged(text);
    const ttgir::Module before = ttgir::parse_module(text, "m");
    const auto after = ttgir::with_loads_ahead(before);
    REQUIRE(after);
    test::check_stores_the_same(text, "hopper", before, *after);
  }
}

TEST_CASE("modules with a fault are refused or changed without harm") {
  int changed = 0;
  test::on_mutants(
      read_file(TWILL_TEST_DATA "/ttgir/blocks-left-out-hopper.ttgir"),
      [&](const ttgir::Module& module) { changed += ttgir::with_loads_ahead(module) ? 1 : 0; });
  CHECK(changed > 0);
}

}  // namespace ttgir_loads_ahead_test
