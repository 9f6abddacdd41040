// Products in branches whose factors are 0 where these are not taken stand in the loop: the module
// computes what it computed, by the interpreter, which executes branches as they are; others stay.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/io/builtin.hpp"
#include "graph/ttgir/always_added.hpp"
#include "graph/ttgir/loads_ahead.hpp"
#include "graph/ttgir/loops.hpp"
#include "graph/ttgir/module_run.hpp"
#include "graph/ttgir/parser.hpp"
#include "tests/support/module_mutants.hpp"
#include "tests/support/module_text.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_always_added_test {

using namespace twill;
using test::line_with;
constexpr auto with = test::replaced;

namespace {

std::string file_text(const std::string& name) {
  return read_file(TWILL_TEST_DATA "/ttgir/" + name + ".ttgir");
}

int branches(const ttgir::Module& module) {
  return static_cast<int>(std::count_if(module.ops.begin(), module.ops.end(),
                                        [](const auto& op) { return op.name == "scf.if"; }));
}

/// With its loads ahead: is the branch gone?
bool is_added(const std::string& text) {
  const auto ahead = ttgir::with_loads_ahead(ttgir::parse_module(text, "m"));
  if (!ahead) return false;
  const auto added = ttgir::with_products_always_added(*ahead);
  if (added) CHECK(branches(*added) == branches(*ahead) - 1);
  return added.has_value();
}

}  // namespace

TEST_CASE("a product of what is 0 elsewhere is always added, others stay in their branch") {
  for (const std::string name : {"blocks-left-out-hopper", "blocks-left-out-blackwell"}) {
    CAPTURE(name);
    const std::string text = file_text(name);
    CHECK(is_added(text));
    CHECK(is_added(test::with_sides_exchanged(text)));
    // Its loads have no mask where they stand.
    CHECK_FALSE(ttgir::with_products_always_added(ttgir::parse_module(text, "m")));
    // The other side hands on another number.
    const std::size_t otherwise = text.find("} else {"), yield = text.find("scf.yield ", otherwise),
                      end = text.find(" :", yield);
    REQUIRE(end != std::string::npos);
    CHECK_FALSE(is_added(text.substr(0, yield) + "scf.yield %acc" + text.substr(end)));
  }
  const std::string text = file_text("blocks-left-out-hopper");
  // A load outside the branch, which may be no number there.
  const std::string load = line_with(text, "%b_37 = tt.load");
  const std::string places =
      "    %places = tt.splat %b_ptr : !tt.ptr<f16> -> tensor<64x64x!tt.ptr"
      "<f16>, #blocked>\n    %b_37 = tt.load %places : tensor<64x64x!tt.ptr"
      "<f16>, #blocked>\n";
  const std::string loop = line_with(text, "= scf.for");
  CHECK_FALSE(is_added(with(with(text, load, ""), loop, places + loop)));
  // Another number than 0 where nothing is loaded.
  CHECK_FALSE(is_added(with(text, "%cst = arith.constant dense<0.000000e+00>",
                            "%cst = arith.constant dense<1.000000e+00>")));
  // What is done with a factor on its way: 0 may become another number.
  CHECK_FALSE(
      is_added(with(with(text, "ttg.local_alloc %b_37", "ttg.local_alloc %more"), load,
                    load + "        %more = math.exp %b_37 : tensor<64x64xf16, #blocked>\n")));
  // A product that leaves out the sum, or in memory that begins with another one.
  const std::string dot = line_with(text, "= ttng.warp_group_dot");
  const std::string yes = "    %true = arith.constant true",
                    other = with(file_text("blocks-left-out-blackwell"), yes,
                                 "    %false = arith.constant false\n" + yes);
  const std::string store = line_with(other, "= ttng.tmem_store"),
                    mma = line_with(other, "= ttng.tc_gen5_mma");
  CHECK_FALSE(is_added(with(text, dot, with(dot, ", %acc_9 ", ", %acc "))));
  CHECK_FALSE(is_added(with(other, mma, with(mma, "%true, %true", "%false, %true"))));
  CHECK_FALSE(is_added(with(other, mma, with(mma, "%true, %true", "%true, %false"))));
  CHECK_FALSE(is_added(with(other, store, with(store, "tmem_store %acc_9", "tmem_store %acc"))));
}

TEST_CASE("a module whose products are always added stores what it did") {
  for (const std::string machine : {"hopper", "blackwell"})
    for (const bool other_side : {false, true}) {
      CAPTURE(machine);
      CAPTURE(other_side);
      std::string text = file_text("blocks-left-out-" + machine);
      if (other_side) text = test::with_sides_exchanged(text);
      const ttgir::Module before = ttgir::parse_module(text, "m");
      const auto after = ttgir::with_products_always_added(*ttgir::with_loads_ahead(before));
      REQUIRE(after);
      test::check_stores_the_same(text, machine, before, *after);
    }
}

TEST_CASE("modules with a fault are refused or changed without harm") {
  int changed = 0;
  test::on_mutants(file_text("blocks-left-out-blackwell"), [&](const ttgir::Module& module) {
    const auto ahead = ttgir::with_loads_ahead(module);
    changed += ttgir::with_products_always_added(ahead ? *ahead : module) ? 1 : 0;
  });
  CHECK(changed > 0);
}

}  // namespace ttgir_always_added_test
