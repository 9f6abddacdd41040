// Products that begin with a vector become the product and an addition: what the module stores is
// the same, but for rounding; other products stay.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graph/error.hpp"
#include "graph/ttgir/parser.hpp"
#include "graph/ttgir/without_vector_sums.hpp"
#include "tests/support/module_mutants.hpp"
#include "tests/support/replaced.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_vector_sums_test {

using namespace twill;
using test::replaced;

namespace {

int count_of(const ttgir::Module& module, std::string_view name) {
  return static_cast<int>(std::count_if(module.ops.begin(), module.ops.end(),
                                        [&](const auto& op) { return op.name == name; }));
}

/// Number of products that got an addition, -1 where the module stays as it is.
int apart(const std::string& text) {
  const auto module = ttgir::parse_module(text, "module");
  const auto made = ttgir::without_vector_sums(module);
  return made ? count_of(*made, "arith.addf") - count_of(module, "arith.addf") : -1;
}

/// A function with a product that begins with %s, made by `sum`.
std::string product(const std::string& sum, const std::string& line) {
  return "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n"
         "  tt.func public @f(%a: tensor<16x64xf16>, %b: tensor<64x32xf16>, %v: tensor<1x32xf32>, "
         "%x: f32, %m: tensor<16x32xf32>) {\n" +
         sum + line + "    tt.return\n  }\n}\n";
}

const std::string kBroadcast = "    %s = tt.broadcast %v : tensor<1x32xf32> -> tensor<16x32xf32>\n";
const std::string kDot =
    "    %d = tt.dot %a, %b, %s : tensor<16x64xf16> * tensor<64x32xf16> -> tensor<16x32xf32>";

std::string of_tree(const std::string& name) {
  return read_file(TWILL_TEST_DATA "/ttgir/" + name + ".ttgir");
}

}  // namespace

TEST_CASE("products that begin with a vector or a number get an addition") {
  CHECK(apart(product(kBroadcast, kDot + "\n")) == 1);
  CHECK(apart(product(kBroadcast, kDot + " loc(\"a\"(\"b\":1:2))\n")) == 1);
  CHECK(apart(product("    %s = tt.splat %x : f32 -> tensor<16x32xf32>\n", kDot + "\n")) == 1);
  const std::string through =
      "    %s0 = tt.broadcast %v : tensor<1x32xf32> -> tensor<16x32xf32>\n"
      "    %s = ttg.convert_layout %s0 : tensor<16x32xf32> -> tensor<16x32xf32>\n";
  CHECK(apart(product(through, kDot + "\n")) == 1);
  for (const std::string machine : {"hopper", "blackwell"}) {
    CHECK(apart(of_tree("scores-biased-" + machine)) == 2);
    CHECK(apart(of_tree("keys-grouped-" + machine)) == 1);
  }
}

TEST_CASE("other products stay") {
  const std::string sum = "    %s = arith.addf %m, %m : tensor<16x32xf32>\n";
  CHECK(apart(product(sum, kDot + "\n")) == -1);  // a matrix
  CHECK(apart(product("    %s = arith.constant dense<1.0> : tensor<16x32xf32>\n", kDot + "\n")) ==
        -1);
  CHECK(apart(product(kBroadcast, replaced(kDot, "%s :", "%s {isAsync = true} :") + "\n")) == -1);
  // A name that is taken.
  std::string taken;
  for (int k = 0; k < 10; ++k)
    taken += "    %begun." + std::to_string(k) + " = arith.constant 1 : i32\n";
  CHECK(apart(product(kBroadcast, kDot + "\n" + taken)) == -1);
}

TEST_CASE("in tensor memory the store, the product and the load are each other's") {
  const std::string text = of_tree("scores-biased-blackwell");
  const std::size_t store = text.find("ttng.tmem_store"), mma = text.find("ttng.tc_gen5_mma");
  REQUIRE(store < mma);
  // A product that may add or not, and a store that may be none.
  std::string other = text;
  other.replace(other.find("], %true, %true", mma), 15, "], %false, %true");
  other.insert(other.find("    %q", other.find("tt.func")), "    %false = arith.constant false\n");
  CHECK(apart(other) == 1);
  other = text;
  other.replace(other.find("], %true", store), 8, "], %false");
  other.insert(other.find("    %q", other.find("tt.func")), "    %false = arith.constant false\n");
  CHECK(apart(other) == 1);
  // Another product that adds to what is there would miss the vector.
  const std::size_t line = text.rfind('\n', mma) + 1, load = text.find("ttng.tmem_load", mma);
  std::string again = text.substr(line, text.find('\n', mma) + 1 - line);
  again = replaced(again, "%s_41 =", "%again =");
  again = replaced(again, "%s_17[%s_40]", "%s_17[%s_43]");
  other = text;
  other.insert(text.find('\n', load) + 1, again);
  CHECK(apart(other) == 1);
}

TEST_CASE("mutants of modules with such products do no harm") {
  for (const std::string name :
       {"scores-biased-hopper", "scores-biased-blackwell", "keys-grouped-hopper"}) {
    test::on_mutants(of_tree(name), [](const auto& module) { ttgir::without_vector_sums(module); });
  }
}

}  // namespace ttgir_vector_sums_test
