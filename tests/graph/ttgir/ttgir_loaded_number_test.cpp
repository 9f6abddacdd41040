// Integers that a function loads before its loop, or anew for each tile of a loop around it, in
// places and trip counts.
#include <doctest/doctest.h>

#include <string>

#include "graph/ttgir/meaning.hpp"
#include "graph/ttgir/module_run.hpp"
#include "tests/support/module_difference.hpp"
#include "tests/support/replaced.hpp"
#include "tests/support/ttgir_files.hpp"

namespace ttgir_loaded_number_test {

using namespace twill;
using namespace twill::ttgir;
using meaning::Index;

namespace {

std::string in_turn(const std::string& machine) {
  return read_file(TWILL_TEST_DATA "/ttgir/lengths-in-turn-" + machine + ".ttgir");
}

LoweredModule lowered_as(const std::string& text, const std::string& machine) {
  return lower_module(text, "m", builtin_machine(machine), machine, {}, {});
}

}  // namespace

TEST_CASE("a length that is loaded for each tile is another one for each tile") {
  for (const std::string machine : {"hopper", "blackwell"}) {
    CAPTURE(machine);
    const LoweredModule lowered = lowered_as(in_turn(machine), machine);
    const ModuleMeaning made = test::meaning_of(lowered);
    CHECK(made.kernel.incomplete.empty());
    REQUIRE(made.kernel.loaded.size() == 1);
    CHECK(made.kernel.around);
    CHECK(depends_on(made.kernel.trips, Index::loaded));
    CHECK(depends_on(made.kernel.trips, Index::tile));
    CHECK(depends_on(made.kernel.loaded[0].place, Index::tile));
    for (const int n : {0, 1, 2, 3, 7}) {
      CAPTURE(n);
      auto launch = ragged_launch_of(made, n);
      REQUIRE(launch);
      // One tile, which is the program's own.
      CHECK(launch->tile == launch->program[0]);
      for (std::size_t k = 0; k < made.kernel.parameters.size(); ++k)
        if (made.kernel.parameters[k].name == "tiles") launch->arguments[k] = launch->tile + 1;
      CHECK(test::module_difference(lowered, made, *launch, n).largest == 0);
    }
  }
}

TEST_CASE("a length that is the same for all tiles is loaded once") {
  const ModuleMeaning made = test::meaning_of(
      lowered_as(test::replaced(in_turn("hopper"), "%length = tt.addptr %length_ptr, %tile",
                                "%length = tt.addptr %length_ptr, %c1_i32"),
                 "hopper"));
  CHECK(made.kernel.incomplete.empty());
  CHECK(depends_on(made.kernel.trips, Index::loaded));
  CHECK_FALSE(depends_on(made.kernel.trips, Index::tile));
}

TEST_CASE("a length that is loaded under a mask is not known") {
  const std::string masked = test::replaced(
      test::replaced(in_turn("hopper"), "tt.load %length :", "tt.load %length, %odd :"),
      "      %length = tt.addptr",
      "      %odd = arith.cmpi slt, %tile, %c1_i32 : i32\n      %length = tt.addptr");
  CHECK_FALSE(test::meaning_of(lowered_as(masked, "hopper")).kernel.incomplete.empty());
}

}  // namespace ttgir_loaded_number_test
