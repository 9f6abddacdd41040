// Masks that compare places: ragged ends and bands. Beside formulas written by hand, which share
// nothing with the reader, the reference, the executor's functions or the module's interpreter.
#include <doctest/doctest.h>

#include <functional>
#include <limits>

#include "graph/index.hpp"
#include "graph/meaning/bounds.hpp"
#include "graph/meaning/reference.hpp"
#include "graph/meaning/tile_functions.hpp"
#include "graph/ttgir/meaning.hpp"
#include "graph/ttgir/module_run.hpp"
#include "tests/support/module_difference.hpp"
#include "tests/support/replaced.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_bounds_test {

using namespace twill;
using namespace twill::ttgir;
using test::replaced;

namespace {

constexpr int kRows = 32, kColumns = 16;  // of a tile of ragged.ttgir

std::string ragged() {
  return read_file(TWILL_TEST_DATA "/ttgir/ragged.ttgir");
}

LoweredModule lowered_text(const std::string& text) {
  return lower_module(text, "ragged", builtin_machine("hopper"), "hopper", {}, {});
}

std::string why_none(const std::string& text) {
  const auto result = meaning_of_loop(lowered_text(text));
  const auto* no = std::get_if<NoMeaning>(&result);
  return no == nullptr ? std::string() : no->why;
}

/// Tensors of which no place is known: a mask that is no rule of places moves what it lets through,
/// the tile is what is moved, and no kernel is written of it.
int without_place(const std::string& text) {
  int count = 0;
  for (const meaning::Place& place : test::meaning_of(lowered_text(text)).kernel.places)
    count += place.parameter < 0;
  return count;
}

/// The one tensor that is loaded.
int loaded_tensor(const meaning::Meaning& m) {
  for (int t = 0; t < static_cast<int>(m.tensors.size()); ++t)
    if (!m.is_output(t)) return t;
  FAIL("nothing is loaded");
  return -1;
}

/// What the functions of an execution make of the loop: no pipeline, one iteration after the other.
meaning::TensorTiles executed(const meaning::Meaning& m, int n, const meaning::TensorTiles& in) {
  meaning::TensorTiles out(m.tensors.size());
  std::vector<meaning::Numbers> last(m.values.size()), now(m.values.size());
  const auto value = [&](int v, int i) {
    const meaning::Value& one = m.values[at(v)];
    std::vector<meaning::Numbers> operands;
    if (one.tensor >= 0 && !m.is_output(one.tensor))
      operands.push_back(in[at(one.tensor)][at(std::max(i, 0))]);
    for (const meaning::Operand& operand : one.operands) {
      if (operand.value < 0)
        operands.push_back({{}, {operand.number}});
      else
        operands.push_back(
            meaning::seen(operand, (operand.distance > 0 ? last : now)[at(operand.value)]));
    }
    now[at(v)] = meaning::evaluate(one, operands, i);
    if (m.is_output(one.tensor) && one.tensor >= 0) out[at(one.tensor)].push_back(now[at(v)]);
  };
  for (const meaning::Initial& one : m.initial) {
    const meaning::Value& of = m.values[at(one.value)];
    now[at(one.value)] = {
        of.shape,
        std::vector<double>(at(static_cast<int>(meaning::elements(of.shape))), one.what.number)};
  }
  for (int v = 0; v < m.loop_begin; ++v) value(v, 0);
  for (int i = 0; i < n; ++i) {
    last = now;
    for (const int v : meaning::loop_order(m)) value(v, i);
  }
  for (int v = m.after_begin; v < static_cast<int>(m.values.size()); ++v) value(v, 0);
  return out;
}

/// The loop of ragged.ttgir, or of one with another width, or with another number for what is not
/// loaded, beside the formula.
void check_ragged(const std::string& text,
                  const std::function<std::int64_t(const meaning::Launch&)>& width_of,
                  double outside = 0.5) {
  const LoweredModule lowered = lowered_text(text);
  const ModuleMeaning made = test::meaning_of(lowered);
  for (int n = 0; n <= 9; ++n) {
    CAPTURE(n);
    ModuleMeaning of = made;
    const auto launch = ragged_launch_of(of, n);
    REQUIRE(launch);
    const std::int64_t height = launch->arguments[3], width = width_of(*launch);
    if (n > 0) CHECK(width % kColumns != 0);
    CHECK(height < kRows);
    set_numbers(of.meaning, of.kernel, *launch);
    const auto result = run_module(lowered, of, *launch, n, 7);
    if (const auto* no = std::get_if<NotInterpreted>(&result)) FAIL(no->why);
    const ModuleRun& run = std::get<ModuleRun>(result);
    const int x = loaded_tensor(of.meaning);
    const auto reference = meaning::reference(of.meaning, n, run.inputs);
    const auto functions = executed(of.meaning, n, run.inputs);
    std::vector<double> sum(kRows * kColumns, 0.0);
    for (int i = 0; i <= n; ++i)
      for (int r = 0; r < kRows; ++r)
        for (int c = 0; c < kColumns; ++c) {
          const int k = r * kColumns + c, at_column = i * kColumns + c;
          const bool last = i == n;  // behind the loop
          const bool inside = r < height && (last || at_column < width);
          if (!last) {
            const double loaded =
                at_column < width ? run.inputs[at(x)][at(i)].data[at(k)] : outside;
            sum[at(k)] += at_column - r >= 9 ? loaded : 0;
          }
          const double right = inside ? sum[at(k)] : 0;
          const int tile = last ? 0 : i;
          bool found = false;
          for (std::size_t one = 0; one < reference.size(); ++one) {
            if (!of.meaning.is_output(static_cast<int>(one))) continue;
            if (of.meaning.streams(static_cast<int>(one)) == last) continue;
            found = true;
            REQUIRE(reference[one][at(tile)].value.data[at(k)] == doctest::Approx(right));
            REQUIRE(functions[one][at(tile)].data[at(k)] == doctest::Approx(right));
            REQUIRE(run.outputs[one][at(tile)].data[at(k)] == doctest::Approx(right));
          }
          REQUIRE(found);
        }
  }
}

/// Its columns are a sequence of several that lie one after the other: where it begins and ends is
/// loaded.
std::string with_lengths() {
  return replaced(ragged(), "%height: i32, %width: i32) {",
                  R"(%height: i32, %starts: !tt.ptr<i32>) {
    %one = arith.constant 1 : i32
    %which = tt.get_program_id x : i32
    %start = tt.addptr %starts, %which : !tt.ptr<i32>, i32
    %begin = tt.load %start : !tt.ptr<i32>
    %beyond = tt.addptr %start, %one : !tt.ptr<i32>, i32
    %behind = tt.load %beyond : !tt.ptr<i32>
    %width = arith.subi %behind, %begin : i32)");
}

/// What lies behind argument 4.
std::int64_t start_of(const meaning::Launch& launch, std::int64_t sequence) {
  return launch.memory.at({4, sequence});
}

}  // namespace

TEST_CASE("ragged ends and a band are what a formula written by hand says") {
  check_ragged(ragged(), [](const meaning::Launch& launch) { return launch.arguments[4]; });
}

TEST_CASE("a length that is loaded before the loop bounds it and its masks") {
  check_ragged(with_lengths(), [](const meaning::Launch& launch) {
    REQUIRE(launch.memory.size() == 2);
    return start_of(launch, launch.program[0] + 1) - start_of(launch, launch.program[0]);
  });
}

TEST_CASE("a length is read where the module reads it") {
  const LoweredModule lowered = lowered_text(with_lengths());
  ModuleMeaning of = test::meaning_of(lowered);
  REQUIRE(of.kernel.loaded.size() == 2);
  CHECK(of.kernel.loaded[0].parameter == 4);
  CHECK(of.kernel.incomplete.empty());
  auto launch = ragged_launch_of(of, 3);
  REQUIRE(launch);
  set_numbers(of.meaning, of.kernel, *launch);
  const auto wrong = [&] {
    const auto result = run_module(lowered, of, *launch, 3, 7);
    if (const auto* no = std::get_if<NotInterpreted>(&result)) FAIL(no->why);
    const ModuleRun& run = std::get<ModuleRun>(result);
    const auto mine = meaning::reference(of.meaning, 3, run.inputs);
    int differ = 0;
    for (std::size_t t = 0; t < mine.size(); ++t)
      for (std::size_t i = 0; i < mine[t].size(); ++i)
        for (std::size_t k = 0; k < mine[t][i].value.data.size(); ++k)
          differ += mine[t][i].value.data[k] != doctest::Approx(run.outputs[t][i].data[k]);
    return differ;
  };
  CHECK(wrong() == 0);
  // One column less, in memory alone.
  --launch->memory.at({4, launch->program[0] + 1});
  CHECK(wrong() > 0);
  // Of two numbers that lie in one place one is both.
  of.kernel.loaded[1].place = of.kernel.loaded[0].place;
  place_loaded(of.kernel, *launch);
  CHECK(launch->memory.size() == 1);
  CHECK(launch->loaded[0] == launch->loaded[1]);
}

TEST_CASE("a number that is not loaded once, or not always, is no length") {
  const std::string text = with_lengths();
  CHECK(why_none(text).empty());
  CHECK(without_place(text) == 0);
  const auto unplaced = [&](const std::string& from, const std::string& to) {
    return without_place(replaced(text, from, to));
  };
  // Under a mask: what it is without is not said.
  CHECK(unplaced("%behind = tt.load %beyond : !tt.ptr<i32>",
                 "%yes = arith.constant true\n %behind = tt.load %beyond, %yes : !tt.ptr<i32>") >
        0);
  // Loaded twice it may be two numbers.
  const LoweredModule twice = lowered_text(replaced(text, "tt.load %beyond", "tt.load %start"));
  CHECK(test::meaning_of(twice).kernel.loaded.size() == 2);
  // In the loop.
  std::string inside = replaced(text, "%behind = tt.load %beyond : !tt.ptr<i32>",
                                "%behind = arith.constant 40 : i32");
  inside = replaced(inside, "%is = tt.splat",
                    "%more = tt.load %beyond : !tt.ptr<i32>\n"
                    "%wider = tt.splat %more : i32 -> tensor<16xi32, #columns>\n%is = tt.splat");
  CHECK(why_none(inside).empty());
  CHECK(without_place(replaced(inside, "slt, %at, %wide :", "slt, %at, %wider :")) > 0);
  // From a place that is not known.
  CHECK(unplaced(
            "%start = tt.addptr %starts, %which",
            "%far_off = arith.xori %which, %one : i32\n %start = tt.addptr %starts, %far_off") > 0);
}

namespace {

/// The function returns before the loop in what `branch` says, behind a comparison of 0 and the
/// width.
std::string returning(const std::string& branch) {
  return replaced(with_lengths(), "    %zero = arith.constant 0 : i32\n",
                  "    %zero = arith.constant 0 : i32\n" + branch);
}

}  // namespace

TEST_CASE("a function returns before the loop where integers say so") {
  using Compared = meaning::IndexComparison;
  const std::string blocks = R"(
  ^bb1:  // pred: ^bb0
    tt.return
  ^bb2:  // pred: ^bb0
)";
  const auto returns = [&](const std::string& branch) {
    const ModuleMeaning of = test::meaning_of(lowered_text(returning(branch)));
    CHECK(of.kernel.incomplete.empty());
    return of.kernel.returns;
  };
  const std::string text = returning(
      "    %nothing = arith.cmpi sge, %zero, %width : i32\n"
      "    cf.cond_br %nothing, ^bb1, ^bb2" +
      blocks);
  const LoweredModule lowered = lowered_text(text);
  const ModuleMeaning made = test::meaning_of(lowered);
  CHECK(made.kernel.incomplete.empty());
  REQUIRE(made.kernel.returns.size() == 1);
  CHECK(made.kernel.returns[0].how == Compared::at_least);
  CHECK(!ragged_launch_of(made, 0));  // no iteration, and nothing is stored
  for (const int n : {1, 3}) {
    CAPTURE(n);
    ModuleMeaning of = made;
    const auto launch = ragged_launch_of(of, n);
    REQUIRE(launch);
    CHECK(!holds(of.kernel.returns[0], *launch));
    CHECK(test::module_difference(lowered, of, *launch, n).largest <= 1e-9);
  }
  // The other way round; one of two; neither of two.
  const auto other = returns(
      "    %some = arith.cmpi slt, %zero, %width : i32\n"
      "    cf.cond_br %some, ^bb2, ^bb1" +
      blocks);
  CHECK(other == made.kernel.returns);
  const std::string two =
      "    %nothing = arith.cmpi sge, %zero, %width : i32\n"
      "    %same = arith.cmpi eq, %zero, %width : i32\n";
  const auto any = returns(two + "    %any = arith.ori %nothing, %same : i1\n" +
                           "    cf.cond_br %any, ^bb1, ^bb2" + blocks);
  REQUIRE(any.size() == 2);
  CHECK(any[1].how == Compared::equal);
  const auto both = returns(two + "    %both = arith.andi %nothing, %same : i1\n" +
                            "    cf.cond_br %both, ^bb2, ^bb1" + blocks);
  REQUIRE(both.size() == 2);
  CHECK(both[0].how == Compared::less);
  CHECK(both[1].how == Compared::unequal);
  // Of two that must both hold nobody says which.
  const auto incomplete = [&](const std::string& branch) {
    return !test::meaning_of(lowered_text(returning(branch))).kernel.incomplete.empty();
  };
  CHECK(incomplete(two + "    %both = arith.andi %nothing, %same : i1\n" +
                   "    cf.cond_br %both, ^bb1, ^bb2" + blocks));
  // Something is done where it returns; unsigned.
  CHECK(
      incomplete("    %nothing = arith.cmpi sge, %zero, %width : i32\n"
                 "    cf.cond_br %nothing, ^bb1, ^bb2\n  ^bb1:\n"
                 "    %more = arith.addi %zero, %zero : i32\n    tt.return\n  ^bb2:\n"));
  CHECK(
      incomplete("    %nothing = arith.cmpi uge, %zero, %width : i32\n"
                 "    cf.cond_br %nothing, ^bb1, ^bb2" +
                 blocks));
}

TEST_CASE("a mask that is no rule of places leaves a tile without a place") {
  const std::string text = ragged();
  const auto why = [&](const std::string& from, const std::string& to) {
    return why_none(replaced(text, from, to));
  };
  CHECK(why_none(text).empty());
  // (Where nothing is said of what is outside, 0 is.)
  CHECK(why("%from, %in3, %other :", "%from, %in3 :").empty());
  // Unsigned: below 0 it would be another set.
  CHECK(without_place(text) == 0);
  CHECK(without_place(replaced(text, "arith.cmpi slt, %at, %wide", "arith.cmpi ult, %at, %wide")) >
        0);
  // (Either of two is comparisons of numbers, one but not the other is none.)
  CHECK(without_place(replaced(text, "arith.andi %in_rows2, %in3", "arith.ori %in_rows2, %in3")) ==
        0);
  CHECK(without_place(replaced(text, "arith.andi %in_rows2, %in3", "arith.xori %in_rows2, %in3")) >
        0);
  CHECK(why("arith.addi %is, %c :", "arith.ceildivsi %is, %c :")
            .starts_with("arith.ceildivsi of line"));
  // (A word that begins as a predicate is none: it was read as one.)
  CHECK(without_place(replaced(ragged(), "cmpi slt,", "cmpi sltx,")) > 0);
}

TEST_CASE("what a masked load leaves outside may be a constant that is converted") {
  const std::string text = replaced(
      ragged(), "%other = arith.constant dense<5.000000e-01> : tensor<32x16xf32, #blocked>",
      "%tenth = arith.constant 1.000000e-01 : f32\n"
      "    %cut = arith.truncf %tenth : f32 to f16\n"
      "    %back = arith.extf %cut : f16 to f32\n"
      "    %other = tt.splat %back : f32 -> tensor<32x16xf32, #blocked>");
  constexpr double kCut = 0.0999755859375;  // (0.1 in f16, by hand: 1638 / 2^14)
  check_ragged(
      text, [](const meaning::Launch& launch) { return launch.arguments[4]; }, kCut);
  CHECK(without_place(text) == 0);
  const auto outside = [](const std::string& one) {
    const ModuleMeaning made = test::meaning_of(lowered_text(one));
    for (const meaning::Value& value : made.meaning.values)
      if (value.function == meaning::Function::load && !value.operands.empty())
        return value.operands[0].number;
    return made.kernel.places[at(loaded_tensor(made.meaning))].outside;
  };
  CHECK(outside(text) == kCut);
  // Too large for f16.
  CHECK(outside(replaced(text, "1.000000e-01 : f32", "-1.000000e+30 : f32")) ==
        -std::numeric_limits<double>::infinity());
  // Under a mask that is comparisons of numbers.
  const std::string either =
      replaced(text, "%tile = tt.load %from, %in3,",
               "%either = arith.ori %in_rows2, %in3 : tensor<32x16xi1, #blocked>\n"
               "      %tile = tt.load %from, %either,");
  CHECK(without_place(either) == 0);
  CHECK(outside(either) == kCut);
  // Rounded in another way; of what is no constant.
  CHECK(without_place(
            replaced(text, "truncf %tenth :", "truncf %tenth {roundingmode = 3 : i32} :")) > 0);
  CHECK(without_place(replaced(text, "%tenth = arith.constant 1.000000e-01 : f32",
                               "%tenth = arith.sitofp %height : i32 to f32")) > 0);
}

TEST_CASE("another bound is another number") {
  const LoweredModule lowered = lowered_text(ragged());
  const ModuleMeaning of = test::meaning_of(lowered);
  int changed = 0;
  for (std::size_t v = 0; v < of.meaning.values.size(); ++v) {
    const meaning::Value& value = of.meaning.values[v];
    const int first = meaning::first_bound(value.function);
    if (meaning::bounds_of(value).empty() || value.type == "i32") continue;
    for (std::size_t k = at(first); k < value.operands.size(); ++k) {
      CAPTURE(value.id);
      CAPTURE(k);
      if (value.operands[k].number == 0 && value.operands[k].constant.empty()) continue;
      meaning::Meaning right = of.meaning;
      const auto launch = ragged_launch_of(of, 3);
      REQUIRE(launch);
      set_numbers(right, of.kernel, *launch);
      meaning::Meaning wrong = right;
      wrong.values[v].operands[k].number -= 1;
      const auto inputs = meaning::seeded_inputs(right, 3, 5);
      bool differs = false;
      const auto a = meaning::reference(right, 3, inputs), b = meaning::reference(wrong, 3, inputs);
      for (std::size_t t = 0; t < a.size(); ++t)
        for (std::size_t i = 0; i < a[t].size(); ++i)
          differs = differs || a[t][i].value.data != b[t][i].value.data;
      CHECK(differs);
      ++changed;
    }
  }
  CHECK(changed >= 10);
}

}  // namespace ttgir_bounds_test
