// libFuzzer target: any bytes as a TTGIR module, read, lowered onto two machines, and written back
// with a schedule: what comes out must be a module again.
//
//   cmake --preset fuzz && cmake --build --preset fuzz
//   (with -DTWILL_FUZZ_SANITIZERS= and -O2 in CMAKE_CXX_FLAGS: assertions alone, several times as
//   fast) mkdir found; build/fuzz/tests/ttgir_fuzz -max_total_time=3600 -max_len=32768 -timeout=20
//   -dict=tests/fuzz/ttgir.dict found tests/fuzz/ttgir tests/data/ttgir graph/kernels/triton
//
// New inputs are written to the first folder; what adds coverage is merged into tests/fuzz/ttgir by
// -merge=1, which the regression test reads. What was a crash becomes a file of tests/data/ttgir.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/check.hpp"
#include "graph/error.hpp"
#include "graph/lower.hpp"
#include "graph/ttgir/emit.hpp"
#include "graph/ttgir/lower_ttgir.hpp"
#include "graph/ttgir/modules.hpp"
#include "graph/ttgir/parser.hpp"
#include "graph/ttgir/partition_pins.hpp"
#include "tests/support/serial_schedule.hpp"

namespace {

/// A refusal of what emit_ttgir() wrote is a crash, as any exception that is not caught.
void write_back(const twill::ttgir::LoweredModule& lowered) noexcept {
  twill::Problem problem = lowered.problems.front().problem;
  problem.pins = twill::ttgir::partition_pins(lowered, problem);
  twill::check(problem, "pinned");
  twill::ttgir::parse_module(
      twill::ttgir::emit_ttgir(lowered, problem, twill::test::serial_schedule(problem)), "written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const std::string machines[] = {"blackwell", "hopper"};
  static const std::string texts[] = {twill::builtin_machine("blackwell"),
                                      twill::builtin_machine("hopper")};
  try {
    twill::ttgir::parse_one_module(text, "fuzz", 0);
  } catch (const twill::InputError&) {
    return 0;  // refused once is refused for every machine
  }
  for (int m = 0; m < 2; ++m) {
    for (const int subtile : {1, 2}) {
      try {
        twill::ttgir::LoopOptions options;
        options.subtile = subtile;
        options.module = 0;  // of several the first, of one the one
        const auto lowered =
            twill::ttgir::lower_module(text, "fuzz", texts[m], machines[m], options, {});
        if (twill::ttgir::explain(lowered).empty()) __builtin_trap();
        if (subtile > 1) continue;
        write_back(lowered);
      } catch (const twill::InputError&) {
        // refused: that is an answer
      }
    }
  }
  return 0;
}
