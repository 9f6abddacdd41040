// Left factors stored to shared memory: the module computes what it did, holds fewer registers, and
// only lines of such factors change.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "graph/io/builtin.hpp"
#include "graph/ttgir/module_run.hpp"
#include "graph/ttgir/parser.hpp"
#include "graph/ttgir/stored_factors.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_stored_factors_test {

using namespace twill;

namespace {

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

ttgir::LoweredModule lowered(const std::string& text, bool stored) {
  ttgir::LoopOptions loop;
  loop.stored_factors = stored;
  return ttgir::lower_module(text, "module", builtin_machine("hopper"), "hopper", loop, {});
}

}  // namespace

TEST_CASE("dS of attention backward is stored as it is and read transposed") {
  const std::string text = test::module_text("hopper-attention-backward");
  const auto changed =
      ttgir::with_stored_factors(ttgir::parse_module(text, "hopper-attention-backward"));
  REQUIRE(changed);
  const std::vector<std::string> before = lines(text), after = lines(*changed);
  REQUIRE(before.size() == after.size());
  int others = 0;
  for (std::size_t k = 0; k < before.size(); ++k) others += before[k] != after[k] ? 1 : 0;
  CHECK(others == 3);
  CHECK(changed->find("%dq = ttg.local_alloc %dst_31 : (tensor<128x64xf16, #mma1>) -> ") !=
        std::string::npos);
  CHECK(changed->find("%dq_34 = ttg.memdesc_trans %dq {order = array<i32: 1, 0>} : ") !=
        std::string::npos);
  // Nothing is left to store.
  CHECK(!ttgir::with_stored_factors(ttgir::parse_module(*changed, "changed")));

  const ttgir::LoweredModule one = lowered(text, true);
  for (const Op& op : one.problems.front().problem.ops) {
    if (op.id == "dq") {
      CHECK(op.registers == 0);
      CHECK(op.footprints == std::vector<Footprint>{{0, 128 * 64 * 2}});
    }
    if (op.id == "dq_35")  // both factors are read
      CHECK(op.traffic.front().amount == Fraction{64 * 128 * 2 + 128 * 128 * 2, 1});
  }
}

TEST_CASE("fragments as they are, and factors in memory, stay") {
  for (const char* const name :
       {"hopper-attention-forward", "hopper-gemm-persistent", "hopper-linear-attention",
        "blackwell-attention-forward", "ampere-gemm-pointers"}) {
    CAPTURE(name);
    CHECK(!ttgir::with_stored_factors(ttgir::parse_module(test::module_text(name), name)));
  }
}

/// Attention backward whose sums of dK and dV have warps side by side: P and dS are no fragments
/// of their factors then, and are stored as they are.
std::string with_warps_side_by_side() {
  std::string text = test::module_text("hopper-attention-backward");
  const std::string was = "warpsPerCTA = [8, 1], instrShape = [16, 128, 16]";
  const std::size_t at = text.find(was);
  REQUIRE(at != std::string::npos);
  return text.replace(at, was.size(), "warpsPerCTA = [4, 2], instrShape = [16, 64, 16]");
}

TEST_CASE("a factor that is not transposed is stored where it was converted") {
  const std::string text = with_warps_side_by_side();
  const auto changed = ttgir::with_stored_factors(ttgir::parse_module(text, "backward"));
  REQUIRE(changed);
  CHECK(changed->find("%dv_23 = ttg.local_alloc %dv_22 : ") != std::string::npos);
  CHECK(changed->find("%dst_32 = ttg.local_alloc %dst_31 : ") != std::string::npos);
  CHECK(changed->find("%dq = ttg.local_alloc %dst_31 : ") != std::string::npos);
  CHECK(changed->find("opIdx = 0") == std::string::npos);
}

// Beside the module as it was, executed by the same interpreter, which knows nothing of layouts.
TEST_CASE("a module with stored factors computes what it did") {
  for (const std::string& text :
       {test::module_text("hopper-attention-backward"), with_warps_side_by_side()}) {
    const ttgir::LoweredModule before = lowered(text, false), after = lowered(text, true);
    const auto was = ttgir::meaning_of_loop(before), is = ttgir::meaning_of_loop(after);
    REQUIRE(std::holds_alternative<ttgir::ModuleMeaning>(was));
    REQUIRE(std::holds_alternative<ttgir::ModuleMeaning>(is));
    const auto &old = std::get<ttgir::ModuleMeaning>(was),
               &now = std::get<ttgir::ModuleMeaning>(is);
    for (const int n : {1, 2, 3}) {
      const auto launch = ttgir::launch_of(old.kernel, n);
      REQUIRE(launch);
      const auto a = ttgir::run_module(before, old, *launch, n, 7);
      const auto b = ttgir::run_module(after, now, *launch, n, 7);
      REQUIRE(std::holds_alternative<ttgir::ModuleRun>(a));
      REQUIRE(std::holds_alternative<ttgir::ModuleRun>(b));
      const auto& outputs = std::get<ttgir::ModuleRun>(a).outputs;
      CHECK(outputs == std::get<ttgir::ModuleRun>(b).outputs);
      CHECK(std::any_of(outputs.begin(), outputs.end(),
                        [](const auto& tiles) { return !tiles.empty(); }));
    }
  }
}

}  // namespace ttgir_stored_factors_test
