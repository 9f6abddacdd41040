// A device's measurements turned into a machine file with ranges. Private to graph/*.cpp, the C
// interface and the program.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "graph/lower.hpp"
#include "graph/lowering/measurements.hpp"

namespace twill {

struct FittedCost {
  CostRange range;
  std::size_t samples = 0, repetitions = 0;  ///< that it was fitted to
};

struct FittedMachine {
  std::string text;  ///< the new machine file
  std::vector<FittedCost> costs;
};

/// The base machine (version 2) with what was measured as ranges; everything else stays.
///
/// Fitted are: of a rule's part its first plain term that counts something, by its rate (with a
/// factor that makes the rate precise to 1 in 10,000), and its first plain constant, by its factor;
/// a plain term is measure * factor / rate alone, without less, times and clamps. The other terms
/// are taken off each measurement, as the base has them (ranges at their nominal values). Rates by
/// operand type are fitted each to its own samples. Of a hand-over base and per_line, or the
/// signal, and of it, less the base's wait at a barrier, the arrival there; of a channel its rate.
///
/// One unknown: the median of what the samples say, and the range from the lowest 5 % quantile of a
/// sample to the highest 95 % quantile. Two: a line through the samples (fit_line.hpp). Ranges are
/// rounded outward, and widened until the file read at its best ends takes at most the low quantile
/// of every sample, rounded up to whole cycles, and at its worst ends at least the high one; that
/// is checked with the file as written. Sources name the device, the date and the samples, and keep
/// what the base says of the parts that were not measured.
///
/// Throws InputError with the sample's place: what the base does not have, samples of one size for
/// two unknowns, cycles that do not grow with the work, numbers beyond those of machine files.
FittedMachine fit_machine(const Measurements& measurements, std::string_view base_text,
                          const std::string& base_source);

}  // namespace twill
