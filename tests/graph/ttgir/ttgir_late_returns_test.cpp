// Functions that store and return before their loop become such that do not: loops run 0 times
// there, and stores choose. What is stored is judged where the text is executed
// (tests/emit/emit_library_test.py, experts-skipped); here, what is taken, and what stays.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/error.hpp"
#include "graph/ttgir/late_returns.hpp"
#include "graph/ttgir/parser.hpp"
#include "tests/support/module_mutants.hpp"
#include "tests/support/replaced.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_late_returns_test {

using namespace twill;
using test::replaced;

namespace {

int count_of(const ttgir::Module& module, std::string_view name) {
  return static_cast<int>(std::count_if(module.ops.begin(), module.ops.end(),
                                        [&](const auto& op) { return op.name == name; }));
}

/// A function that returns early from `early`, else goes on in `late`, with a loop behind.
std::string function(const std::string& early, const std::string& late,
                     const std::string& after = "") {
  return "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n"
         "  tt.func public @f(%p: tensor<128x!tt.ptr<f32>, #b>, %q: !tt.ptr<i32>, %n: i32, %a: "
         "i32, %x: tensor<128xf32, #b>, %m: tensor<128xi1, #b>) {\n"
         "    %c0 = arith.constant 0 : i32\n"
         "    %c1 = arith.constant 1 : i32\n"
         "    %c7 = arith.constant 7 : i32\n"
         "    %f = arith.cmpi slt, %a, %c7 : i32\n"
         "    cf.cond_br %f, ^bb1, ^bb2\n"
         "  ^bb1:  // pred: ^bb0\n" +
         early + "    tt.return\n  ^bb2:  // pred: ^bb0\n" + late +
         "    %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> (tensor<128xf32, #b>)  : "
         "i32 {\n"
         "      %t = arith.addf %s, %s : tensor<128xf32, #b>\n"
         "      scf.yield %t : tensor<128xf32, #b>\n    }\n" +
         after + "    tt.return\n  }\n}\n";
}

const std::string kEarly = "    tt.store %p, %x, %m : tensor<128x!tt.ptr<f32>, #b>\n";
const std::string kAfter = "    tt.store %p, %r, %m : tensor<128x!tt.ptr<f32>, #b>\n";

struct Counts {
  int branches, stores, choices, masks;  ///< choices: of tiles and of ends of loops
  bool operator==(const Counts&) const = default;
};

/// Of what a function becomes; no branches, but one store: it stays as it is.
Counts counts(const std::string& text) {
  const auto made = ttgir::with_late_returns(ttgir::parse_module(text, "module"));
  if (!made) return {-1, 0, 0, 0};
  return {count_of(*made, "cf.cond_br"), count_of(*made, "tt.store"),
          count_of(*made, "arith.select"), count_of(*made, "arith.andi")};
}
const Counts kStays = {-1, 0, 0, 0};

}  // namespace

TEST_CASE("a store to the same places chooses, others get masks") {
  CHECK(counts(function(kEarly, "", kAfter)) == Counts{0, 1, 2, 0});
  // The same mask, made twice; another mask; none.
  const std::string made = "    %k = arith.andi %m, %m : tensor<128xi1, #b>\n";
  const std::string again = "    %l = arith.andi %m, %m : tensor<128xi1, #b>\n";
  CHECK(counts(function(made + replaced(kEarly, "%m", "%k"), "",
                        again + replaced(kAfter, "%m", "%l"))) == Counts{0, 1, 2, 2});
  CHECK(counts(function(kEarly, "", again + replaced(kAfter, "%m", "%l"))) == Counts{0, 2, 1, 3});
  CHECK(counts(function(kEarly, "", replaced(kAfter, ", %m", ""))) == Counts{0, 2, 1, 1});
  // What is loaded behind it is loaded where it does not return alone.
  const std::string load =
      "    %y = tt.load %p, %m, %x : tensor<128x!tt.ptr<f32>, #b>\n"
      "    %z = tt.load %p : tensor<128x!tt.ptr<f32>, #b>\n";
  CHECK(counts(function(kEarly, load, kAfter)) == Counts{0, 1, 2, 1});
  for (const std::string machine : {"hopper", "blackwell"}) {
    const std::string text =
        read_file(TWILL_TEST_DATA "/ttgir/experts-skipped-" + machine + ".ttgir");
    const Counts found = counts(text);
    CHECK(found.branches == 1);  // (The first stores nothing.)
    CHECK(found.stores == 3);
  }
}

TEST_CASE("a return on the other side, and two of them") {
  std::string text = function(kEarly, "", kAfter);
  text = replaced(text, "%f, ^bb1, ^bb2", "%f, ^bb2, ^bb1");
  CHECK(counts(text) == Counts{0, 1, 2, 0});
  const std::string second =
      "    %g = arith.cmpi eq, %a, %n : i32\n    cf.cond_br %g, ^bb3, ^bb4\n  ^bb3:\n" + kEarly +
      "    tt.return\n  ^bb4:\n";
  CHECK(counts(function(kEarly, second, kAfter)) == Counts{0, 1, 4, 0});
  // Behind one that stores, one that does not: where both hold, the first one's store is there.
  const std::string plain = replaced(second, kEarly, "");
  CHECK(counts(function(kEarly, plain, kAfter)) == kStays);
}

TEST_CASE("what does more than compute, load and store stays") {
  // In the block that returns.
  for (const std::string more :
       {"    %y = tt.load %p : tensor<128x!tt.ptr<f32>, #b>\n",
        "    %y = arith.divsi %n, %a : i32\n", "    tt.call @g(%a) : (i32) -> ()\n",
        "    tt.assert %f, \"a\" : i1\n"}) {
    CAPTURE(more);
    CHECK(counts(function(more + kEarly, "", kAfter)) == kStays);
  }
  // Behind it.
  for (const std::string more :
       {"    %y = tt.load %q : !tt.ptr<i32>\n", "    %y = arith.remsi %n, %a : i32\n",
        "    tt.call @g(%a) : (i32) -> ()\n", "    tt.assert %f, \"a\" : i1\n",
        "    %y = tt.atomic_rmw fadd, acq_rel, gpu, %p, %x, %m : (tensor<128x!tt.ptr<f32>, #b>, "
        "tensor<128xf32, #b>, tensor<128xi1, #b>) -> tensor<128xf32, #b>\n",
        "    scf.if %f {\n      tt.store %p, %x : tensor<128x!tt.ptr<f32>, #b>\n    }\n"}) {
    CAPTURE(more);
    CHECK(counts(function(kEarly, more, kAfter)) == kStays);
  }
  // In the loop: what divides there may be computed before it.
  CHECK(counts(replaced(function(kEarly, "", kAfter), "      %t =",
                        "      %d = arith.divsi %n, %a : i32\n      %t =")) == kStays);
  CHECK(counts(replaced(function(kEarly, "", kAfter), "      %t =",
                        "      %d = arith.divsi %n, %c7 : i32\n      %t =")) == Counts{0, 1, 2, 0});
  // By an argument that the condition does not ask.
  CHECK(counts(replaced(function(kEarly, "", kAfter), "      %t =",
                        "      %d = arith.divsi %a, %n : i32\n      %t =")) == Counts{0, 1, 2, 0});
  CHECK(counts(function(kEarly, "    %y = arith.remsi %a, %n : i32\n", kAfter)).branches == 0);
  CHECK(counts(function(
            "    %z = arith.addi %n, %n : i32\n    %y = arith.divsi %a, %z : i32\n" + kEarly, "",
            kAfter)) == kStays);
  // Stores keep their order: one that has no like before one that has.
  const std::string other = "    tt.store %p, %x : tensor<128x!tt.ptr<f32>, #b>\n";
  CHECK(counts(function(kEarly + other, "", kAfter)).stores == 2);
  CHECK(counts(function(other + kEarly, "", kAfter)) == kStays);
  // Nothing stored.
  CHECK(counts(function("", "", kAfter)) == kStays);
  // A block that another one comes to, too.
  CHECK(counts(function(kEarly, "    cf.cond_br %f, ^bb1, ^bb3\n  ^bb3:\n", kAfter)) == kStays);
}

TEST_CASE("a name that is taken") {
  const std::string text = function(kEarly, "", kAfter);
  CHECK(counts(replaced(text, "    %c1 =", "    %late.0.0 = arith.constant 3 : i32\n    %c1 =")) ==
        kStays);
}

TEST_CASE("places and conditions that double at each step end") {
  std::string early, late, both;
  for (int k = 0; k < 60; ++k) {
    const std::string now = std::to_string(k), before = k == 0 ? "x" : std::to_string(k - 1);
    for (const bool first : {true, false})
      (first ? early : late) += "    %" + std::string(first ? "e" : "l") + now + " = arith.addf %" +
                                (k == 0 ? "x" : (first ? "e" : "l") + before) + ", %" +
                                (k == 0 ? "x" : (first ? "e" : "l") + before) +
                                " : tensor<128xf32, #b>\n";
    both += "    %g" + now + " = arith.ori %" + (k == 0 ? "f" : "g" + before) + ", %" +
            (k == 0 ? "f" : "g" + before) + " : i1\n";
  }
  const std::string type = " : tensor<128x!tt.ptr<f32>, #b>\n";
  CHECK(counts(function(early + "    tt.store %e59, %x, %m" + type, "",
                        late + "    tt.store %l59, %r, %m" + type)) == kStays);
  std::string text = function(kEarly, "", kAfter);
  text = replaced(text, "    cf.cond_br %f", both + "    cf.cond_br %g59");
  CHECK(counts(text).branches == 0);
  // Many stores, each compared with each.
  std::string many, after;
  for (int k = 0; k < 150; ++k) many += kEarly;
  for (int k = 0; k < 60; ++k) after += replaced(kAfter, "%m", "%m");
  CHECK(counts(function(many, "", after)).stores == 150);
}

TEST_CASE("mutants of modules with such returns do no harm") {
  for (const std::string name : {"experts-skipped-hopper", "experts-skipped-blackwell"}) {
    test::on_mutants(read_file(TWILL_TEST_DATA "/ttgir/" + name + ".ttgir"),
                     [](const auto& module) { ttgir::with_late_returns(module); });
  }
}

}  // namespace ttgir_late_returns_test
