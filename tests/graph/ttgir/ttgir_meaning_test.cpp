// What a module's loop computes, beside the module executed op by op (interpret.hpp): both in
// double precision, so that nothing but the order of sums is between them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "graph/index.hpp"
#include "graph/ttgir/meaning.hpp"
#include "graph/ttgir/module_run.hpp"
#include "tests/support/module_difference.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_meaning_test {

using namespace twill;
using namespace twill::ttgir;

namespace {

constexpr double kSame = 1e-9;  // of the largest number

struct Case {
  std::string name;
  std::vector<int> trips;  ///< of which there is a launch
  int subtile = 1;
  std::optional<int> loop = std::nullopt;
};

const std::vector<Case>& cases() {
  const std::vector<int> all = {0, 1, 2, 3, 7}, some = {1, 2, 3, 7};
  static const std::vector<Case> list = {
      {"hopper-attention-forward", all},
      {"hopper-attention-forward", all, 2},
      {"hopper-attention-forward-sub2", all},
      {"hopper-attention-backward", all},
      {"hopper-fused-mlp", all},
      {"hopper-fused-mlp", all, 2},
      {"hopper-linear-attention", all},
      {"hopper-gemm-persistent", all, 1, 1},
      {"hopper-gemm-persistent", all, 2, 1},
      {"blackwell-attention-forward", all},
      {"blackwell-attention-forward-m256", all},
      {"blackwell-attention-forward-m256", all, 2},
      {"blackwell-attention-forward-sub2", all},
      {"blackwell-attention-causal", some},
      {"blackwell-attention-causal", some, 2},
      {"blackwell-attention-backward", all},
      {"blackwell-fused-mlp", all},
      {"blackwell-linear-attention", all},
      {"blackwell-gemm-persistent", all, 1, 1},
      {"ampere-gemm-pointers", all},
      {"hopper-layer-norm", all, 1, 0},
      {"hopper-layer-norm", all, 1, 1},
      {"blackwell-layer-norm", all, 1, 1},
  };
  return list;
}

LoweredModule lowered_case(const Case& one) {
  LoopOptions options;
  options.subtile = one.subtile;
  options.loop = one.loop;
  const std::string text = test::module_text(one.name);
  const std::string machine = machine_of_target(text, one.name, options);
  return lower_module(text, one.name, builtin_machine(machine), machine, options, {});
}

/// The largest difference of all outputs, relative to the largest number; infinite where one alone
/// is no number. `change` makes a mutant of the meaning.
double difference(const LoweredModule& lowered, ModuleMeaning of, int n,
                  const std::function<void(meaning::Meaning&)>& change = nullptr) {
  const auto launch = launch_of(of.kernel, n);
  REQUIRE(launch);
  return test::module_difference(lowered, std::move(of), *launch, n, change).largest;
}

}  // namespace

TEST_CASE("a loop's meaning says what the module computes, at every trip count") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    CAPTURE(one.subtile);
    const LoweredModule lowered = lowered_case(one);
    const ModuleMeaning meaning = test::meaning_of(lowered);
    for (const int n : one.trips) {
      if (test::kSanitized && n > 2) continue;
      CAPTURE(n);
      CHECK(difference(lowered, meaning, n) <= kSame);
    }
  }
}

TEST_CASE(
    "a transposition on the way through a buffer; sums of vectors, repeated; scans; integers") {
  for (const std::string name : {"turned-buffer", "vector-sums", "running-sums", "integers"}) {
    CAPTURE(name);
    const std::string text = read_file(TWILL_TEST_DATA "/ttgir/" + name + ".ttgir");
    const LoweredModule lowered =
        lower_module(text, name, builtin_machine("hopper"), "hopper", {}, {});
    const ModuleMeaning meaning = test::meaning_of(lowered);
    for (int n = 0; n <= 9; ++n) {
      CAPTURE(n);
      CHECK(difference(lowered, meaning, n) <= kSame);
    }
  }
}

TEST_CASE("branches, what a loop around the loop carries, buffers that are read early") {
  struct Module {
    std::string name, machine;
    int loop;
  };
  for (const Module& one :
       {Module{"product-in-branch", "blackwell", 0}, Module{"group-norm-hopper", "hopper", 1},
        Module{"read-early", "hopper", 0}}) {
    CAPTURE(one.name);
    const std::string text = read_file(TWILL_TEST_DATA "/ttgir/" + one.name + ".ttgir");
    LoopOptions options;
    options.loop = one.loop;
    const LoweredModule lowered =
        lower_module(text, one.name, builtin_machine(one.machine), one.machine, options, {});
    const ModuleMeaning meaning = test::meaning_of(lowered);
    for (const int n : {0, 1, 2, 5}) {
      if (test::kSanitized && n > 2) continue;
      CAPTURE(n);
      CHECK(difference(lowered, meaning, n) <= kSame);
    }
  }
}

TEST_CASE("tiles of three dimensions that are only moved are matrices") {
  const std::string text = read_file(TWILL_TEST_DATA "/ttgir/convolution-tiles-blackwell.ttgir");
  const auto lowered = [](const std::string& module) {
    return lower_module(module, "tiles", builtin_machine("blackwell"), "blackwell", {}, {});
  };
  const LoweredModule whole = lowered(text);
  const ModuleMeaning meaning = test::meaning_of(whole);
  for (const int n : {0, 9}) {
    CAPTURE(n);
    CHECK(difference(whole, meaning, n) <= kSame);
  }
  // A reshape that may reorder elements is none that keeps them.
  std::string other = text;
  const std::string reshape = "tt.reshape ";
  std::size_t place = other.find(reshape);
  REQUIRE(place != std::string::npos);
  place = other.find(" :", place);
  other.insert(place, " allow_reorder");
  const auto read = meaning_of_loop(lowered(other));
  const auto* no = std::get_if<NoMeaning>(&read);
  REQUIRE(no != nullptr);
  CHECK_MESSAGE(no->why.find("in which order it has its elements") != std::string::npos, no->why);
}

TEST_CASE("a branch is refused that does more than compute, by its line") {
  const std::string text = read_file(TWILL_TEST_DATA "/ttgir/product-in-branch.ttgir");
  std::string other = text;
  const std::string whole = "%acc_40], %true : tensor<64x64xf32, #linear>";
  REQUIRE(other.find(whole) != std::string::npos);
  other.replace(other.find(whole), whole.size(), "%acc_40], %10 : tensor<64x64xf32, #linear>");
  const auto read = meaning_of_loop(
      lower_module(other, "branch", builtin_machine("blackwell"), "blackwell", {}, {}));
  const auto* no = std::get_if<NoMeaning>(&read);
  REQUIRE(no != nullptr);
  CHECK_MESSAGE(no->why.find("it is not always executed") != std::string::npos, no->why);
}

TEST_CASE("a maximum of a row that hands on what is no number is refused") {
  std::string text = read_file(TWILL_TEST_DATA "/ttgir/attention-pointers-hopper.ttgir");
  const std::size_t reduced = text.find("tt.reduce"), combine = text.find("arith.maxnumf", reduced);
  REQUIRE(combine != std::string::npos);
  text.replace(combine, std::string("arith.maxnumf").size(), "arith.maximumf");
  const auto read =
      meaning_of_loop(lower_module(text, "kept", builtin_machine("hopper"), "hopper", {}, {}));
  const auto* no = std::get_if<NoMeaning>(&read);
  REQUIRE(no != nullptr);
  CHECK_MESSAGE(no->why.find("it reduces with arith.maximumf") != std::string::npos, no->why);
}

TEST_CASE("a clamp is refused of which it is not known what it makes of a NaN") {
  std::string text = read_file(TWILL_TEST_DATA "/ttgir/clamped-hopper.ttgir");
  const std::string mode = "propagateNan = all";
  REQUIRE(text.find(mode) != std::string::npos);
  text.replace(text.find(mode), mode.size(), "propagateNan = any");
  const auto read =
      meaning_of_loop(lower_module(text, "clamp", builtin_machine("hopper"), "hopper", {}, {}));
  const auto* no = std::get_if<NoMeaning>(&read);
  REQUIRE(no != nullptr);
  CHECK_MESSAGE(no->why.find("it is not known what it makes of a NaN") != std::string::npos,
                no->why);
}

TEST_CASE("a scan is refused that is no running sum or product, by its line") {
  const std::string text = read_file(TWILL_TEST_DATA "/ttgir/running-sums.ttgir");
  const auto why = [&](std::string from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    const auto read =
        meaning_of_loop(lower_module(other, "scan", builtin_machine("hopper"), "hopper", {}, {}));
    const auto* no = std::get_if<NoMeaning>(&read);
    return no == nullptr ? "" : no->why;
  };
  CHECK(why("reverse = false", "reverse = true").empty());
  CHECK(why("arith.addf %p, %q", "arith.mulf %p, %q").empty());
  CHECK(why("arith.addf %p, %q", "arith.divf %p, %q") ==
        "tt.scan of line 27: it scans with arith.divf");
  CHECK(why("arith.addf %p, %q", "arith.maximumf %p, %q") ==
        "tt.scan of line 27: it scans with arith.maximumf");
  for (const std::string both : {"arith.addf", "arith.mulf"})
    CHECK(why("arith.addf %p, %q", both + " %p, %p") ==
          "tt.scan of line 27: it reduces with another operation");
}

TEST_CASE("of two loops each is executed with what the other one hands on") {
  const std::string text = read_file(TWILL_TEST_DATA "/ttgir/two-loops.ttgir");
  for (const int loop : {0, 1}) {
    CAPTURE(loop);
    LoopOptions options;
    options.loop = loop;
    const LoweredModule lowered =
        lower_module(text, "two-loops", builtin_machine("hopper"), "hopper", options, {});
    const ModuleMeaning meaning = test::meaning_of(lowered);
    // What the first one makes can be made again before the second one.
    CHECK(meaning.kernel.incomplete.empty() == (loop == 1));
    REQUIRE(meaning.kernel.earlier.size() == static_cast<std::size_t>(loop));
    const auto handed = std::count_if(meaning.tiles.begin(), meaning.tiles.end(),
                                      [](const TileOp& tile) { return tile.result >= 0; });
    CHECK(handed == 2);
    for (int n = 0; n <= 9; ++n) {
      CAPTURE(n);
      CHECK(difference(lowered, meaning, n) <= kSame);
    }
    // Another function is another number.
    for (std::size_t v = 0; v < meaning.meaning.values.size(); ++v) {
      const meaning::Value& value = meaning.meaning.values[v];
      if (!meaning::is_elementwise(value.function) || value.operands.size() > 2) continue;
      CAPTURE(value.id);
      CHECK(difference(lowered, meaning, 3, [v](meaning::Meaning& one) {
              auto& function = one.values[v].function;
              const bool pair = one.values[v].operands.size() == 2;
              using enum meaning::Function;
              function = pair ? (function == mul ? max : mul) : (function == exp2 ? log2 : exp2);
            }) > kSame);
    }
  }
}

TEST_CASE("an addition in memory under a mask adds what the mask lets through") {
  std::string text = read_file(TWILL_TEST_DATA "/ttgir/two-loops.ttgir");
  const std::string store = "tt.store %there, %whole : tensor<128x!tt.ptr<f32>, #blocked>";
  const std::string added =
      "%hundred = arith.constant dense<100> : tensor<128xi32, #blocked>\n"
      "%some = arith.cmpi slt, %c, %hundred : tensor<128xi32, #blocked>\n"
      "%old = tt.atomic_rmw fadd, relaxed, gpu, %there, %whole, %some : "
      "(tensor<128x!tt.ptr<f32>, #blocked>, tensor<128xf32, #blocked>, tensor<128xi1, #blocked>) "
      "-> tensor<128xf32, #blocked>";
  text.replace(text.find(store), store.size(), added);
  LoopOptions options;
  options.loop = 1;
  const auto lowered = [&] {
    return lower_module(text, "two-loops", builtin_machine("hopper"), "hopper", options, {});
  };
  for (const int n : {0, 1, 3})
    CHECK(difference(lowered(), test::meaning_of(lowered()), n) <= kSame);
  const LoweredModule one = lowered();
  CHECK(difference(one, test::meaning_of(one), 3, [](meaning::Meaning& m) {
          for (meaning::Value& value : m.values)  // without its bounds
            if (value.function == meaning::Function::store && value.operands.size() > 1)
              value.operands.resize(1);
        }) > kSame);
  // Of other operations nothing is known.
  text.replace(text.find("fadd"), 4, "xchg");
  const LoweredModule other = lowered();
  CHECK(std::holds_alternative<NoMeaning>(meaning_of_loop(other)));
}

TEST_CASE("a mask that says nothing of what is outside has a meaning only where that is not used") {
  const std::string text = read_file(TWILL_TEST_DATA "/ttgir/two-loops.ttgir");
  LoopOptions options;
  options.loop = 1;
  // Without its mask the store takes what is outside: the module's own number is another one.
  std::string used = text;
  const std::string store = "tt.store %to, %less, %in :";
  used.replace(used.find(store), store.size(), "tt.store %to, %less :");
  const LoweredModule lowered =
      lower_module(used, "two-loops", builtin_machine("hopper"), "hopper", options, {});
  ModuleMeaning of = test::meaning_of(lowered);
  const auto launch = ragged_launch_of(of, 3);
  REQUIRE(launch);
  set_numbers(of.meaning, of.kernel, *launch);
  const auto result = run_module(lowered, of, *launch, 3, 7);
  REQUIRE(std::holds_alternative<ModuleRun>(result));
  const ModuleRun& run = std::get<ModuleRun>(result);
  const auto mine = meaning::reference(of.meaning, 3, run.inputs);
  bool another = false;
  for (std::size_t t = 0; t < mine.size(); ++t)
    for (std::size_t i = 0; i < mine[t].size(); ++i)
      for (std::size_t k = 0; k < mine[t][i].value.data.size(); ++k)
        another = another || std::abs(mine[t][i].value.data[k] - run.outputs[t][i].data[k]) > 100;
  CHECK(another);
}

TEST_CASE("another operand, distance, mask, initial value or place of a vector is another number") {
  for (const char* const name :
       {"hopper-attention-forward", "blackwell-attention-causal", "blackwell-attention-backward",
        "hopper-linear-attention", "blackwell-fused-mlp"}) {
    if (test::kSanitized && std::string_view(name) != "hopper-linear-attention") continue;
    CAPTURE(name);
    const LoweredModule lowered = lowered_case({name, {}});
    const ModuleMeaning meaning = test::meaning_of(lowered);
    const meaning::Meaning& m = meaning.meaning;
    int mutants = 0;
    const auto noticed = [&](const std::string& what,
                             const std::function<void(meaning::Meaning&)>& change) {
      CAPTURE(what);
      ++mutants;
      CHECK(difference(lowered, meaning, 3, change) > kSame);
    };
    for (std::size_t v = 0; v < m.values.size(); ++v) {
      const meaning::Value& value = m.values[v];
      using enum meaning::Function;
      if (value.function == sub || value.function == div)
        noticed("swap " + value.id, [v](meaning::Meaning& one) {
          std::swap(one.values[v].operands[0], one.values[v].operands[1]);
        });
      if (value.function == product && value.shape[0] == value.shape[1] &&
          value.tile[2] == value.shape[0])
        noticed("swap " + value.id, [v](meaning::Meaning& one) {
          std::swap(one.values[v].operands[0], one.values[v].operands[1]);
        });
      if (value.function == product && value.operands.size() == 3)
        noticed("no sum " + value.id,
                [v](meaning::Meaning& one) { one.values[v].operands.pop_back(); });
      if (value.function == lower || value.function == causal)
        noticed("no mask " + value.id, [v](meaning::Meaning& one) {
          one.values[v].function = copy;
          one.values[v].operands.resize(1);
        });
      if (value.function == causal)
        noticed("mask by one " + value.id,
                [v](meaning::Meaning& one) { one.values[v].operands[1].number += 1; });
      // (The maximum of a softmax is no number of its result: any other one serves as well.)
      for (std::size_t k = 0; k < value.operands.size(); ++k) {
        const meaning::Operand& operand = value.operands[k];
        if (operand.distance > 0 && operand.value != static_cast<int>(v))
          noticed("further " + value.id,
                  [v, k](meaning::Meaning& one) { ++one.values[v].operands[k].distance; });
        if (operand.along_columns && value.shape[0] == value.shape[1])
          noticed("along " + value.id, [v, k](meaning::Meaning& one) {
            one.values[v].operands[k].along_columns = false;
          });
        if (operand.transposed && operand.value >= 0 &&
            m.values[at(operand.value)].shape[0] == m.values[at(operand.value)].shape[1])
          noticed("turned " + value.id,
                  [v, k](meaning::Meaning& one) { one.values[v].operands[k].transposed = false; });
      }
    }
    // (Behind a first iteration nothing is left of a sum that began at a maximum of -inf.)
    if (launch_of(meaning.kernel, 0))
      for (std::size_t k = 0; k < m.initial.size(); ++k) {
        const int value = m.initial[k].value;
        const bool kept = std::any_of(
            m.values.begin() + m.after_begin, m.values.end(), [&](const meaning::Value& after) {
              return std::any_of(after.operands.begin(), after.operands.end(),
                                 [&](const auto& one) { return one.value == value; });
            });
        // (0 / l is 0 for every l.)
        if (!kept || m.values[at(value)].shape.size() != 2) continue;
        ++mutants;
        CHECK(difference(lowered, meaning, 0,
                         [k](meaning::Meaning& one) { one.initial[k].what.number += 1; }) > kSame);
      }
    CHECK(mutants >= 5);
  }
}

TEST_CASE("what is not understood is refused by name and line") {
  const auto why = [](const Case& one) {
    const LoweredModule lowered = lowered_case(one);
    const auto result = meaning_of_loop(lowered);
    const auto* no = std::get_if<NoMeaning>(&result);
    return no == nullptr ? std::string("nothing") : no->why;
  };
  CHECK(why({"blackwell-gemm-persistent", {}}).find("scf.for of line") == 0);
}

TEST_CASE("a place in the grid and arguments give the trip count that is asked for") {
  const LoweredModule lowered = lowered_case({"blackwell-attention-causal", {}});
  const ModuleMeaning meaning = test::meaning_of(lowered);
  CHECK(!launch_of(meaning.kernel, 0));  // the first block of rows has one tile
  const auto launch = launch_of(meaning.kernel, 3);
  REQUIRE(launch);
  CHECK(launch->program[0] == 2);
  CHECK(value_of(meaning.kernel.trips, *launch, 0) == 3);
  CHECK(meaning.kernel.incomplete.empty());
  CHECK(meaning.kernel.name == "attention_forward_causal");
}

}  // namespace ttgir_meaning_test
