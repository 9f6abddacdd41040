// Numbers in a loop (carried, loaded, made of reductions), other types of factors, masks that are
// no rule of places: beside the module executed op by op, and as programs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/include/twill_emit.hpp"
#include "engine/include/twill_triton.hpp"
#include "graph/index.hpp"
#include "graph/program/execute.hpp"
#include "graph/program/program_io.hpp"
#include "graph/ttgir/meaning.hpp"
#include "graph/ttgir/module_run.hpp"
#include "tests/support/module_difference.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_numbers_test {

using namespace twill;
using namespace twill::ttgir;

namespace {

constexpr double kSame = 1e-9;  // of the largest number

std::string file_text(const std::string& name) {
  return read_file(TWILL_TEST_DATA "/ttgir/" + name + ".ttgir");
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

LoweredModule lowered_as(const std::string& text, const std::string& machine = "hopper") {
  return lower_module(text, "m", builtin_machine(machine), machine, {}, {});
}

std::string refusal_of(const std::string& text, const std::string& machine = "hopper") {
  const LoweredModule lowered = lowered_as(text, machine);
  const auto result = meaning_of_loop(lowered);
  const auto* no = std::get_if<NoMeaning>(&result);
  return no == nullptr ? std::string() : no->why;
}

/// Of n iterations: the largest difference from the module, relative to the largest number.
double apart(const LoweredModule& lowered, ModuleMeaning of, int n,
             const std::function<void(meaning::Meaning&)>& change = nullptr) {
  const auto launch = ragged_launch_of(of, n);
  REQUIRE(launch);
  const auto found = test::module_difference(lowered, std::move(of), *launch, n, change);
  CHECK(found.compared > 0);
  return found.largest;
}

/// The module's best program, executed in several orders at several trip counts.
void check_program(const std::string& text, const std::string& machine) {
  const program::Program made = [&] {
    ProgramOptions options;
    const ProgramResult result =
        best_program(program_source(read_triton(text, "module", machine, {})), options);
    CAPTURE(result.why);
    CAPTURE(result.no_meaning);
    REQUIRE(result.made);
    return result.made->program;
  }();
  REQUIRE(made.meaning);
  // The file says all of it.
  CHECK(program::parse_program(program::program_text(made), "f") == made);
  for (const int n : {0, 1, 2, 3, 7})
    for (const auto pace : {program::Pace::late, program::Pace::eager, program::Pace::random}) {
      CAPTURE(n);
      const auto inputs = meaning::seeded_inputs(*made.meaning, n, 5);
      const auto right = meaning::reference(*made.meaning, n, inputs);
      const auto run = program::execute(made, n, inputs, {pace, 1, {}});
      CAPTURE(run.text);
      CHECK(run.fault == "");
      CHECK(meaning::all_right(meaning::compare_with(*made.meaning, right, run.outputs, n == 0)));
    }
}

std::string factors(const std::string& type, const std::string& sum, const std::string& how = "") {
  std::string text = file_text("factors");
  if (sum == "f32") {
    text = with(text, "dense<0> : tensor<32x32xi32", "dense<0.0> : tensor<32x32xf32");
    text = with(text, "(%acc = %none) -> (tensor<32x32xi32", "(%acc = %none) -> (tensor<32x32xf32");
    text = with(text, "-> tensor<32x32xi32, #blocked>\n      scf.yield %next : tensor<32x32xi32",
                "-> tensor<32x32xf32, #blocked>\n      scf.yield %next : tensor<32x32xf32");
    text =
        with(text, "arith.sitofp %sum : tensor<32x32xi32, #blocked> to tensor<32x32xf32, #blocked>",
             "arith.negf %sum : tensor<32x32xf32, #blocked>");
    text = with(text, "dense<0> : tensor<32x32xi8", "dense<0.0> : tensor<32x32xi8");
  }
  text = with(text, "%acc : tensor", "%acc" + how + " : tensor");
  return with(with(text, "xi8", "x" + type), "ptr<i8>", "ptr<" + type + ">");
}

}  // namespace

TEST_CASE("a number takes a register of its slot, and memory on its way to another one") {
  const LoweredModule lowered = lowered_as(file_text("splits-combined-hopper"));
  const ModuleMeaning made = test::meaning_of(lowered);
  std::vector<std::string> numbers;
  for (std::size_t v = 0; v < made.meaning.values.size(); ++v)
    if (made.meaning.in_loop(static_cast<int>(v)) && made.meaning.values[v].shape.empty())
      numbers.push_back(made.meaning.values[v].id);
  int ops = 0;
  for (const KernelOp& op : lowered.loop.kernel.ops)
    if (std::find(numbers.begin(), numbers.end(), op.id) != numbers.end()) {
      CAPTURE(op.id);
      CHECK(op.registers == 1);
      ++ops;
    }
  CHECK(ops == 2);  // the largest weight and their sum
  // With one of them on another slot than who uses it.
  ProgramSource source =
      program_source(read_triton(file_text("splits-combined-hopper"), "m", "hopper", {}));
  const auto index_of = [](const Problem& problem, const std::string& id) {
    const auto found = std::find_if(problem.ops.begin(), problem.ops.end(),
                                    [&](const Op& op) { return op.id == id; });
    REQUIRE(found != problem.ops.end());
    return static_cast<int>(found - problem.ops.begin());
  };
  for (Lowered& layout : source.layouts) {
    Pin pin;
    pin.kind = Pin::other_slot;
    pin.op = index_of(layout.problem, "new");
    pin.other = index_of(layout.problem, "acc_16");
    layout.problem.pins.push_back(pin);
  }
  const ProgramResult apart = best_program(source, {});
  CAPTURE(apart.why);
  REQUIRE(apart.made);
  const program::Program& program = apart.made->program;
  const auto new_op = std::find_if(program.ops.begin(), program.ops.end(),
                                   [](const auto& op) { return op.id == "new"; });
  REQUIRE(new_op != program.ops.end());
  const auto& written = new_op->writes;
  CHECK(std::any_of(written.begin(), written.end(), [&](int s) {
    return program.storages[at(s)].kind == program::Storage::in_memory;
  }));
}

TEST_CASE("numbers that a loop carries, loads and makes of reductions") {
  const LoweredModule lowered = lowered_as(file_text("numbers"));
  const ModuleMeaning made = test::meaning_of(lowered);
  CHECK(made.kernel.incomplete.empty());
  for (int n = 0; n <= 9; ++n) {
    CAPTURE(n);
    CHECK(apart(lowered, made, n) <= kSame);
  }
  // Another function is another number.
  int mutants = 0;
  for (std::size_t v = 0; v < made.meaning.values.size(); ++v) {
    const meaning::Value& value = made.meaning.values[v];
    if (!meaning::is_elementwise(value.function) || value.operands.size() > 2 ||
        value.function == meaning::Function::copy || value.tensor >= 0)
      continue;
    CAPTURE(value.id);
    ++mutants;
    CHECK(apart(lowered, made, 3, [v](meaning::Meaning& one) {
            using enum meaning::Function;
            auto& function = one.values[v].function;
            const bool pair = one.values[v].operands.size() == 2;
            function = pair ? (function == mul ? sub : mul) : (function == exp2 ? abs : exp2);
          }) > kSame);
  }
  CHECK(mutants >= 14);
}

TEST_CASE("a program keeps the numbers that its loop carries") {
  // (Vectors of 128 are so short that the judge has too many iterations to look at.)
  check_program(with(file_text("numbers"), "128", "4096"), "hopper");
}

TEST_CASE("a program stores numbers, has the largest with its place, and scales factors") {
  check_program(file_text("largest"), "hopper");
  check_program(file_text("gemm-microscaled-blackwell"), "blackwell");
}

TEST_CASE("what is not kept, or not all there, is refused or said") {
  const std::string text = file_text("numbers");
  // A carried number's reduction that is used otherwise, too, does not keep it: it is an op itself.
  const LoweredModule used =
      lowered_as(with(text, "arith.mulf %norm, %decay", "arith.mulf %top, %decay"));
  const ModuleMeaning kept = test::meaning_of(used);
  for (const int n : {0, 1, 2, 3, 7}) CHECK(apart(used, kept, n) <= kSame);
  CHECK(used.loop.kernel.ops.size() == lowered_as(text).loop.kernel.ops.size() + 1);
  // A number stored in the loop is a step of the op that makes it, under a mask of data, too.
  const auto storing = [&](const std::string& store) {
    return with(text, "      scf.yield", store + " : !tt.ptr<f32>\n      scf.yield");
  };
  const LoweredModule lowered = lowered_as(storing("      tt.store %where, %both"));
  const ModuleMeaning made = test::meaning_of(lowered);
  CHECK(made.kernel.incomplete.empty());
  for (const int n : {0, 1, 2, 3, 7}) CHECK(apart(lowered, made, n) <= kSame);
  const auto store = std::find_if(made.meaning.values.begin(), made.meaning.values.end(),
                                  [](const meaning::Value& value) {
                                    return value.function == meaning::Function::store &&
                                           value.shape.empty() && !value.part_of.empty();
                                  });
  REQUIRE(store != made.meaning.values.end());
  CHECK(apart(lowered, made, 3, [&](meaning::Meaning& one) {
          meaning::Value& value =
              one.values[static_cast<std::size_t>(store - made.meaning.values.begin())];
          value.operands[0] = {};
          value.operands[0].number = 0.125;
        }) > kSame);
  const LoweredModule masked =
      lowered_as(storing("      %flag_of_it = arith.cmpf ogt, %both, %norm : f32\n"
                         "      tt.store %where, %both, %flag_of_it"));
  const ModuleMeaning flagged = test::meaning_of(masked);
  CHECK(flagged.kernel.incomplete.empty());
  for (const int n : {0, 1, 2, 3, 7}) CHECK(apart(masked, flagged, n) <= kSame);
}

TEST_CASE("scans from the end") {
  check_program(with(file_text("running-sums"), "reverse = false", "reverse = true"), "hopper");
}

TEST_CASE("a branch on a rest of the counter, what the last iteration alone makes, a constant") {
  for (const char* const name : {"every-third-hopper", "last-kept-hopper", "numbers-stored-hopper",
                                 "numbers-where-hopper", "numbers-kept-hopper"}) {
    CAPTURE(name);
    const LoweredModule lowered = lowered_as(file_text(name));
    const ModuleMeaning made = test::meaning_of(lowered);
    for (const int n : {0, 1, 2, 3, 7}) CHECK(apart(lowered, made, n) <= kSame);
    int mutants = 0;
    for (std::size_t v = 0; v < made.meaning.values.size(); ++v) {
      const meaning::Value& value = made.meaning.values[v];
      if (value.function != meaning::Function::select &&
          value.function != meaning::Function::int_rem &&
          value.function != meaning::Function::equal)
        continue;
      ++mutants;
      CAPTURE(value.id);
      CHECK(apart(lowered, made, 7, [v](meaning::Meaning& one) {
              meaning::Value& changed = one.values[v];
              if (changed.function == meaning::Function::select)
                std::swap(changed.operands[1], changed.operands[2]);
              else
                changed.operands[1].number += 1;
            }) > kSame);
    }
    CHECK(mutants >= (std::string(name).starts_with("numbers") ? 0 : 2));
  }
}

TEST_CASE("reshaped tiles: another place of an element is noticed") {
  for (const char* const name : {"halves-hopper", "pairs-turned-blackwell", "groups-scaled-hopper",
                                 "between-groups-hopper"}) {
    CAPTURE(name);
    const LoweredModule lowered = lowered_as(file_text(name));
    const ModuleMeaning made = test::meaning_of(lowered);
    for (const int n : {1, 2, 3, 7}) CHECK(apart(lowered, made, n) <= kSame);
    int mutants = 0;
    for (std::size_t v = 0; v < made.meaning.values.size(); ++v) {
      const meaning::Value& value = made.meaning.values[v];
      if (value.function != meaning::Function::rearranged) continue;
      CAPTURE(value.id);
      const auto& last = value.operands.back();
      if (last.number == 0 || value.operands.size() < 6) continue;  // (one digit is all of them)
      ++mutants;
      CHECK(apart(lowered, made, 7, [v](meaning::Meaning& one) {
              auto& operands = one.values[v].operands;
              const std::size_t end = operands.size();
              std::swap(operands[end - 4], operands[end - 2]);
              std::swap(operands[end - 3], operands[end - 1]);
            }) > kSame);
    }
    CHECK(mutants >= (std::string(name).starts_with("halves") ? 0 : 1));
  }
}

TEST_CASE("factors of other types") {
  struct Factor {
    std::string type, sum, how;
  };
  for (const Factor& one : std::vector<Factor>{{"i8", "i32", ""},
                                               {"f32", "f32", ", inputPrecision = tf32"},
                                               {"f32", "f32", ""},
                                               {"f8E5M2", "f32", ""},
                                               {"f8E4M3FN", "f32", ""}}) {
    CAPTURE(one.type);
    CAPTURE(one.how);
    const std::string text = factors(one.type, one.sum, one.how);
    const std::string machine = one.type.starts_with("f8") ? "hopper" : "ampere";
    const LoweredModule lowered = lowered_as(text, machine);
    const ModuleMeaning made = test::meaning_of(lowered);
    for (const int n : {0, 1, 2, 3, 7}) CHECK(apart(lowered, made, n) <= kSame);
    check_program(text, machine);
    const auto cut = std::count_if(made.meaning.values.begin(), made.meaning.values.end(),
                                   [](const meaning::Value& v) { return v.type == "tf32"; });
    CHECK(cut == (one.how.empty() ? 0 : 2));
  }
  CHECK(refusal_of(factors("f8E4M3FNUZ", "f32"), "hopper").find("no arithmetic") !=
        std::string::npos);
  CHECK(refusal_of(factors("f32", "f32", ", inputPrecision = tf32x3"), "ampere")
            .find("how it multiplies f32") != std::string::npos);
}

TEST_CASE("a tile under a mask that is no rule of places is what the load brings") {
  const LoweredModule lowered = lowered_as(file_text("factors"), "ampere");
  const ModuleMeaning made = test::meaning_of(lowered);
  int masked = 0;
  for (std::size_t t = 0; t < made.tiles.size(); ++t) {
    if (!made.tiles[t].masked) continue;
    ++masked;
    // Every third column: who writes a kernel has the comparison.
    const meaning::Place& place = made.kernel.places[t];
    CHECK(place.parameter == 1);
    REQUIRE(place.mask.size() == 1);
    meaning::Launch launch;
    for (launch.column = 0; launch.column < 32; ++launch.column)
      CHECK(holds(place.mask[0], launch) == (launch.column % 3 == 0));
  }
  CHECK(masked == 1);
  // One that is no comparison has no place, so that nobody writes a kernel of it.
  const ModuleMeaning other = test::meaning_of(
      lowered_as(with(file_text("factors"), "%picked = tt.broadcast %some",
                      "%flipped = arith.xori %some, %some : tensor<1x32xi1, #blocked>\n"
                      "    %picked = tt.broadcast %flipped"),
                 "ampere"));
  for (std::size_t t = 0; t < other.tiles.size(); ++t)
    if (other.tiles[t].masked) CHECK(other.kernel.places[t].parameter == -1);
  // Of elements that are left out and of which nothing is said anything is right: 0.
  const ModuleMeaning unsaid = test::meaning_of(lowered_as(
      with(file_text("factors"), "%bfrom, %picked, %nothing", "%bfrom, %picked"), "ampere"));
  int known = 0;
  for (std::size_t t = 0; t < unsaid.tiles.size(); ++t) {
    if (!unsaid.tiles[t].masked) continue;
    ++known;
    CHECK(unsaid.kernel.places[t].parameter == 1);
    CHECK(unsaid.kernel.places[t].mask.size() == 1);
    CHECK(unsaid.kernel.places[t].outside == 0);
  }
  CHECK(known == 1);
}

// What is cut off of 64 bits is nobody's place: 2^32 more changes nothing, 2^31 more is negative.
TEST_CASE("a tile's place that is computed in 64 bits and cut to 32") {
  const std::string text = file_text("window-hopper"), place = "%q_desc[%q, ";
  const auto moved = [&](const std::string& by) {
    const std::string load = "    %q_7 = tt.descriptor_load";
    return with(with(text, place, "%q_desc[%q_cut, "), load,
                "    %q_long = arith.extsi %q : i32 to i64\n    %q_by = arith.constant " + by +
                    " : i64\n    %q_far = arith.addi %q_long, %q_by : i64\n    %q_cut = "
                    "arith.trunci %q_far : i64 to i32\n" +
                    load);
  };
  const auto place_of_q = [](const ModuleMeaning& of) {
    for (std::size_t t = 0; t < of.kernel.places.size(); ++t)
      if (const int p = of.kernel.places[t].parameter;
          p >= 0 && of.kernel.parameters[at(p)].name == "q_desc")
        return of.kernel.places[t].begin[0];
    FAIL("no tile of Q");
    return meaning::Index();
  };
  const meaning::Index plain = place_of_q(test::meaning_of(lowered_as(text))),
                       same = place_of_q(test::meaning_of(lowered_as(moved("4294967296")))),
                       other = place_of_q(test::meaning_of(lowered_as(moved("2147483648"))));
  meaning::Launch launch;
  launch.arguments.assign(100, 1024);
  for (launch.program[0] = 0; launch.program[0] < 3; ++launch.program[0]) {
    const std::int64_t x = value_of(plain, launch, 0);
    CHECK(value_of(same, launch, 0) == x);
    CHECK(value_of(other, launch, 0) == x - (std::int64_t{1} << 31));
  }
  const EmittedKernel made = emit_kernel(program_source(read_triton(moved("4294967296"), "m")), {});
  REQUIRE_MESSAGE(!made.text.empty(), made.result.why);
  CHECK(made.text.find("gl.cast(gl.cast(") != std::string::npos);
  CHECK(made.text.find(" + 4294967296, gl.int32)") != std::string::npos);
}

TEST_CASE("the module's numbers: where the bound allows them an execution may be on either side") {
  std::vector<std::vector<meaning::Bounded>> all(1);
  all[0].push_back({{{3}, {2, 2, 2}}, {{3}, {1, 1, 0}}, {}});
  ModuleRun run;
  run.outputs = {{{{3}, {3, 5, 2}}}};
  take_numbers(all, run);
  CHECK(all[0][0].value.data == std::vector<double>{3, 5, 2});
  CHECK(all[0][0].error.data[0] == doctest::Approx(2));  // an execution at 1 is right
  CHECK(all[0][0].error.data[1] == doctest::Approx(1));  // another number: a misreading shows
  CHECK(all[0][0].error.data[2] < 1e-9);
}

}  // namespace ttgir_numbers_test
