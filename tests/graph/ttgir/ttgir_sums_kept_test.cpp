// Sums that go to tensor memory and back in every iteration stay there: the module computes what it
// computed, by the interpreter; others stay as they are.
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
#include "graph/ttgir/sums_kept.hpp"
#include "tests/support/module_mutants.hpp"
#include "tests/support/module_text.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_sums_kept_test {

using namespace twill;
using test::line_with;
constexpr auto with = test::replaced;

namespace {

/// A product whose branch is gone, so that its sum goes to tensor memory and back.
std::string moving() {
  const auto ahead = ttgir::with_loads_ahead(ttgir::parse_module(
      read_file(TWILL_TEST_DATA "/ttgir/blocks-left-out-blackwell.ttgir"), "m"));
  REQUIRE(ahead);
  const auto added = ttgir::with_products_always_added(*ahead);
  REQUIRE(added);
  return *added->text;
}

bool is_kept(const std::string& text) {
  return ttgir::with_sums_kept(ttgir::parse_module(text, "m")).has_value();
}

/// Ops of a name in loops.
int in_loops(const ttgir::Module& module, std::string_view name) {
  return static_cast<int>(std::count_if(module.ops.begin(), module.ops.end(), [&](const auto& op) {
    const int around = module.parent(static_cast<int>(&op - module.ops.data()));
    return op.name == name && around != ttgir::kNone && module.op(around).name == "scf.for";
  }));
}

std::string name_of(const std::string& line) {
  const std::size_t begin = line.find('%');
  return line.substr(begin, line.find_first_of(" ,", begin) - begin);
}

}  // namespace

TEST_CASE("a sum that goes to tensor memory and back stays there") {
  const std::string text = moving();
  const ttgir::Module before = ttgir::parse_module(text, "m");
  const auto after = ttgir::with_sums_kept(before);
  REQUIRE(after);
  for (const std::string_view moved : {"ttng.tmem_alloc", "ttng.tmem_store", "ttng.tmem_load"}) {
    CHECK(in_loops(before, moved) == 1);
    CHECK(in_loops(*after, moved) == 0);
  }
  CHECK(in_loops(*after, "ttng.tc_gen5_mma") == 1);
  test::check_stores_the_same(text, "blackwell", before, *after);
  CHECK_FALSE(ttgir::with_sums_kept(*after));
}

TEST_CASE("a sum that something else reads or begins stays where it is") {
  const std::string text = moving();
  CHECK(is_kept(text));
  const std::string store = line_with(text, "= ttng.tmem_store"),
                    load = line_with(text, "= ttng.tmem_load"),
                    mma = line_with(text, "= ttng.tc_gen5_mma"),
                    alloc = line_with(text, "= ttng.tmem_alloc");
  const std::string sum = name_of(load), type = "tensor<128x64xf32, #linear>";
  // What is loaded, or what is carried, has another reader.
  CHECK_FALSE(is_kept(with(
      text, load, load + "      %more = arith.addf " + sum + ", " + sum + " : " + type + "\n")));
  CHECK_FALSE(is_kept(
      with(text, store, "      %more = arith.addf %acc_9, %acc_9 : " + type + "\n" + store)));
  // The product adds to another tile than the one that is carried.
  CHECK_FALSE(is_kept(with(text, store, with(store, "tmem_store %acc_9", "tmem_store %acc"))));
  // What is handed on is not what the product has made.
  CHECK_FALSE(
      is_kept(with(text, load, with(load, "[" + name_of(mma) + "]", "[" + name_of(store) + "]"))));
  CHECK_FALSE(is_kept(with(text, "scf.yield " + sum, "scf.yield %acc")));
  // The buffer has something in it already.
  CHECK_FALSE(is_kept(with(
      text, alloc,
      with(with(alloc, "tmem_alloc :", "tmem_alloc %acc :"), ": () ->", ": (" + type + ") ->"))));
  // A store that a number decides.
  CHECK_FALSE(is_kept(with(
      text, store,
      "      %odd = arith.cmpi slt, %k, %steps : i32\n" + with(store, ", %true :", ", %odd :"))));
}

TEST_CASE("modules with a fault are refused or changed without harm") {
  int changed = 0;
  test::on_mutants(moving(), [&](const ttgir::Module& module) {
    changed += ttgir::with_sums_kept(module) ? 1 : 0;
  });
  CHECK(changed > 0);
}

}  // namespace ttgir_sums_kept_test
