// What a module's loop computes with several of its iterations in one, beside the module executed
// op by op: tiles, masks and numbers are those of the iteration that a copy is.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/index.hpp"
#include "graph/meaning/bounds.hpp"
#include "graph/ttgir/meaning.hpp"
#include "graph/ttgir/module_run.hpp"
#include "tests/support/module_difference.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_unrolled_test {

using namespace twill;
using namespace twill::ttgir;

namespace {

constexpr double kSame = 1e-9;  // of the largest number

struct Case {
  std::string file;
  std::optional<int> loop = std::nullopt;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"graph/kernels/triton/hopper-attention-forward"},
      {"graph/kernels/triton/hopper-attention-backward"},
      {"graph/kernels/triton/hopper-linear-attention"},
      {"graph/kernels/triton/hopper-layer-norm", 1},
      {"graph/kernels/triton/blackwell-attention-causal"},
      {"graph/kernels/triton/blackwell-attention-forward-sub2"},
      {"graph/kernels/triton/blackwell-gemm-persistent", 1},
      {"graph/kernels/triton/ampere-gemm-pointers"},
      {"tests/data/ttgir/ragged"},
      {"tests/data/ttgir/numbers"},
      {"tests/data/ttgir/turned-buffer"},
      {"tests/data/ttgir/running-sums"},
      {"tests/data/ttgir/attention-pointers-hopper"},
      {"tests/data/ttgir/gemm-masked-blackwell"},
      {"tests/data/ttgir/window-blackwell"},
      {"tests/data/ttgir/recurrence-blackwell"},
      {"tests/data/ttgir/softmax-online-blackwell"},
      {"tests/data/ttgir/cross-entropy-forward-hopper"},
  };
  return list;
}

LoweredModule lowered_case(const Case& one) {
  LoopOptions options;
  options.loop = one.loop;
  const std::string text = read_file(TWILL_TEST_DATA "/../../" + one.file + ".ttgir");
  std::string machine = "hopper";
  try {
    machine = machine_of_target(text, one.file, options);
  } catch (const InputError&) {  // (it names no target)
  }
  return lower_module(text, one.file, builtin_machine(machine), machine, options, {});
}

}  // namespace

TEST_CASE("an unrolled loop's meaning says what the module computes") {
  int compared = 0, moved = 0;
  for (const Case& one : cases()) {
    CAPTURE(one.file);
    const LoweredModule lowered = lowered_case(one);
    const ModuleMeaning once = test::meaning_of(lowered);
    for (const int copies : {2, 3, 5}) {
      CAPTURE(copies);
      const ModuleMeaning of = unrolled(once, copies);
      moved += of.meaning.constants.size() > once.meaning.constants.size();
      CHECK(of.kernel.numbers.size() == of.meaning.constants.size());
      CHECK(of.kernel.places.size() == of.meaning.tensors.size());
      for (int n = 0; n * copies <= (test::kSanitized ? 3 : 6); ++n) {
        CAPTURE(n);
        const auto launch = ragged_launch_of(of, n);
        if (!launch) continue;
        CHECK(value_of(of.kernel.trips, *launch, 0) <= n * copies);
        const auto found = test::module_difference(lowered, of, *launch, n);
        CHECK(found.largest <= kSame);
        compared += found.compared > 0;
      }
    }
  }
  CHECK(compared >= (test::kSanitized ? 60 : 110));
  CHECK(moved >= 9);
}

TEST_CASE("a copy that takes another iteration's tile or mask computes something else") {
  for (const char* const file :
       {"graph/kernels/triton/blackwell-attention-causal", "tests/data/ttgir/ragged"}) {
    CAPTURE(file);
    const LoweredModule lowered = lowered_case({file});
    const ModuleMeaning of = unrolled(test::meaning_of(lowered), 2);
    const auto launch = ragged_launch_of(of, 2);
    REQUIRE(launch);
    int bounds = 0;
    for (std::size_t v = 0; v < of.meaning.values.size(); ++v) {
      const meaning::Value& value = of.meaning.values[v];
      if (!of.meaning.in_loop(static_cast<int>(v)) || meaning::bounds_of(value).empty() ||
          value.type == "i32" || value.function != meaning::Function::within)
        continue;
      CAPTURE(value.id);
      ++bounds;
      // As far on as an iteration of the module is.
      CHECK(test::module_difference(lowered, of, *launch, 2, [v](meaning::Meaning& m) {
              meaning::Value& one = m.values[v];
              const int first = meaning::first_bound(one.function);
              one.operands[at(first + 3)].number += one.operands[at(first + 2)].number / 2;
            }).largest > kSame);
    }
    CHECK(bounds >= 1);
    ModuleMeaning other = of;
    for (TileOp& tile : other.tiles)
      if (tile.iteration == 1) tile.iteration = 0;
    CHECK(test::module_difference(lowered, other, *launch, 2).largest > kSame);
  }
}

}  // namespace ttgir_unrolled_test
