// A module's own numbers for a program of one of its loops: what its loads bring, what its stores
// take away, tile by tile, by the module executed as it stands (interpret.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "graph/meaning/reference.hpp"
#include "graph/ttgir/interpret.hpp"
#include "graph/ttgir/meaning.hpp"

namespace twill::ttgir {

/// Every real argument, wherever a module or its program is executed.
inline constexpr double kRealArgument = 0.125;

/// Arguments and a place in the grid with which the loop runs n times: what its trip count does not
/// depend on is 1024, and the place is not the first one. nullopt = none was found.
std::optional<meaning::Launch> launch_of(const meaning::UserKernel& kernel, int n);

/// Of several such launches the one in which most masks of the loop keep some elements and leave
/// out others. Without masks that of launch_of(of.kernel, n).
std::optional<meaning::Launch> ragged_launch_of(const ModuleMeaning& of, int n);

/// The meaning's constants as they are in this launch.
void set_numbers(meaning::Meaning& meaning, const meaning::UserKernel& kernel,
                 const meaning::Launch& launch);

struct ModuleRun {
  meaning::TensorTiles inputs;   ///< per tensor, as meaning::seeded_inputs()
  meaning::TensorTiles outputs;  ///< what is stored, in double precision
};

/// Of the n iterations that the launch has. Throws nothing; NotInterpreted also where the module
/// moves a tile more often, or less, than its loop runs.
std::variant<ModuleRun, NotInterpreted> run_module(const LoweredModule& lowered,
                                                   const ModuleMeaning& meaning,
                                                   const meaning::Launch& launch, int n,
                                                   std::uint64_t seed);

/// `reference` (meaning::reference() of the same inputs) gets the module's numbers in the place of
/// its own. Where a bound allows the module's number it grows by the distance of the two.
void take_numbers(std::vector<std::vector<meaning::Bounded>>& reference, const ModuleRun& run);

}  // namespace twill::ttgir
