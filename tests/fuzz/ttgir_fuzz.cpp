// libFuzzer target: any bytes as a TTGIR module, read, and lowered onto two machines.
//
//   cmake -S . -B build/fuzz -DCMAKE_CXX_COMPILER=clang++-14 -DTWILL_BUILD_FUZZ=ON
//   cmake --build build/fuzz --target ttgir_fuzz
//   build/fuzz/tests/ttgir_fuzz -max_total_time=3600 -max_len=65536 tests/fuzz/ttgir
//   graph/kernels/triton
//
// New inputs are written to the first folder; merge what is worth keeping with -merge=1.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/error.hpp"
#include "graph/lower.hpp"
#include "graph/ttgir/lower_ttgir.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const std::string machines[] = {"blackwell", "hopper"};
  static const std::string texts[] = {twill::builtin_machine("blackwell"),
                                      twill::builtin_machine("hopper")};
  for (int m = 0; m < 2; ++m) {
    for (const int subtile : {1, 2}) {
      try {
        twill::ttgir::LoopOptions options;
        options.subtile = subtile;
        const auto lowered =
            twill::ttgir::lower_module(text, "fuzz", texts[m], machines[m], options, {});
        if (twill::ttgir::explain(lowered).empty()) __builtin_trap();
      } catch (const twill::InputError&) {
        // refused: that is an answer
      }
    }
  }
  return 0;
}
