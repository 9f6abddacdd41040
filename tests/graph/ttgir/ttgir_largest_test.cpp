// Reductions of two tiles (the largest and its place), numbers that a loop stores, and products
// with scales of their own: beside the module executed op by op, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "graph/index.hpp"
#include "graph/ttgir/meaning.hpp"
#include "graph/ttgir/module_run.hpp"
#include "tests/support/module_difference.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_largest_test {

using namespace twill;
using namespace twill::ttgir;
using meaning::Function;

namespace {

constexpr double kSame = 1e-9;  // of the largest number

std::string data(const std::string& name) {
  return read_file(TWILL_TEST_DATA "/ttgir/" + name + ".ttgir");
}

LoweredModule lowered_of(const std::string& text, const std::string& machine) {
  return lower_module(text, "module", builtin_machine(machine), machine, {}, {});
}

double difference(const LoweredModule& lowered, const ModuleMeaning& of, int n,
                  const std::function<void(meaning::Meaning&)>& change = nullptr) {
  const auto launch = launch_of(of.kernel, n);
  REQUIRE(launch);
  return test::module_difference(lowered, of, *launch, n, change).largest;
}

/// Why the module has no meaning with `from` replaced by `to`, everywhere.
std::string why(std::string text, const std::string& machine, const std::string& from,
                const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  const auto read = meaning_of_loop(lowered_of(text, machine));
  const auto* no = std::get_if<NoMeaning>(&read);
  return no == nullptr ? "" : no->why;
}

}  // namespace

TEST_CASE("the largest with its place, of vectors, rows and columns; numbers that a loop stores") {
  const LoweredModule lowered = lowered_of(data("largest"), "hopper");
  const ModuleMeaning of = test::meaning_of(lowered);
  CHECK(std::count_if(of.meaning.values.begin(), of.meaning.values.end(), [](const auto& value) {
          return value.function == Function::store && value.shape.empty();
        }) == 2);
  for (int n = 0; n <= 9; ++n) {
    CAPTURE(n);
    CHECK(difference(lowered, of, n) <= kSame);
  }
  // Another place, another number, another direction.
  CHECK(difference(lowered, of, 3, [](meaning::Meaning& m) {
          for (meaning::Value& value : m.values)
            for (meaning::Operand& one : value.operands)
              if (one.column == 1 && one.row == 0) one.column = 0;
        }) > kSame);
  CHECK(difference(lowered, of, 3, [](meaning::Meaning& m) {
          for (meaning::Value& value : m.values)
            if (value.function == Function::store && value.shape.empty() && value.type == "f32") {
              value.operands[0] = {};
              value.operands[0].number = 1;
            }
        }) > kSame);
}

TEST_CASE("of two tiles another reduction is refused, by its line") {
  const std::string text = data("largest");
  const auto refused = [&](const std::string& from, const std::string& to) {
    return why(text, "hopper", from, to);
  };
  const std::string other =
      "tt.reduce of line 32: of two tiles it makes something else than the largest and its first "
      "place";
  // The smaller one and its first place are known, too.
  std::string least = text;
  const std::string more = "arith.cmpf ogt, %a, %b";
  REQUIRE(least.find(more) != std::string::npos);
  least.replace(least.find(more), more.size(), "arith.cmpf olt, %a, %b");
  const LoweredModule lowered = lowered_of(least, "hopper");
  const ModuleMeaning smallest = test::meaning_of(lowered);
  for (const int n : {0, 1, 4, 9}) {
    CAPTURE(n);
    CHECK(difference(lowered, smallest, n) <= kSame);
  }
  CHECK(refused(more, "arith.cmpf oge, %a, %b") == other);
  CHECK(refused("arith.cmpi slt, %p, %q", "arith.cmpi sgt, %p, %q") == other);
  CHECK(refused("arith.select %left_one, %p, %q", "arith.select %left_one, %q, %p") == other);
  CHECK(refused("arith.andi %same, %before", "arith.andi %same, %same") == other);
  CHECK(refused("arith.ori %more, %tie", "arith.ori %more, %more") == other);
  CHECK(refused("%places = tt.make_range {end = 64 : i32, start = 0 : i32}",
                "%places = tt.make_range {end = 65 : i32, start = 1 : i32}") ==
        "tt.reduce of line 32: what it reduces with the numbers is not their places");
  CHECK(refused("\"tt.reduce\"(%tile, %column)", "\"tt.reduce\"(%tile, %row)") ==
        "tt.reduce of line 55: what it reduces with the numbers is not their places");
}

TEST_CASE("a product with a scale for every 32 numbers along K") {
  const LoweredModule lowered = lowered_of(data("gemm-microscaled-blackwell"), "blackwell");
  const ModuleMeaning of = test::meaning_of(lowered);
  for (const int n : {0, 1, 2, 5}) {
    if (test::kSanitized && n > 1) continue;
    CAPTURE(n);
    CHECK(difference(lowered, of, n) <= kSame);
  }
  // The scales of the other factor.
  CHECK(difference(lowered, of, 1, [](meaning::Meaning& m) {
          std::vector<meaning::Value*> scaled;
          for (meaning::Value& value : m.values)
            if (value.function == Function::scaled) scaled.push_back(&value);
          REQUIRE(scaled.size() == 2);
          std::swap(scaled[0]->operands[1], scaled[1]->operands[1]);
        }) > kSame);
}

TEST_CASE("a product with scales of other factors is refused, by its line") {
  const std::string text = data("gemm-microscaled-blackwell");
  CHECK(why(text, "blackwell", "lhs = e4m3", "lhs = e2m1") ==
        "ttng.tc_gen5_mma_scaled of line 64: it multiplies factors of e2m1");
  CHECK(why(text, "blackwell", "rhs = e4m3", "rhs = e5m2") ==
        "ttng.tc_gen5_mma_scaled of line 64: it multiplies factors of e5m2");
}

TEST_CASE("a product that adds, and a tile that is stored, as a condition of the iteration says") {
  LoopOptions options;
  options.loop = 1;
  const LoweredModule lowered =
      lower_module(data("gemm-flattened-blackwell"), "flattened", builtin_machine("blackwell"),
                   "blackwell", options, {});
  const ModuleMeaning of = test::meaning_of(lowered);
  // Two tiles of three iterations; one of one; two of one, which are stored in every iteration.
  for (const auto& [tiles, depth] : {std::pair(2, 192), std::pair(1, 64), std::pair(2, 64)}) {
    CAPTURE(tiles);
    CAPTURE(depth);
    meaning::Launch launch;
    launch.arguments.assign(of.kernel.parameters.size(), 0);
    const std::size_t first = launch.arguments.size() - 3;
    launch.arguments[first] = 128;
    launch.arguments[first + 1] = tiles == 2 ? std::int64_t{149} * 128 : 128;
    launch.arguments[first + 2] = depth;
    launch.programs[0] = 148;
    const int n = tiles * depth / 64;
    const auto apart = [&](const std::function<void(meaning::Meaning&)>& change) {
      return test::module_difference(lowered, of, launch, n, change).largest;
    };
    CHECK(apart(nullptr) <= kSame);
    // Always added, or always stored, it is another number where that is not so anyway.
    const bool other = tiles > 1;
    CHECK((apart([](meaning::Meaning& m) {
             for (meaning::Value& value : m.values)
               if (value.function == Function::product && value.operands.size() == 3) {
                 const meaning::Operand sum = m.values[at(value.operands[2].value)].operands[1];
                 value.operands[2] = sum;
               }
           }) > kSame) == other);
    CHECK((apart([](meaning::Meaning& m) {
             for (meaning::Value& value : m.values)
               if (value.function == Function::store) value.operands.resize(1);
           }) > kSame) == (depth > 64));
  }
}

}  // namespace ttgir_largest_test
