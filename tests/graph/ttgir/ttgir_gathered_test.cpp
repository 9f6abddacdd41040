// Where gathered tiles lie, and which of their elements masks let through: places and masks of
// modules (bench/modules) beside what their functions' sources say, written here by hand, element
// by element.
#include <doctest/doctest.h>

#include <functional>
#include <set>

#include "graph/index.hpp"
#include "graph/ttgir/index_values.hpp"
#include "graph/ttgir/meaning.hpp"
#include "graph/ttgir/parser.hpp"
#include "graph/ttgir/pointer_roots.hpp"
#include "tests/support/replaced.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_gathered_test {

using namespace twill;
using namespace twill::ttgir;
using meaning::Launch;
using meaning::Place;
using test::replaced;

namespace {

std::string text_of_file(const std::string& name) {
  return read_file(TWILL_TEST_DATA "/ttgir/" + name + ".ttgir");
}

ModuleMeaning meaning_of(const std::string& text) {
  auto result =
      meaning_of_loop(lower_module(text, "gathered", builtin_machine("hopper"), "hopper", {}, {}));
  if (const auto* no = std::get_if<NoMeaning>(&result)) FAIL(no->why);
  return std::get<ModuleMeaning>(std::move(result));
}

/// The place of the one tensor that is moved behind a parameter; nullptr = there is none.
const Place* place_behind(const ModuleMeaning& of, int parameter) {
  const Place* found = nullptr;
  for (const Place& one : of.kernel.places)
    if (one.parameter == parameter) {
      REQUIRE(found == nullptr);
      found = &one;
    }
  return found;
}

/// Row, column and iteration of an element: where it lies behind its parameter, and whether it is
/// moved.
using Formula =
    std::function<std::pair<std::int64_t, bool>(std::int64_t, std::int64_t, std::int64_t)>;

void check_places(const Place* place, Launch launch, std::int64_t rows, std::int64_t columns,
                  std::int64_t iterations, const Formula& formula) {
  REQUIRE(place != nullptr);
  REQUIRE(place->added);
  int moved = 0, left_out = 0;
  for (std::int64_t i = 0; i < iterations; ++i)
    for (launch.row = 0; launch.row < rows; ++launch.row)
      for (launch.column = 0; launch.column < columns; ++launch.column) {
        const auto [at, inside] = formula(launch.row, launch.column, i);
        std::int64_t mine = 0;
        for (const meaning::Index& one : *place->added) mine += value_of(one, launch, i);
        REQUIRE(mine == at);
        bool kept = true;
        for (const meaning::IndexComparison& one : place->mask)
          kept = kept && holds(one, launch, i);
        REQUIRE(kept == inside);
        ++(inside ? moved : left_out);
      }
  CHECK(moved > 0);
  CHECK((left_out > 0) == !place->mask.empty());
}

// experts_gathered(x, w, y, weights, tokens, experts, tokens, N, K)
constexpr int kX = 0, kW = 1, kY = 2, kWeights = 3, kTokens = 4;
constexpr std::int64_t kCount = 40, kN = 272, kK = 144, kExpert = 5, kColumn = 1, kBlock = 2;

Launch launch_of_experts() {
  Launch launch;
  launch.arguments = {0, 0, 0, 0, 0, 0, kCount, kN, kK};
  launch.program[0] = kBlock;
  launch.program[1] = kColumn;
  launch.loaded = {kExpert};
  for (std::int64_t at = 0; at < 64; ++at)
    launch.memory[{kTokens, kBlock * 64 + at}] = at * 37 % 96;  // (a few of 80 and more)
  return launch;
}

int without_place(const ModuleMeaning& of) {
  int count = 0;
  for (const Place& one : of.kernel.places) count += one.parameter < 0;
  return count;
}

/// Tiles of experts-gathered-hopper without a place, with a part of its text replaced.
int unplaced(const std::string& from, const std::string& to) {
  return without_place(meaning_of(replaced(text_of_file("experts-gathered-hopper"), from, to)));
}

}  // namespace

TEST_CASE("rows that are loaded before the loop") {
  const ModuleMeaning of = meaning_of(text_of_file("experts-gathered-hopper"));
  CHECK(of.kernel.incomplete.empty());
  CHECK(without_place(of) == 0);
  const Launch launch = launch_of_experts();
  const auto token = [&](std::int64_t row) {
    return launch.memory.at({kTokens, kBlock * 64 + row});
  };
  const auto known = [&](std::int64_t row) { return token(row) < 2 * kCount; };
  check_places(place_behind(of, kX), launch, 64, 64, 3, [&](auto r, auto c, auto i) {
    return std::pair(token(r) / 2 * kK + c + 64 * i, known(r) && c < kK - 64 * i);
  });
  check_places(place_behind(of, kY), launch, 64, 128, 1, [&](auto r, auto c, auto) {
    return std::pair(token(r) * kN + kColumn * 128 + c, known(r));
  });
  check_places(place_behind(of, kWeights), launch, 64, 1, 1,
               [&](auto r, auto, auto) { return std::pair(token(r), known(r)); });
  // (Its mask is a rule of places: bounds of the meaning.)
  check_places(place_behind(of, kW), launch, 64, 128, 3, [&](auto r, auto c, auto i) {
    return std::pair(kExpert * kN * kK + (kColumn * 128 + c) * kK + r + 64 * i, true);
  });
}

TEST_CASE("rows of which some are not loaded are another number") {
  const std::string rows = "tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked1}>>";
  const ModuleMeaning of =
      meaning_of(replaced(text_of_file("experts-gathered-hopper"), "%token_27 = tt.load %token_24",
                          "%end = arith.constant dense<50> : " + rows +
                              "\n    %else = arith.constant dense<9> : " + rows +
                              "\n    %listed = arith.cmpi slt, %sorted_at_13, %end : " + rows +
                              "\n    %token_27 = tt.load %token_24, %listed, %else"));
  CHECK(without_place(of) == 0);
  Launch launch = launch_of_experts();
  for (std::int64_t row = 50; row < 64; ++row) launch.memory.erase({kTokens, kBlock * 64 + row});
  check_places(place_behind(of, kX), launch, 64, 64, 3, [&](auto r, auto c, auto i) {
    const std::int64_t token = r < 50 ? launch.memory.at({kTokens, kBlock * 64 + r}) : 9;
    return std::pair(token / 2 * kK + c + 64 * i, token < 2 * kCount && c < kK - 64 * i);
  });
}

TEST_CASE("a block's number that is loaded in the loop") {
  // attention_block_sparse(q, k, v, o, blocks, counts, length, scale)
  const ModuleMeaning of = meaning_of(text_of_file("attention-block-sparse-hopper"));
  CHECK(of.kernel.incomplete.empty());
  CHECK(without_place(of) == 0);
  Launch launch;
  launch.arguments = {0, 0, 0, 0, 0, 0, 320, 0};
  launch.program[0] = 3;
  launch.program[1] = 1;
  launch.programs[0] = 5;
  launch.loaded = {4};
  const std::int64_t blocks[] = {2, 0, 7, 7};
  for (std::int64_t i = 0; i < 4; ++i) launch.memory[{4, 8 * 128 + i}] = blocks[i];
  check_places(place_behind(of, 1), launch, 128, 64, 4, [&](auto r, auto c, auto i) {
    return std::pair(320 * 128 + (blocks[i] * 64 + c) * 128 + r, true);
  });
  check_places(place_behind(of, 2), launch, 64, 128, 4, [&](auto r, auto c, auto i) {
    return std::pair(320 * 128 + (blocks[i] * 64 + r) * 128 + c, true);
  });
}

TEST_CASE("rows that are computed by divisions, under masks") {
  // convolution_forward(x, w, y, H, W, C, F)
  const ModuleMeaning of = meaning_of(text_of_file("convolution-forward-hopper"));
  CHECK(of.kernel.incomplete.empty());
  CHECK(without_place(of) == 0);
  Launch launch;
  const std::int64_t h = 7, w = 9, channels = 48, filters = 80, steps = 2;
  launch.arguments = {0, 0, 0, h, w, channels, filters};
  launch.program[0] = 1;
  launch.program[1] = 2;
  check_places(place_behind(of, 0), launch, 64, 32, 9 * steps, [&](auto r, auto c, auto i) {
    const std::int64_t pixel = 64 + r, image = pixel / (h * w), place = i / steps;
    const std::int64_t y = pixel / w % h + place / 3 - 1, x = pixel % w + place % 3 - 1;
    const std::int64_t channel = i % steps * 32 + c;
    return std::pair(((image * h + y) * w + x) * channels + channel,
                     y >= 0 && y < h && x >= 0 && x < w && channel < channels);
  });
  check_places(place_behind(of, 1), launch, 32, 64, 9 * steps, [&](auto r, auto c, auto i) {
    const std::int64_t channel = i % steps * 32 + r;
    return std::pair((i / steps * channels + channel) * filters + 128 + c, channel < channels);
  });
}

TEST_CASE("a mask lets through what one of two comparisons does, or both of two") {
  // ends_alone(x, w, y, lengths, K, N, sink)
  const ModuleMeaning of = meaning_of(text_of_file("ends-alone-hopper"));
  CHECK(of.kernel.incomplete.empty());
  CHECK(without_place(of) == 0);
  Launch launch;
  const std::int64_t columns = 128, sink = 7, length = 90;
  launch.arguments = {0, 0, 0, 0, 256, columns, sink};
  launch.loaded = {length};
  launch.memory[{3, 0}] = length;
  check_places(place_behind(of, 1), launch, 64, 64, 4, [&](auto r, auto c, auto i) {
    const std::int64_t at = 64 * i + r;
    return std::pair(at * columns + c, at < sink || (at >= length && at != length + 3));
  });
  check_places(place_behind(of, 2), launch, 64, 64, 1, [&](auto r, auto c, auto) {
    return std::pair(r * columns + c, r != 5 || c < sink);
  });
}

TEST_CASE("an unrolled loop gathers in each copy of an iteration what that one does") {
  const ModuleMeaning whole = meaning_of(text_of_file("convolution-forward-hopper"));
  const ModuleMeaning of = unrolled(whole, 2);
  Launch launch;
  launch.arguments = {0, 0, 0, 7, 9, 48, 80};
  const auto same = [&](const Place& one, std::int64_t i, const Place& other, std::int64_t j) {
    REQUIRE(one.mask.size() == other.mask.size());
    for (launch.row = 0; launch.row < 32; ++launch.row)
      for (launch.column = 0; launch.column < 32; ++launch.column) {
        for (std::size_t k = 0; k < one.added->size(); ++k)
          REQUIRE(value_of(one.added->at(k), launch, i) == value_of(other.added->at(k), launch, j));
        for (std::size_t k = 0; k < one.mask.size(); ++k)
          REQUIRE(holds(one.mask[k], launch, i) == holds(other.mask[k], launch, j));
      }
  };
  int copies = 0;
  for (const Place& one : of.kernel.places)
    if (one.parameter == 0) {
      for (std::int64_t i = 0; i < 4; ++i) same(one, i, *place_behind(whole, 0), 2 * i + copies);
      ++copies;
    }
  CHECK(copies == 2);
}

TEST_CASE("what is not known to be the same whenever it is loaded is no place") {
  CHECK(without_place(meaning_of(text_of_file("experts-gathered-hopper"))) == 0);
  const std::string load = "%token_27 = tt.load %token_24";
  // Where the function stores nothing to it, but what is loaded under a mask, or is volatile.
  CHECK(unplaced(load,
                 "%all = arith.constant dense<true> : tensor<64xi1, #ttg.slice<{dim = 1, parent = "
                 "#blocked1}>>\n    %token_27 = tt.load %token_24, %all") > 0);
  CHECK(unplaced(load + " :", load + " {isVolatile = true} :") > 0);
  // Stored to: by the function's store, and by an addition in memory.
  CHECK(unplaced(
            "%6 = tt.splat %y_ptr : !tt.ptr<bf16> -> tensor<64x1x!tt.ptr<bf16>, #blocked2>",
            "%6 = tt.splat %tokens_ptr : !tt.ptr<i32> -> tensor<64x1x!tt.ptr<bf16>, #blocked2>") >
        0);
  // A mask of another form: one of two but not the other.
  CHECK(unplaced("%x_79 = arith.andi", "%x_79 = arith.xori") > 0);
  // A loop's own number that is the same in all iterations.
  const std::string sparse = text_of_file("attention-block-sparse-hopper");
  CHECK(without_place(meaning_of(replaced(sparse, "%columns_32 = tt.addptr %columns_22, %i :",
                                          "%columns_32 = tt.addptr %columns_22, %c1_i32 :"))) > 0);
  // In a branch, which is not always taken.
  CHECK(without_place(meaning_of(replaced(
            sparse, "%columns_33 = tt.load %columns_32 : !tt.ptr<i32>",
            "%taken = arith.cmpi slt, %i, %c64_i32 : i32\n      %columns_33 = scf.if %taken -> "
            "(i32) {\n"
            "        %found = tt.load %columns_32 : !tt.ptr<i32>\n        scf.yield %found : i32\n"
            "      } else {\n        scf.yield %c0_i32 : i32\n      }"))) > 0);
  // What a load leaves outside is no number that the text has.
  CHECK(unplaced("%x_80 = tt.load %x_tile_73, %x_79, %cst_0 :",
                 "%f = arith.sitofp %left_75 : i32 to bf16\n    %ones = tt.splat %f : bf16 -> "
                 "tensor<64x64xbf16, #blocked1>\n    %x_80 = tt.load %x_tile_73, %x_79, %ones :") >
        0);
}

namespace {

/// A function of three pointers and a condition, with this in it.
Module with_pointers(const std::string& body) {
  return parse_module(
      "module {\n  tt.func @f(%a: !tt.ptr<i32>, %b: !tt.ptr<i32>, %c: !tt.ptr<i32>, "
      "%yes: i1) {\n    %zero = arith.constant 0 : i32\n    %one = arith.constant 1 : i32\n" +
          body + "    tt.return\n  }\n}\n",
      "pointers");
}

/// Of the first store's pointer.
std::optional<std::set<int>> roots_of_store(const Module& m) {
  int function = kNone;
  for (int op = 0; op < static_cast<int>(m.ops.size()); ++op) {
    if (m.op(op).name == "tt.func") function = op;
    if (m.op(op).name == "tt.store") return pointer_roots(m, function, m.op(op).operands[0]);
  }
  FAIL("nothing is stored");
  return std::nullopt;
}

std::set<int> stored_arguments(const Module& m) {
  int function = kNone;
  for (int op = 0; op < static_cast<int>(m.ops.size()); ++op)
    if (m.op(op).name == "tt.func") function = op;
  std::set<int> stored;
  for (const int argument : {0, 1, 2})
    if (!never_stored(m, function, argument)) stored.insert(argument);
  return stored;
}

}  // namespace

TEST_CASE("pointers lead to arguments through loops and branches") {
  const Module plain = with_pointers(
      "    %p = tt.addptr %b, %one : !tt.ptr<i32>, i32\n    tt.store %p, %one : !tt.ptr<i32>\n");
  CHECK(roots_of_store(plain) == std::set{1});
  CHECK(stored_arguments(plain) == std::set{1});
  // Two that change places from iteration to iteration.
  const Module turns = with_pointers(
      "    %r:2 = scf.for %i = %zero to %one step %one iter_args(%p = %a, %q = %c) -> "
      "(!tt.ptr<i32>, "
      "!tt.ptr<i32>)  : i32 {\n      tt.store %p, %one : !tt.ptr<i32>\n      scf.yield %q, %p : "
      "!tt.ptr<i32>, !tt.ptr<i32>\n    }\n");
  CHECK(roots_of_store(turns) == std::set{0, 2});
  CHECK(stored_arguments(turns) == std::set{0, 2});
  const Module branch = with_pointers(
      "    %r = scf.if %yes -> (!tt.ptr<i32>) {\n      scf.yield %a : !tt.ptr<i32>\n    } else {\n"
      "      scf.yield %b : !tt.ptr<i32>\n    }\n    %s = arith.select %yes, %r, %c : "
      "!tt.ptr<i32>\n"
      "    tt.store %s, %one : !tt.ptr<i32>\n");
  CHECK(roots_of_store(branch) == std::set{0, 1, 2});
  // Made of a number it may lead anywhere.
  const Module anywhere = with_pointers(
      "    %n = arith.constant 64 : i64\n    %p = tt.int_to_ptr %n : i64 -> !tt.ptr<i32>\n"
      "    tt.store %p, %one : !tt.ptr<i32>\n");
  CHECK(!roots_of_store(anywhere));
  CHECK(stored_arguments(anywhere) == std::set{0, 1, 2});
  // What another function does with it is not known.
  CHECK(stored_arguments(with_pointers("    tt.call @g(%a) : (!tt.ptr<i32>) -> ()\n")) ==
        std::set{0});
  CHECK(stored_arguments(with_pointers("    %x = tt.load %a : !tt.ptr<i32>\n")).empty());
}

}  // namespace ttgir_gathered_test
